package stress_test

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/stress"
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
func ExampleCheckQueue() {
	t := new(printer)
	stress.CheckQueue(t, stress.QueueKind{
		Name:     "channel",
		New:      func(stress.QueueShape) stress.Queue { return make(chanQueue, 16) },
		FIFO:     true,
		Capacity: 16,
	}, stress.Options{})
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

// A scheduler, here ours. Tasks are functions; what else it can do is found by
// asking for further interfaces.
func ExampleCheckScheduler() {
	t := new(printer)
	stress.CheckScheduler(t, stress.Sched(sched.Config{}), stress.Options{Operations: 1000})
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

// A queue that keeps less than it says.
func ExampleT() {
	k := stress.QueueKind{
		Name:         "short",
		New:          func(stress.QueueShape) stress.Queue { return make(chanQueue, 15) },
		Capacity:     16,
		MaxProducers: 1,
		MaxConsumers: 1,
	}
	for _, l := range stress.QueueLaws() {
		if l.Name == "capacity" {
			l.Check(new(printer), k, stress.Options{Seed: 1, Operations: 4})
		}
	}
	// Output:
	// short: law "capacity": an empty queue of capacity 16 took 15 values; 1 producers of 65 values each, 1 consumers, bursts of up to 1; repeat with Options{Seed: 1}
}

// The defaults, and what repeats the shapes of a failure.
func ExampleOptions() {
	t := new(printer)
	for _, o := range []stress.Options{{}, {Seed: 42, Operations: 1000}} {
		stress.CheckQueue(t, stress.Ring(), o)
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

func ExampleQueueLaw() {
	for _, l := range stress.QueueLaws() {
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

func ExampleSchedulerLaw() {
	for _, l := range stress.SchedulerLaws() {
		fmt.Printf("%-8s %s\n", l.Name, l.Text)
	}
	// Output:
	// once     A task runs at most once.
	// lost     Every accepted task has run when Shutdown returns.
	// limit    No more tasks run at once than there are workers.
	// refused  After Shutdown tasks from outside are refused, and a refused task does not run.
	// awake    As many tasks as there are workers, scheduled from outside, all run at once: none waits beside a parked worker.
	// chain    The same for tasks that are scheduled by a task that then blocks its worker.
	// waits    Every Wait outside of the scheduler ends, when all tasks of its group have run and not before.
	// nested   So does every Wait of a task, however many tasks wait and however deep.
	// blocking Tasks in Blocking take no worker from the others.
	// counters Counters add up: what was executed grows to what was accepted, and parked workers are workers.
	// close    After Close every accepted task has run or was counted as not run, and no other is accepted or started.
	// closing  Close ends every Wait.
}

// A structure with an owner: one goroutine pushes and pops, others steal.
func ExampleQueueKind() {
	k := stress.Ring()
	fmt.Println(k.Name, k.MaxProducers, k.Owned, k.FIFO)
	// Output:
	// runqueue.Ring 1 true true
}

func ExampleQueueShape() {
	// One owner, and two thieves with a ring each.
	q := stress.Ring().New(stress.QueueShape{Producers: 1, Consumers: 3})
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
	q := stress.Overflow(mpsc.FIFO).New(stress.QueueShape{Producers: 2, Consumers: 1})
	q.Producer(0).Push(1)
	q.Producer(1).Push(2)
	fmt.Println(q.Consumer(0).Pop())
	// Output:
	// 1 true
}

func ExampleProducer() {
	var p stress.Producer = make(chanQueue, 1)
	fmt.Println(p.Push(1), p.Push(2)) // the second finds it full
	// Output:
	// true false
}

func ExampleBatchProducer() {
	q := stress.RunQueue().New(stress.QueueShape{Producers: 1, Consumers: 1})
	b, ok := q.Producer(0).(stress.BatchProducer)
	fmt.Println(ok, b.PushAll([]uint64{1, 2, 3}))
	// Output:
	// true 3
}

func ExampleConsumer() {
	var c stress.Consumer = make(chanQueue, 1)
	_, ok := c.Pop()
	fmt.Println(ok)
	// Output:
	// false
}

func ExampleQueueCloser() {
	q := stress.Overflow(mpsc.LIFO).New(stress.QueueShape{Producers: 1, Consumers: 1})
	q.Producer(0).Push(7)
	fmt.Println(q.(stress.QueueCloser).Close(), q.Producer(0).Push(8))
	// Output:
	// [7] false
}

func ExampleSchedulerKind() {
	s := stress.Sched(sched.Config{}).New(1)
	fmt.Println(s.Schedule(func(stress.Worker) { fmt.Println("ran") }))
	s.Shutdown()
	fmt.Println(s.Schedule(func(stress.Worker) {}))
	// Unordered output:
	// true
	// ran
	// false
}

func ExampleScheduler() {
	s := newMutexScheduler(2, noFault)
	s.Schedule(func(stress.Worker) { fmt.Println("ran") })
	s.Shutdown() // returns when it has
	// Output:
	// ran
}

func ExampleTask() {
	s := stress.Sched(sched.Config{}).New(1)
	var count stress.Task
	n := 3
	count = func(w stress.Worker) { // schedules itself
		fmt.Println(n)
		if n--; n > 0 {
			w.Schedule(count)
		}
	}
	s.Schedule(count)
	s.Shutdown()
	// Output:
	// 3
	// 2
	// 1
}

func ExampleWorker() {
	s := stress.Sched(sched.Config{}).New(1)
	s.Schedule(func(w stress.Worker) {
		fmt.Println("first")
		w.Schedule(func(stress.Worker) { fmt.Println("second") })
	})
	s.Shutdown()
	// Output:
	// first
	// second
}

func ExampleGrouper() {
	s := stress.Sched(sched.Config{}).New(4)
	g := s.(stress.Grouper).NewGroup()
	results := make([]int, 3)
	for i := range results {
		g.Schedule(nil, func(stress.Worker) { results[i] = i * i })
	}
	g.Wait(nil)
	fmt.Println(results)
	s.Shutdown()
	// Output:
	// [0 1 4]
}

// A task that waits for tasks hands on the worker that it runs on.
func ExampleGroup() {
	s := stress.Sched(sched.Config{}).New(1)
	s.Schedule(func(w stress.Worker) {
		g := s.(stress.Grouper).NewGroup()
		g.Schedule(w, func(stress.Worker) { fmt.Println("child") })
		g.Wait(w)
		fmt.Println("parent")
	})
	s.Shutdown()
	// Output:
	// child
	// parent
}

func ExampleBlocker() {
	s := stress.Sched(sched.Config{}).New(1)
	c := make(chan string)
	s.Schedule(func(w stress.Worker) {
		w.(stress.Blocker).Blocking(func() { fmt.Println(<-c) })
	})
	s.Schedule(func(stress.Worker) { c <- "the only worker was free" })
	s.Shutdown()
	// Output:
	// the only worker was free
}

func ExampleCounter() {
	s := stress.Sched(sched.Config{}).New(2)
	for range 10 {
		s.Schedule(func(stress.Worker) {})
	}
	s.Shutdown()
	fmt.Println(s.(stress.Counter).Counters().Executed)
	// Output:
	// 10
}

func ExampleCounters() {
	s := newMutexScheduler(2, noFault)
	s.Shutdown()
	fmt.Printf("%+v\n", s.Counters())
	// Output:
	// {Executed:0 Workers:0 Parked:0}
}

func ExampleCloser() {
	s := stress.Sched(sched.Config{}).New(1)
	var ran atomic.Int64
	for range 100 {
		s.Schedule(func(stress.Worker) { ran.Add(1) })
	}
	unrun := s.(stress.Closer).Close()
	fmt.Println(int(ran.Load()) + unrun)
	// Output:
	// 100
}
