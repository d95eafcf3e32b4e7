package mpsc_test

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
)

func ExampleQueue() {
	type message struct {
		link mpsc.Node
		text string
	}
	var q mpsc.Queue
	a, b := &message{text: "a"}, &message{text: "b"}
	q.Push(&a.link)
	q.Push(&b.link)

	var c mpsc.Consumer
	if q.TryAcquire(&c, mpsc.FIFO) == mpsc.Acquired {
		fmt.Println(c.Pop() == &a.link, c.Pop() == &b.link, c.Pop() == nil)
		fmt.Println("more:", c.Release())
	}
	fmt.Println(q.TryAcquire(&c, mpsc.FIFO))
	// Output:
	// true true true
	// more: false
	// empty
}

// A consumer serves the queue again while Release returns true. A goroutine that finds
// the token held can therefore return.
func ExampleConsumer_Release() {
	var q mpsc.Queue
	serve := func() (popped int) {
		var c mpsc.Consumer
		for q.TryAcquire(&c, mpsc.LIFO) == mpsc.Acquired {
			for c.Pop() != nil {
				popped++
			}
			if !c.Release() {
				break
			}
		}
		return popped
	}
	q.Push(new(mpsc.Node))
	q.Push(new(mpsc.Node))
	fmt.Println(serve(), serve())
	// Output: 2 0
}

func ExampleList() {
	var first, second mpsc.List
	first.Push(new(mpsc.Node))
	second.Push(new(mpsc.Node))
	second.Push(new(mpsc.Node))
	first.Append(&second)
	fmt.Println(first.Len(), second.Len())
	// Output: 3 0
}

func ExampleQueue_Seal() {
	var q mpsc.Queue
	q.Push(new(mpsc.Node))
	var rest mpsc.List
	fmt.Println(q.Seal(&rest), rest.Len())
	fmt.Println(q.Push(new(mpsc.Node)))
	// Output:
	// true 1
	// false
}
