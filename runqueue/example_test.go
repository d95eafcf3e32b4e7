package runqueue_test

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// A worker takes from its own queue first and then from the queue of another worker.
func ExampleQueue() {
	type task struct {
		link mpsc.Node
		name string
	}
	var mine, other runqueue.Queue
	tasks := []*task{{name: "a"}, {name: "b"}, {name: "c"}}
	names := map[*mpsc.Node]string{}
	for _, t := range tasks {
		names[&t.link] = t.name
		other.Push(&t.link)
	}
	next := func() (n *mpsc.Node, pushed bool) {
		if n = mine.Pop(); n != nil {
			return n, false
		}
		if n, pushed = mine.Refill(); n != nil {
			return n, pushed
		}
		return mine.StealFrom(&other)
	}
	for n, pushed := next(); n != nil; n, pushed = next() {
		fmt.Println(names[n], pushed)
	}
	// Output:
	// a true
	// b false
	// c false
}

func ExampleQueue_TakeNewest() {
	var q runqueue.Queue
	a, b, c := new(mpsc.Node), new(mpsc.Node), new(mpsc.Node)
	for _, n := range []*mpsc.Node{a, b, c} {
		q.Push(n)
	}
	wanted := func(n *mpsc.Node) bool { return n == a || n == b }
	fmt.Println(q.TakeNewest(wanted, 3) == b, q.Len())
	fmt.Println(q.Pop() == a, q.Pop() == c)
	// Output:
	// true 2
	// true true
}

func ExampleRing() {
	var victim, thief runqueue.Ring
	for range 3 {
		victim.Push(new(mpsc.Node))
	}
	n, moved, status := victim.StealInto(&thief)
	fmt.Println(n != nil, moved, status)
	fmt.Println(thief.Len(), victim.Len())
	// Output:
	// true 2 acquired
	// 1 1
}
