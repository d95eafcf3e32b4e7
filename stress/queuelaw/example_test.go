package queuelaw_test

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/stress/queuelaw"
)

// printer is a T that prints failures.
type printer struct{ failed bool }

func (p *printer) Helper()             {}
func (p *printer) Logf(string, ...any) {}
func (p *printer) Failed() bool        { return p.failed }

func (p *printer) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Printf(format+"\n", args...)
}

// A queue of another library, here a buffered channel, in a test of its own: t
// is its *testing.T.
func ExampleCheck() {
	t := new(printer)
	queuelaw.Check(t, queuelaw.Kind{
		Name:     "channel",
		New:      func(queuelaw.Shape) queuelaw.Queue { return make(chanQueue, 16) },
		FIFO:     true,
		Capacity: 16,
	}, queuelaw.Options{})
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

// A queue that keeps less than it says.
func ExampleT() {
	k := queuelaw.Kind{
		Name:         "short",
		New:          func(queuelaw.Shape) queuelaw.Queue { return make(chanQueue, 15) },
		Capacity:     16,
		MaxProducers: 1,
		MaxConsumers: 1,
	}
	for _, l := range queuelaw.Laws() {
		if l.Name == "capacity" {
			l.Check(new(printer), k, queuelaw.Options{Seed: 1, Operations: 4})
		}
	}
	// Output:
	// short: law "capacity": an empty queue of capacity 16 took 15 values; 1 producers of 65 values each, 1 consumers, bursts of up to 1; repeat with Options{Seed: 1}
}

// The defaults, and what repeats the shapes of a failure.
func ExampleOptions() {
	t := new(printer)
	for _, o := range []queuelaw.Options{{}, {Seed: 42, Operations: 1000}} {
		queuelaw.Check(t, queuelaw.Ring(), o)
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

func ExampleLaw() {
	for _, l := range queuelaw.Laws() {
		fmt.Printf("%-8s %s\n", l.Name, l.Text)
	}
	// Output:
	// once     A value that comes out was accepted, and comes out once.
	// lost     Every accepted value comes out.
	// order    Each consumer gets the values of each producer in the order of their pushes, where that is promised.
	// list     Used by one goroutine, a queue is a list: a push is accepted when there is room, and a pop finds what was pushed.
	// capacity An empty queue takes as many values as its capacity says and refuses the next; one without a capacity takes all.
	// refused  A refused value stays out, and those that were in are still there.
	// close    A closed queue refuses; what it accepted is popped or handed back.
}

// A structure with an owner: one goroutine pushes and pops, others steal.
func ExampleKind() {
	k := queuelaw.Ring()
	fmt.Println(k.Name, k.MaxProducers, k.Owned, k.FIFO)
	// Output:
	// runqueue.Ring 1 true true
}

func ExampleShape() {
	// One owner, and two thieves with a ring each.
	q := queuelaw.Ring().New(queuelaw.Shape{Producers: 1, Consumers: 3})
	for v := range uint64(4) {
		q.Producer(0).Push(v)
	}
	v, ok := q.Consumer(2).Pop() // and has stolen a second one
	fmt.Println(v, ok)
	v, ok = q.Consumer(0).Pop()
	fmt.Println(v, ok)
	// Output:
	// 0 true
	// 2 true
}

func ExampleQueue() {
	q := queuelaw.MPSC(mpsc.FIFO).New(queuelaw.Shape{Producers: 2, Consumers: 1})
	q.Producer(0).Push(1)
	q.Producer(1).Push(2)
	fmt.Println(q.Consumer(0).Pop())
	// Output:
	// 1 true
}

func ExampleProducer() {
	var p queuelaw.Producer = make(chanQueue, 1)
	fmt.Println(p.Push(1), p.Push(2)) // the second finds it full
	// Output:
	// true false
}

func ExampleBatchProducer() {
	q := queuelaw.RunQueue().New(queuelaw.Shape{Producers: 1, Consumers: 1})
	b, ok := q.Producer(0).(queuelaw.BatchProducer)
	fmt.Println(ok, b.PushAll([]uint64{1, 2, 3}))
	// Output:
	// true 3
}

func ExampleConsumer() {
	var c queuelaw.Consumer = make(chanQueue, 1)
	_, ok := c.Pop()
	fmt.Println(ok)
	// Output:
	// false
}

func ExampleCloser() {
	q := queuelaw.MPSC(mpsc.LIFO).New(queuelaw.Shape{Producers: 1, Consumers: 1})
	q.Producer(0).Push(7)
	fmt.Println(q.(queuelaw.Closer).Close(), q.Producer(0).Push(8))
	// Output:
	// [7] false
}
