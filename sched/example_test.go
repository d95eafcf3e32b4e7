package sched_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/lanewright/lanewright/sched"
)

func Example() {
	// Sum the squares of 1 to 100, ten tasks of ten numbers each.
	var sum atomic.Int64
	g := sched.Default().NewGroup(sched.GroupConfig{})
	for i := range 10 {
		g.Go(func() error {
			for n := 10*i + 1; n <= 10*i+10; n++ {
				sum.Add(int64(n * n))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sum.Load())
	// Output: 338350
}

// A request embeds its Job, so that its schedule allocates nothing. Z-008.
type request struct {
	sched.Job[int] // Value is the number to double
}

// A Task is a function and a link. The data of a task is in the closure of its function, or in
// the struct that embeds the task. See Job for the latter.
func ExampleTask() {
	var s sched.Scheduler
	defer func() { _, _ = s.Close() }() // ends the workers
	task := &sched.Task{Fn: func(w *sched.Worker, t *sched.Task) {
		fmt.Println("running on place", w.ID())
	}}
	if err := s.Do(task); err != nil {
		fmt.Println(err)
	}
	if err := s.Do(task); err != nil { // a task that has run may run again
		fmt.Println(err)
	}
	// Output:
	// running on place 0
	// running on place 0
}

// A Job passes itself to its function, together with a value of any type. A task then needs
// neither unsafe code nor a closure of its own. Z-010.
func ExampleJob() {
	s := sched.Default()
	double := func(_ *sched.Worker, j *sched.Job[int]) { j.Value *= 2 }
	requests := make([]request, 3)
	var tasks []*sched.Task
	for i := range requests {
		requests[i].Fn = double
		requests[i].Value = i + 1
		tasks = append(tasks, requests[i].Task())
	}
	if err := s.Do(tasks...); err != nil {
		fmt.Println(err)
	}
	for i := range requests {
		fmt.Println(requests[i].Value)
	}
	// Output:
	// 2
	// 4
	// 6
}

// A batch schedules many tasks with one push and one notification.
func ExampleBatch() {
	s := sched.Default()
	g := s.NewGroup(sched.GroupConfig{})
	var ran atomic.Int64
	var b sched.Batch
	for range 1000 {
		err := b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})
		if err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println("in the batch:", b.Len())
	if err := g.ScheduleBatch(nil, &b); err != nil { // one push, one notification
		fmt.Println(err)
	}
	fmt.Println("in the batch:", b.Len())
	if err := g.Wait(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("ran:", ran.Load())
	// Output:
	// in the batch: 1000
	// in the batch: 0
	// ran: 1000
}

func ExampleScheduler() {
	s, err := sched.New(sched.Config{MaxWorkers: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	var ran atomic.Int64
	for range 100 {
		if err := s.Go(func() { ran.Add(1) }); err != nil {
			fmt.Println(err)
		}
	}
	// Shutdown runs all accepted tasks.
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	fmt.Println(ran.Load(), "tasks ran")
	fmt.Println(s.Go(func() {}))
	// Output:
	// 100 tasks ran
	// sched: shut down
}

func ExampleScheduler_Schedule() {
	s := sched.Default()
	done := make(chan string)
	err := s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { done <- "done" }})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-done)
	// Output: done
}

// Do runs its first task on the goroutine of the caller, and returns when all of its tasks have
// ended.
func ExampleScheduler_Do() {
	s := sched.Default()
	var left, right int
	err := s.Do(
		&sched.Task{Fn: func(*sched.Worker, *sched.Task) { left = 20 }},
		&sched.Task{Fn: func(*sched.Worker, *sched.Task) { right = 22 }},
	)
	fmt.Println(left+right, err)
	// Output: 42 <nil>
}

func ExampleScheduler_Go() {
	s := sched.Default()
	done := make(chan struct{})
	if err := s.Go(func() { close(done) }); err != nil {
		fmt.Println(err)
	}
	<-done
	fmt.Println("done")
	// Output: done
}

// Run makes the goroutine of the caller a worker, here the only one.
func ExampleScheduler_Run() {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: refuse{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = s.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range 3 {
		err := s.Go(func() {
			fmt.Println("task", i)
			if i == 2 {
				cancel()
			}
		})
		fmt.Println(errors.Is(err, sched.ErrQueued))
	}
	fmt.Println(s.Run(ctx))
	// Output:
	// true
	// true
	// true
	// task 0
	// task 1
	// task 2
	// context canceled
}

// refuse is a Spawner that starts no goroutine.
type refuse struct{}

func (refuse) Spawn(func()) error { return errors.New("no goroutines here") }

func ExampleScheduler_Shutdown() {
	var s sched.Scheduler
	// An accepted task may schedule more tasks, also while the scheduler drains.
	err := s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		fmt.Println("first")
		err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { fmt.Println("second") }})
		if err != nil {
			fmt.Println(err)
		}
	}})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Shutdown(context.Background()))
	fmt.Println(s.Stats().Workers, "workers are left")
	// Output:
	// first
	// second
	// <nil>
	// 0 workers are left
}

// Close returns the tasks that have not run. Join waits for the running callbacks.
func ExampleScheduler_Close() {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	started, release := make(chan struct{}), make(chan struct{})
	if err := s.Go(func() { close(started); <-release }); err != nil {
		fmt.Println(err)
	}
	<-started
	for range 5 {
		if err := s.Go(func() { fmt.Println("never") }); err != nil {
			fmt.Println(err)
		}
	}
	tasks, err := s.Close()
	fmt.Println(len(tasks), err)
	close(release)
	tasks, err = s.Join(context.Background())
	fmt.Println(len(tasks), err)
	// Output:
	// 5 <nil>
	// 0 <nil>
}

// A group runs functions, and Wait returns their errors.
func ExampleGroup() {
	s := sched.Default()
	g := s.NewGroup(sched.GroupConfig{AllErrors: true})
	for _, name := range []string{"anne", "bob", "carol"} {
		g.Go(func() error {
			if name == "bob" {
				return fmt.Errorf("%s is not at home", name)
			}
			return nil
		})
	}
	fmt.Println(g.Wait())
	// Output: bob is not at home
}

// At most Limit functions run at a time. Go waits for a permit, and TryGo returns false.
func ExampleGroup_TryGo() {
	s := sched.Default()
	g := s.NewGroup(sched.GroupConfig{Limit: 2})
	release := make(chan struct{})
	for range 3 {
		fmt.Println(g.TryGo(func() error { <-release; return nil }))
	}
	close(release)
	fmt.Println(g.Wait())
	// Output:
	// true
	// true
	// false
	// <nil>
}

// The first error cancels the context of the group.
func ExampleGroup_Context() {
	s := sched.Default()
	g := s.NewGroup(sched.GroupConfig{})
	ctx := g.Context()
	g.Go(func() error { return errors.New("out of luck") })
	g.Go(func() error {
		<-ctx.Done()
		fmt.Println("cancelled:", context.Cause(ctx))
		return nil
	})
	fmt.Println("waited:", g.Wait())
	// Output:
	// cancelled: out of luck
	// waited: out of luck
}

// A task may wait for a group. Its worker runs tasks of the group during the wait.
func ExampleWorker_Wait() {
	s := sched.Default()
	var fib func(w *sched.Worker, n int) int
	fib = func(w *sched.Worker, n int) int {
		if n < 2 {
			return n
		}
		var g sched.Group
		var a int
		err := g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { a = fib(w, n-1) }})
		if err != nil {
			panic(err)
		}
		b := fib(w, n-2)
		if err := w.Wait(&g); err != nil {
			panic(err)
		}
		return a + b
	}
	var result int
	err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { result = fib(w, 15) }})
	fmt.Println(result, err)
	// Output: 610 <nil>
}

func ExampleWorker_Schedule() {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		for i := range 3 {
			err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { fmt.Println("child", i) }})
			if err != nil {
				fmt.Println(err)
			}
		}
		fmt.Println("parent")
	}})
	if err != nil {
		fmt.Println(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// parent
	// child 0
	// child 1
	// child 2
}

// A callback in Blocking releases its place, so that other tasks run. Here the callback waits
// for one of them.
func ExampleWorker_Blocking() {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = s.Close() }()
	answer := make(chan int)
	err = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { answer <- 42 }})
		if err != nil {
			fmt.Println(err)
		}
		w.Blocking(func() { fmt.Println(<-answer) })
	}})
	fmt.Println(err)
	// Output:
	// 42
	// <nil>
}

// OnIdle polls for new tasks before a worker parks. Z-100.
func ExampleConfig_onIdle() {
	ready := []string{"second", "first"}
	done := make(chan struct{})
	s, err := sched.New(sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		if len(ready) == 0 {
			return
		}
		name := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			fmt.Println(name)
			if name == "second" {
				close(done)
			}
		}})
		if err != nil {
			fmt.Println(err)
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = s.Close() }()
	if err := s.Go(func() {}); err != nil { // starts a worker, which is idle afterwards
		fmt.Println(err)
	}
	<-done
	// Output:
	// first
	// second
}

func ExampleConfig_onPanic() {
	s, err := sched.New(sched.Config{OnPanic: func(_ *sched.Task, value any, _ []byte) {
		fmt.Println("a task panicked:", value)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Go(func() { panic("oops") }); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// a task panicked: oops
	// <nil>
}

// limited is a Spawner that starts a limited number of goroutines.
type limited struct{ left atomic.Int64 }

func (l *limited) Spawn(run func()) error {
	if l.left.Add(-1) < 0 {
		return errors.New("enough goroutines")
	}
	go run()
	return nil
}

// A Spawner that fails reduces the parallelism and loses no task. Z-005.
func ExampleSpawner() {
	spawner := new(limited)
	spawner.left.Store(1)
	s, err := sched.New(sched.Config{MaxWorkers: 8, Spawner: spawner})
	if err != nil {
		fmt.Println(err)
		return
	}
	var ran atomic.Int64
	for range 100 {
		if err := s.Go(func() { ran.Add(1) }); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(s.Shutdown(context.Background()))
	fmt.Println(ran.Load(), "tasks,", s.Stats().Spawns, "worker")
	// Output:
	// <nil>
	// 100 tasks, 1 worker
}

func ExampleStats() {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 1000 {
		if err := s.Go(func() {}); err != nil {
			fmt.Println(err)
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	st := s.Stats()
	fmt.Println(st.Executed, "executed,", st.Workers, "workers left")
	// Output: 1000 executed, 0 workers left
}

func ExampleRunning() {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	begun, end := make(chan struct{}), make(chan struct{})
	if err := s.Go(func() { close(begun); <-end }); err != nil {
		fmt.Println(err)
	}
	<-begun
	for _, r := range s.Inspect() {
		fmt.Println(r.Function, r.Blocked)
	}
	close(end)
	if err := s.Shutdown(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: github.com/lanewright/lanewright/sched_test.ExampleRunning.func1 false
}

// errOffline is the value of the panic of a task.
var errOffline = errors.New("offline")

// Wait raises the panic of a task of its group again.
func ExamplePanicError() {
	s := sched.Default()
	g := s.NewGroup(sched.GroupConfig{})
	g.Go(func() error { panic(errOffline) })
	defer func() {
		p, ok := recover().(*sched.PanicError)
		fmt.Println(ok, p.Value, errors.Is(p, errOffline), len(p.Stack) > 0)
	}()
	_ = g.Wait()
	// Output: true offline true true
}

// The tasks of a group run in no fixed order, so that the example sorts the results.
func ExampleGroup_Schedule() {
	s := sched.Default()
	names := make(chan string, 3)
	var g sched.Group
	err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		for _, name := range []string{"c", "a", "b"} {
			err := g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { names <- name }})
			if err != nil {
				fmt.Println(err)
			}
		}
		if err := w.Wait(&g); err != nil {
			fmt.Println(err)
		}
	}})
	close(names)
	var got []string
	for name := range names {
		got = append(got, name)
	}
	slices.Sort(got)
	fmt.Println(got, err)
	// Output: [a b c] <nil>
}

// A group with a Limit runs at most that many functions at a time. With AllErrors, Wait returns
// the errors of all functions.
func ExampleGroupConfig() {
	var s sched.Scheduler
	g := s.NewGroup(sched.GroupConfig{Limit: 2, AllErrors: true})
	for _, host := range []string{"a", "b", "c"} {
		g.Go(func() error {
			if host == "b" {
				return errors.New(host + " does not answer")
			}
			return nil
		})
	}
	fmt.Println(g.Wait())
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// b does not answer
	// <nil>
}

// A callback passes its Worker to the functions that it calls. New tasks then go to the run
// queue of this worker, and a wait runs tasks.
func ExampleWorker() {
	type node struct {
		children []*node
		size     int
	}
	var measure func(w *sched.Worker, n *node) int
	measure = func(w *sched.Worker, n *node) int {
		sizes := make([]int, len(n.children))
		var g sched.Group
		for i, c := range n.children {
			err := g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { sizes[i] = measure(w, c) }})
			if err != nil {
				fmt.Println(err)
			}
		}
		if err := w.Wait(&g); err != nil {
			fmt.Println(err)
		}
		sum := n.size
		for _, size := range sizes {
			sum += size
		}
		return sum
	}

	tree := &node{size: 1, children: []*node{{size: 2}, {size: 3, children: []*node{{size: 4}}}}}
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	if err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { sum = measure(w, tree) }}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sum)
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// 10
	// <nil>
}
