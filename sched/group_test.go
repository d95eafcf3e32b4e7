package sched_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// node is a task of a tree in which every node waits for its children.
type node struct {
	task  sched.Task
	depth int
	leafs *atomic.Int64
}

func (n *node) arm() *sched.Task {
	n.task.Fn = func(w *sched.Worker, _ *sched.Task) {
		if n.depth == 0 {
			n.leafs.Add(1)
			return
		}
		var g sched.Group
		for range 2 {
			child := &node{depth: n.depth - 1, leafs: n.leafs}
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

// TestWaitInTasks: nested waits end with any number of workers. V-05d.
func TestWaitInTasks(t *testing.T) {
	depth := 14
	if testing.Short() {
		depth = 9
	}
	for _, workers := range []int{1, 2, 5} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var leafs atomic.Int64
		must(t, s.Do((&node{depth: depth, leafs: &leafs}).arm()))
		if leafs.Load() != 1<<depth {
			t.Fatalf("%d leafs, want %d", leafs.Load(), 1<<depth)
		}
		must(t, s.Do((&node{depth: depth, leafs: &leafs}).arm(), (&node{depth: depth, leafs: &leafs}).arm()))
		if leafs.Load() != 3<<depth {
			t.Fatalf("%d leafs, want %d", leafs.Load(), 3<<depth)
		}
	}
}

// TestNestedGroups: a chain of waits deeper than the frames that a Wait may use.
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

// TestWaitHoldsALock: an unrelated queued task needs a lock that the waiter
// holds, so it must not run on the waiter's stack.
func TestWaitHoldsALock(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var mu sync.Mutex
	l := newLatch(1)
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		mu.Lock()
		defer mu.Unlock()
		needsLock := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			mu.Lock()
			defer mu.Unlock()
			l.hit()
		}}
		var g sched.Group
		ran := false
		helper := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}
		for _, err := range []error{w.Schedule(needsLock), g.Schedule(w, helper), w.Wait(&g)} {
			if err != nil {
				t.Error(err)
			}
		}
		if !ran {
			t.Error("Wait returned before the task ran")
		}
	}}))
	l.wait(t)
}

// TestWaitWithoutIdentity: callbacks that wait through the group alone give
// their place away, also when they hold it through Do. V-05d.
func TestWaitWithoutIdentity(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		l := newLatch(20)
		for range 20 {
			must(t, s.Go(func() {
				g := s.NewGroup(sched.GroupConfig{})
				g.Go(func() error { return nil })
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
				l.hit()
			}))
		}
		l.wait(t)
		for range 20 {
			must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				g := s.NewGroup(sched.GroupConfig{})
				g.Go(func() error { return nil })
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			}}))
		}
	}
}

// TestDoInsideCallbacks: a Do in a callback never hangs, nor does a wait in it.
func TestDoInsideCallbacks(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var ran atomic.Int64
		leaf := func() *sched.Task {
			return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}
		}
		l := newLatch(10)
		for range 10 {
			must(t, s.Go(func() {
				err := s.Do(leaf(), leaf(), &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { return s.Do(leaf(), leaf()) })
					if err := g.Wait(); err != nil {
						t.Error(err)
					}
				}})
				if err != nil {
					t.Error(err)
				}
				l.hit()
			}))
		}
		l.wait(t)
		if ran.Load() != 40 {
			t.Fatalf("%d leafs ran, want 40", ran.Load())
		}
	}
}

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

	var zero sched.Group // belongs to no scheduler, and says so
	zero.Go(func() error { return nil })
	mustBe(t, zero.Wait(), sched.ErrNoScheduler)
}

// TestGroupReturnedPanicError: what a function returns is an error, also a panic of
// another group. One that the function passes to panic is raised again.
func TestGroupReturnedPanicError(t *testing.T) {
	quiet := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}})
	other := quiet.NewGroup(sched.GroupConfig{})
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
		t.Fatal("TryGo went beyond the limit")
	}
	close(release)
	must(t, g.Wait())
	if !g.TryGo(func() error { return nil }) {
		t.Fatal("TryGo refused a function below the limit")
	}
	must(t, g.Wait())

	// A callback that waits for the limit does not stop the ones it waits for.
	one := newScheduler(t, sched.Config{MaxWorkers: 1})
	inner := one.NewGroup(sched.GroupConfig{Limit: 1})
	must(t, one.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		for range 5 {
			inner.Go(func() error { return nil })
		}
	}}))
	must(t, inner.Wait())
}

// TestGroupLimitAfterClose: a Go that waits for the limit ends with the scheduler,
// though the tasks that held the permits never run. V-12a.
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

// TestGroupLimitNegative: the panic names the field. V-16c.
func TestGroupLimitNegative(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "Limit") {
			t.Errorf("panic %q does not name the field", r)
		}
	}()
	s.NewGroup(sched.GroupConfig{Limit: -1})
}

// TestGroupManyWaiters: all waiters return, from outside and from inside.
func TestGroupManyWaiters(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 3})
	for range 50 {
		g := s.NewGroup(sched.GroupConfig{})
		release := make(chan struct{})
		for range 3 {
			g.Go(func() error { <-release; return nil })
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
		l := newLatch(2)
		for range 2 {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if err := w.Wait(g); err != nil {
					t.Error(err)
				}
				l.hit()
			}}))
		}
		close(release)
		wg.Wait()
		l.wait(t)
	}
}

// TestGroupCounts runs one large group over many places, from inside and
// outside, so that all kinds of stripes are used.
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

// TestWaitContext: a wait ends with its context, and knows its worker by it. V-11.
func TestWaitContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := s.NewGroup(sched.GroupConfig{})
	release := make(chan struct{})
	g.Go(func() error { <-release; return nil })
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	mustBe(t, g.WaitContext(ctx), why)
	close(release)
	must(t, g.Wait())

	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		ctx := w.Context(context.Background())
		var g sched.Group
		on := -1
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { on = w.ID() }}
		if err := g.Schedule(w, task); err != nil {
			t.Error(err)
		}
		if err := g.WaitContext(ctx); err != nil {
			t.Error(err)
		}
		if on != w.ID() || on != 0 {
			t.Errorf("the task ran on place %d, the waiter holds %d", on, w.ID())
		}
	}}))
}

// TestBlocking: with one worker, a callback that blocks until another task ran, with its
// worker at hand and without; outside of callbacks the function is just called.
func TestBlocking(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		called := false
		if s.Blocking(func() { called = true }); !called {
			t.Fatal("Blocking did not call its function")
		}
		for round := range 100 {
			l, other := newLatch(1), make(chan struct{})
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }}); err != nil {
					t.Error(err)
				}
				block := w.Blocking
				if round%2 == 1 {
					block = s.Blocking
				}
				block(func() { <-other })
				if w.ID() != -1 {
					t.Errorf("ID = %d after Blocking", w.ID())
				}
				// Without a place: through the injection queue, and nested.
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
					t.Error(err)
				}
				w.Blocking(func() {})
			}}))
			l.wait(t)
		}
		// The same inside Do.
		other := make(chan struct{})
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }}); err != nil {
				t.Error(err)
			}
			w.Blocking(func() { <-other })
		}}))
	}
}
