package mpsc_test

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
)

// Only the holder of the token pops. TryAcquire returns Contended to all others.
func ExampleConsumer() {
	var q mpsc.Queue
	q.Push(new(mpsc.Node))
	q.Push(new(mpsc.Node))
	var a, b mpsc.Consumer
	fmt.Println(q.TryAcquire(&a, mpsc.FIFO), q.TryAcquire(&b, mpsc.FIFO))
	fmt.Println(a.Pop() != nil, a.Release()) // one node is left: notify b
	fmt.Println(q.TryAcquire(&b, mpsc.FIFO))
	// Output:
	// acquired contended
	// true true
	// acquired
}

// A node that is the first field of a value costs one word. The value may be queued
// again after its node was popped.
func ExampleNode() {
	type message struct {
		link mpsc.Node
		text string
	}
	m := message{text: "hello"}
	var q mpsc.Queue
	var c mpsc.Consumer
	for range 2 {
		q.Push(&m.link)
		q.TryAcquire(&c, mpsc.LIFO)
		fmt.Println(c.Pop() == &m.link, c.Release())
	}
	// Output:
	// true false
	// true false
}

// Pushes are popped in the order that the consumer asks for. The nodes of one list
// keep the order of the list.
func ExampleOrder() {
	for _, o := range []mpsc.Order{mpsc.LIFO, mpsc.FIFO} {
		var q mpsc.Queue
		nodes := make([]mpsc.Node, 3)
		number := map[*mpsc.Node]int{}
		for i := range nodes {
			number[&nodes[i]] = i
		}
		var list mpsc.List
		list.Push(&nodes[1])
		list.Push(&nodes[2])
		q.Push(&nodes[0])
		q.PushList(&list)
		var c mpsc.Consumer
		q.TryAcquire(&c, o)
		fmt.Println(o, number[c.Pop()], number[c.Pop()], number[c.Pop()])
	}
	// Output:
	// LIFO 1 2 0
	// FIFO 0 1 2
}

func ExampleStatus() {
	var q mpsc.Queue
	var c, late mpsc.Consumer
	fmt.Println(q.TryAcquire(&c, mpsc.LIFO)) // nothing to pop
	q.Push(new(mpsc.Node))
	fmt.Println(q.TryAcquire(&c, mpsc.LIFO))
	fmt.Println(q.TryAcquire(&late, mpsc.LIFO)) // another consumer holds the token
	// Output:
	// empty
	// acquired
	// contended
}
