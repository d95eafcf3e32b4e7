package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// node is a task of a tree in which every task waits for its children.
type node struct {
	task   sched.Task
	depth  int
	leaves *atomic.Int64
}

func (n *node) arm() *sched.Task {
	n.task.Fn = func(w *sched.Worker, _ *sched.Task) {
		if n.depth == 0 {
			n.leaves.Add(1)
			return
		}
		var g sched.Group
		for range 2 {
			child := &node{depth: n.depth - 1, leaves: n.leaves}
			if err := g.Schedule(w, child.arm()); err != nil {
				panic(err)
			}
		}
		if err := w.Wait(&g); err != nil {
			panic(err)
		}
	}
	return &n.task
}

// TestNestedGroups: a chain of nested waits ends although it is deeper than the number of tasks
// that may run on top of each other.
func TestNestedGroups(t *testing.T) {
	depth := 1000
	if testing.Short() {
		depth = 150
	}
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var nest func(w *sched.Worker, left int) error
		nest = func(w *sched.Worker, left int) error {
			if left == 0 {
				return nil
			}
			var g sched.Group
			var err error
			task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { err = nest(w, left-1) }}
			if err := g.Schedule(w, task); err != nil {
				return err
			}
			return errors.Join(w.Wait(&g), err)
		}
		var err error
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { err = nest(w, depth) }}))
		must(t, err)
	}
}

// TestGroupErrors: Wait returns the first error of a group, or all errors in order, and the
// context of the group ends with the first error or with its parent.
func TestGroupErrors(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	first, second := errors.New("first"), errors.New("second")

	g := s.NewGroup(sched.GroupConfig{})
	g.Go(func() error { return first })
	g.Go(func() error { return second })
	g.Go(func() error { return nil })
	if err := g.Wait(); err != first {
		t.Errorf("Wait = %v, want the first error", err)
	}
	if cause := context.Cause(g.Context()); cause != first {
		t.Errorf("the context was cancelled with %v", cause)
	}

	all := s.NewGroup(sched.GroupConfig{AllErrors: true})
	all.Go(func() error { return first })
	all.Go(func() error { return second })
	err := all.Wait()
	if !errors.Is(err, first) || !errors.Is(err, second) || err.Error() != "first\nsecond" {
		t.Errorf("Wait = %v, want both errors in order", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	child := s.NewGroup(sched.GroupConfig{Context: ctx})
	cancel()
	if child.Context().Err() == nil {
		t.Error("the context of the group does not follow its parent")
	}
	must(t, child.Wait())

	none := s.NewGroup(sched.GroupConfig{})
	none.Go(nil)
	mustBe(t, none.Wait(), sched.ErrNilTask)

	var zero sched.Group // a group of no scheduler reports that
	zero.Go(func() error { return nil })
	mustBe(t, zero.Wait(), sched.ErrNoScheduler)
}

// TestGroupReturnedPanicError: an error that a function returns is an error of the group, even
// if it is the *PanicError of another group. Wait raises it again if the function passes it to
// panic.
func TestGroupReturnedPanicError(t *testing.T) {
	silent := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}})
	other := silent.NewGroup(sched.GroupConfig{})
	other.Go(func() error { panic("other") })
	got := other.Wait()
	if _, ok := got.(*sched.PanicError); !ok {
		t.Fatalf("Wait = %v, want a *PanicError", got)
	}
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for _, all := range []bool{false, true} {
		g := s.NewGroup(sched.GroupConfig{AllErrors: all})
		g.Go(func() error { return got })
		var err error
		if r := panicOf(func() { err = g.Wait() }); r != nil || !errors.Is(err, got) {
			t.Errorf("all errors %t: Wait = %v and panics with %v, want the error %v", all, err, r, got)
		}
		g.Go(func() error { panic(got) })
		if r := panicOf(func() { _ = g.Wait() }); r != got {
			t.Errorf("all errors %t: Wait panics with %v, want %v", all, r, got)
		}
	}
}

// TestGroupLimit: at most Limit functions of a group run at a time, and TryGo refuses a function
// at the limit.
func TestGroupLimit(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 4})
	g := s.NewGroup(sched.GroupConfig{Limit: 2})
	var running, most atomic.Int64
	for range 200 {
		g.Go(func() error {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			runtime.Gosched()
			running.Add(-1)
			return nil
		})
	}
	must(t, g.Wait())
	if most.Load() > 2 {
		t.Errorf("%d functions ran at once, the limit is 2", most.Load())
	}

	g = s.NewGroup(sched.GroupConfig{Limit: 1})
	release, started := make(chan struct{}), newLatch(1)
	if !g.TryGo(func() error { started.hit(); <-release; return nil }) {
		t.Fatal("TryGo refused the first function")
	}
	started.wait(t)
	if g.TryGo(func() error { return nil }) {
		t.Fatal("TryGo accepted a function beyond the limit")
	}
	close(release)
	must(t, g.Wait())
	if !g.TryGo(func() error { return nil }) {
		t.Fatal("TryGo refused a function below the limit")
	}
	must(t, g.Wait())

	// A callback that waits for a permit does not stop the functions that hold the permits.
	one := newScheduler(t, sched.Config{MaxWorkers: 1})
	inner := one.NewGroup(sched.GroupConfig{Limit: 1})
	must(t, one.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		for range 5 {
			inner.Go(func() error { return nil })
		}
	}}))
	must(t, inner.Wait())
}

// TestFunctionThatRunsAgainHasNoPermit: a function of a group with a Limit gives its permit back once,
// also if OnPanic schedules its task again: in the group, or in another one that skips it.
func TestFunctionThatRunsAgainHasNoPermit(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for name, config := range map[string]sched.GroupConfig{"runs": {}, "is skipped": {Context: ended}} {
		t.Run(name, func(t *testing.T) {
			var s *sched.Scheduler
			var again *sched.Group
			panics := 0
			s = openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(task *sched.Task, value any, _ []byte) {
				if panics++; panics > 1 {
					t.Errorf("OnPanic got %v", value)
				} else if err := again.Schedule(nil, task); err != nil {
					t.Errorf("Schedule = %v", err)
				}
			}})
			again = s.NewGroup(config)
			g := s.NewGroup(sched.GroupConfig{Limit: 1})
			ran := 0
			g.Go(func() error {
				if ran++; ran == 1 {
					panic("planned")
				}
				return nil
			})
			var p *sched.PanicError
			if err := g.Wait(); !errors.As(err, &p) || p.Value != "planned" {
				t.Errorf("Wait = %v, want the panic", err)
			}
			if config.Context == nil {
				must(t, again.Wait())
			} else {
				mustBe(t, again.Wait(), context.Canceled)
			}
			if want := map[bool]int{true: 2, false: 1}[config.Context == nil]; ran != want {
				t.Errorf("the function ran %d times, want %d", ran, want)
			}
			release := make(chan struct{})
			if !g.TryGo(func() error { <-release; return nil }) {
				t.Error("the permit is not free")
			}
			if g.TryGo(func() error { return nil }) {
				t.Error("there is one permit too many")
			}
			close(release)
			_ = g.Wait() // the panic of the first function again
			atRest(t, s)
		})
	}
}

// TestGroupLimitAfterClose: a Go that waits for a permit returns after Close, although the tasks
// that hold the permits never run. V-12a.
func TestGroupLimitAfterClose(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{Limit: 2})
	started, release := newLatch(1), make(chan struct{})
	g.Go(func() error { started.hit(); <-release; return nil })
	started.wait(t)
	g.Go(func() error { return nil })
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		g.Go(func() error { return nil })
	}()
	_, err = s.Close()
	must(t, err)
	close(release)
	<-waits
	mustBe(t, g.Wait(), sched.ErrClosed)
	_, err = s.Join(within(t))
	must(t, err)
}

// TestGroupLimitNegative: a negative limit panics, and the panic names the field. V-16c.
func TestGroupLimitNegative(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "Limit") {
			t.Errorf("panic %q does not name the field", r)
		}
	}()
	s.NewGroup(sched.GroupConfig{Limit: -1})
}

// TestGroupCounts: a group counts all of its tasks. External callers and callbacks on several
// places schedule them, so that the group uses all kinds of stripes.
func TestGroupCounts(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 3_000
	}
	for _, workers := range []int{1, 2, 4} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		g := s.NewGroup(sched.GroupConfig{})
		var ran atomic.Int64
		var fn func(w *sched.Worker, j *sched.Job[int])
		fn = func(w *sched.Worker, j *sched.Job[int]) {
			ran.Add(1)
			for range min(j.Value, 2) {
				child := &sched.Job[int]{Fn: fn, Value: j.Value - 1}
				if err := g.Schedule(w, child.Task()); err != nil {
					t.Error(err)
				}
			}
		}
		for range n / 10 {
			j := &sched.Job[int]{Fn: fn, Value: 2} // 1 + 2 + 2 tasks
			must(t, g.Schedule(nil, j.Task()))
		}
		must(t, g.Wait())
		if got, want := ran.Load(), int64(n/10*5); got != want {
			t.Fatalf("%d tasks ran before Wait returned, want %d", got, want)
		}
	}
}

// TestTasksAfterAWaitAreCounted: a task of a group that runs after the wait for another task of
// that group is counted in it, and not in the group of the callback that has waited.
func TestTasksAfterAWaitAreCounted(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	outer := s.NewGroup(sched.GroupConfig{})
	var g sched.Group
	var err error
	must(t, outer.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		err = errors.Join(g.Schedule(w, noTask()), w.Wait(&g), g.Schedule(w, noTask()))
	}}))
	must(t, s.Shutdown(within(t)))
	must(t, err)
	if !outer.Done() || !g.Done() {
		t.Errorf("all tasks have run: done are %t and %t", outer.Done(), g.Done())
	}
}

// TestGroupOfAnotherScheduler: a group treats a worker of another scheduler as an external
// caller. B8.
func TestGroupOfAnotherScheduler(t *testing.T) {
	a := newScheduler(t, sched.Config{MaxWorkers: 1})
	b := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := a.NewGroup(sched.GroupConfig{})
	var one, batch *sched.Scheduler
	var err error
	must(t, b.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var tasks sched.Batch
		err = errors.Join(
			g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { one = w.Scheduler() }}),
			tasks.Add(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { batch = w.Scheduler() }}),
			g.ScheduleBatch(w, &tasks),
			w.Wait(g),
		)
	}}))
	must(t, err)
	if one != a || batch != a {
		t.Errorf("the tasks ran on %p and %p, want %p", one, batch, a)
	}
}

// TestGroupLimitIsChecked: a negative limit is refused, and the highest limit limits nothing.
// V-16c.
func TestGroupLimitIsChecked(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for _, n := range []int{-1, math.MinInt} {
		if r := panicOf(func() { s.NewGroup(sched.GroupConfig{Limit: n}) }); r == nil {
			t.Errorf("NewGroup with a limit of %d does not panic", n)
		}
	}
	for _, n := range []int{0, 1, math.MaxInt} {
		g := s.NewGroup(sched.GroupConfig{Limit: n})
		var ran atomic.Int32
		for range 3 {
			g.Go(func() error { ran.Add(1); return nil })
		}
		must(t, g.Wait())
		if ran.Load() != 3 {
			t.Errorf("with a limit of %d, %d of 3 functions ran", n, ran.Load())
		}
	}
}
