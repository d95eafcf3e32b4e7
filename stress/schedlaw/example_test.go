package schedlaw_test

import (
	"fmt"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/stress/schedlaw"
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

// The scheduler of package sched. In a test, t is the *testing.T.
func ExampleCheck() {
	t := new(printer)
	schedlaw.Check(t, schedlaw.Sched(sched.Config{}), schedlaw.Options{Operations: 1000})
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}

// The laws and their promises.
func ExampleLaw() {
	for _, l := range schedlaw.Laws() {
		fmt.Printf("%-9s %s\n", l.Name, l.Text)
	}
	// Output:
	// once      A task runs at most once.
	// lost      Every accepted task has run when Shutdown returns.
	// limit     No more tasks run at once than there are workers.
	// refused   Shutdown makes the scheduler refuse tasks of external callers, and a refused task does not run.
	// awake     No worker stays parked while tasks of external callers are queued: as many of them as there are workers run at once.
	// chain     No worker stays parked while tasks are queued by tasks that then block their workers.
	// fair      Every accepted task runs while other tasks schedule themselves for ever.
	// stalled   Every task that a task schedules runs, although that task then waits for it without Blocking.
	// blocked   Every accepted task runs, although the tasks before it wait for it without Blocking.
	// computing Tasks that compute never run at once in a larger number than there are workers, or one more if stalled workers are replaced.
	// waits     Every Wait of an external caller returns when all tasks of its group have run, and not before.
	// nested    Every Wait of a task returns when all tasks of its group have run, for any number and depth of waiting tasks.
	// shared    Wait returns when all tasks of a group have run to which all workers schedule from its first task on, and not before.
	// blocking  Tasks in Blocking do not reduce the number of other tasks that run at once.
	// resumes   A task that is in Blocking during Shutdown may schedule tasks afterwards, and each accepted one has run when Shutdown returns.
	// counters  Executed grows to the number of accepted tasks, and Parked never exceeds Workers.
	// close     After Close every accepted task has run or was counted as not run, and no further task is accepted or started.
	// closing   Close ends every Wait.
}

func ExampleKind() {
	s := schedlaw.Sched(sched.Config{}).New(1)
	fmt.Println(s.Schedule(func(schedlaw.Worker) { fmt.Println("ran") }))
	s.Shutdown()
	fmt.Println(s.Schedule(func(schedlaw.Worker) {}))
	// Unordered output:
	// true
	// ran
	// false
}

func ExampleScheduler() {
	s := newMutexScheduler(2, noFault)
	s.Schedule(func(schedlaw.Worker) { fmt.Println("ran") })
	s.Shutdown() // returns when the task has run
	// Output:
	// ran
}

func ExampleTask() {
	s := schedlaw.Sched(sched.Config{}).New(1)
	var count schedlaw.Task
	n := 3
	count = func(w schedlaw.Worker) { // it schedules itself
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
	s := schedlaw.Sched(sched.Config{}).New(1)
	s.Schedule(func(w schedlaw.Worker) {
		fmt.Println("first")
		w.Schedule(func(schedlaw.Worker) { fmt.Println("second") })
	})
	s.Shutdown()
	// Output:
	// first
	// second
}

func ExampleGrouper() {
	s := schedlaw.Sched(sched.Config{}).New(4)
	g := s.(schedlaw.Grouper).NewGroup()
	results := make([]int, 3)
	for i := range results {
		g.Schedule(nil, func(schedlaw.Worker) { results[i] = i * i })
	}
	g.Wait(nil)
	fmt.Println(results)
	s.Shutdown()
	// Output:
	// [0 1 4]
}

// A task that waits for tasks passes the worker that runs it.
func ExampleGroup() {
	s := schedlaw.Sched(sched.Config{}).New(1)
	s.Schedule(func(w schedlaw.Worker) {
		g := s.(schedlaw.Grouper).NewGroup()
		g.Schedule(w, func(schedlaw.Worker) { fmt.Println("child") })
		g.Wait(w)
		fmt.Println("parent")
	})
	s.Shutdown()
	// Output:
	// child
	// parent
}

func ExampleBlocker() {
	s := schedlaw.Sched(sched.Config{}).New(1)
	c := make(chan string)
	s.Schedule(func(w schedlaw.Worker) {
		w.(schedlaw.Blocker).Blocking(func() { fmt.Println(<-c) })
	})
	s.Schedule(func(schedlaw.Worker) { c <- "the only worker was free" })
	s.Shutdown()
	// Output:
	// the only worker was free
}

func ExampleCounter() {
	s := schedlaw.Sched(sched.Config{}).New(2)
	for range 10 {
		s.Schedule(func(schedlaw.Worker) {})
	}
	s.Shutdown()
	fmt.Println(s.(schedlaw.Counter).Counters().Executed)
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
	s := schedlaw.Sched(sched.Config{}).New(1)
	var ran atomic.Int64
	for range 100 {
		s.Schedule(func(schedlaw.Worker) { ran.Add(1) })
	}
	unrun := s.(schedlaw.Closer).Close()
	fmt.Println(int(ran.Load()) + unrun)
	// Output:
	// 100
}

// A scheduler that drops tasks. printer is a T that prints failures.
func ExampleT() {
	k := schedlaw.Kind{
		Name:       "dropping",
		New:        func(int) schedlaw.Scheduler { return dropping{newMutexScheduler(1, noFault)} },
		MaxWorkers: 1,
	}
	for _, l := range schedlaw.Laws() {
		if l.Name == "lost" {
			l.Check(new(printer), k, schedlaw.Options{Seed: 1, Operations: 4})
		}
	}
	// Output:
	// dropping: law "lost": 1 of 1 accepted tasks had not run when Shutdown returned; 1 workers, a task schedules up to 300, 1 tasks; repeat with Options{Seed: 1}
}

// dropping accepts tasks and drops them.
type dropping struct{ *mutexScheduler }

func (dropping) Schedule(schedlaw.Task) bool { return true }

// The defaults, and the options that repeat the shapes of a violation.
func ExampleOptions() {
	t := new(printer)
	for _, o := range []schedlaw.Options{{Operations: 1000}, {Seed: 42, Operations: 1000}} {
		schedlaw.Check(t, schedlaw.Sched(sched.Config{}), o)
	}
	fmt.Println("failed:", t.Failed())
	// Output:
	// failed: false
}
