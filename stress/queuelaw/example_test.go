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

// A queue of another library, here a buffered channel. In a test, t is the *testing.T.
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

// A queue that accepts fewer values than it promises. printer is a T that prints
// failures.
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
	// short: law "capacity": an empty queue of capacity 16 accepted 15 values; 1 producers of 65 values each, 1 consumers, bursts of up to 1; repeat with Options{Seed: 1}
}

// The defaults, and the options that repeat the shapes of a violation.
func ExampleOptions() {
	t := new(printer)
	for _, o := range []queuelaw.Options{{}, {Seed: 42, Operations: 1000}} {
		queuelaw.Check(t, queuelaw.Ring(), o)
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

// The laws and their promises.
func ExampleLaw() {
	for _, l := range queuelaw.Laws() {
		fmt.Printf("%-8s %s\n", l.Name, l.Text)
	}
	// Output:
	// once     A value that Pop or Close returns was accepted, and is returned once.
	// lost     Every accepted value is returned.
	// order    Each consumer pops the values of each producer in the order of their pushes, if the queue promises that.
	// list     With one goroutine, a queue is a list: it accepts a push when it has room, and a pop returns a queued value.
	// capacity An empty queue accepts as many values as its capacity and refuses the next; without a capacity it accepts all.
	// refused  A refused value is not queued, and the queued values stay.
	// close    A closed queue refuses values, and every accepted value is popped or returned by Close.
}

// A queue with an owner: one goroutine pushes and pops, and the others steal.
func ExampleKind() {
	k := queuelaw.Ring()
	fmt.Println(k.Name, k.MaxProducers, k.Owned, k.FIFO)
	// Output:
	// runqueue.Ring 1 true true
}

func ExampleShape() {
	// One owner and two thieves, each with a ring.
	q := queuelaw.Ring().New(queuelaw.Shape{Producers: 1, Consumers: 3})
	for v := range uint64(4) {
		q.Producer(0).Push(v)
	}
	v, ok := q.Consumer(2).Pop() // the thief steals two values and returns the older
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
	fmt.Println(p.Push(1), p.Push(2)) // the queue is full at the second
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
