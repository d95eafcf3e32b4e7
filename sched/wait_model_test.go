//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelGroupWait: a wait of an external caller ends, and not before the tasks of its group
// have ended.
func TestModelGroupWait(t *testing.T) {
	interleave.Check(t, "sched-group-wait", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(g.Schedule(w, b)) })
		m.Go("caller", func() {
			md.must(g.Schedule(nil, a))
			md.must(g.Wait())
			if *md.ran["a"] != 1 || *md.ran["b"] != 1 {
				m.Fatalf("Wait returned before the tasks had run")
			}
		})
	})
}

// TestModelWorkerWait: a task waits for two others with one worker and with two workers.
func TestModelWorkerWait(t *testing.T) {
	for name, workers := range map[string]int{"sched-worker-wait-1": 1, "sched-worker-wait-2": 2} {
		interleave.Check(t, name, bounded(), func(m *interleave.M) {
			md := newModel(m, workers, 0)
			b, c := md.task("b", nil), md.task("c", nil)
			a := md.task("a", func(w *sched.Worker) {
				var g sched.Group
				md.must(g.Schedule(w, b))
				md.must(g.Schedule(w, c))
				md.must(w.Wait(&g))
				if *md.ran["b"] != 1 || *md.ran["c"] != 1 {
					m.Fatalf("Wait returned before the tasks had run")
				}
			})
			m.Go("caller", func() { md.must(md.s.Schedule(a)) })
		})
	}
}

// TestModelWaitNotifies: a Wait that held its ring, and so refused thieves, notifies for the
// tasks that it leaves. The waiter runs c, which needs b.
func TestModelWaitNotifies(t *testing.T) {
	interleave.Check(t, "sched-wait-notifies", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready park.Sema
		ready.Init(1)
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		c := md.task("c", func(*sched.Worker) { ready.Wait() })
		a := md.task("a", func(w *sched.Worker) {
			var g sched.Group
			md.must(g.Schedule(w, b, c))
			md.must(w.Wait(&g))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelWaitHoldsLock: with one worker, a waiter that holds a mutex does not run an unrelated
// task that needs the mutex.
func TestModelWaitHoldsLock(t *testing.T) {
	interleave.Check(t, "sched-wait-holds-lock", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		var mutex park.Sema
		mutex.Init(1)
		mutex.Post()
		b := md.task("b", func(*sched.Worker) { mutex.Wait(); mutex.Post() })
		c := md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			mutex.Wait()
			var g sched.Group
			md.must(g.Schedule(w, c))
			md.must(w.Schedule(b)) // the newest task, which a wait finds first
			md.must(w.Wait(&g))
			mutex.Post()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelWaitHoldsLockOfFork: with one worker, a body that waits for a group and holds a mutex does
// not run its own fork, which needs the mutex. A task of the group has promoted the fork on top of an
// earlier wait.
func TestModelWaitHoldsLockOfFork(t *testing.T) {
	interleave.Check(t, "sched-wait-holds-lock-of-fork", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		var mutex park.Sema
		mutex.Init(1)
		mutex.Post()
		outer, g := md.s.NewGroup(sched.GroupConfig{}), md.s.NewGroup(sched.GroupConfig{})
		b, c := md.task("b", func(w *sched.Worker) { w.Blocking(func() {}) }), md.task("c", nil)
		body := func(f *sched.Forks[int, int], n int) int {
			w := f.Worker()
			if n == 1 {
				w.Blocking(mutex.Wait)
				mutex.Post()
				return 1
			}
			f.Push(1)
			md.must(g.Schedule(w, b))
			md.must(w.Wait(g))
			mutex.Wait()
			md.must(g.Schedule(nil, c))
			md.must(w.Wait(g))
			mutex.Post()
			if f.TakeBack() {
				return 1
			}
			return f.Await()
		}
		a := md.task("a", func(*sched.Worker) { sched.ForkJoin(md.s, body, 0) })
		m.Go("caller", func() {
			md.must(outer.Schedule(nil, a))
			md.must(outer.Wait())
		})
	})
}

// TestModelCrossedWaits: two tasks each need an event that the other produces after a wait for a
// child. Neither task runs on top of the wait of the other.
func TestModelCrossedWaits(t *testing.T) {
	interleave.Check(t, "sched-crossed-waits", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		var first, second park.Sema
		first.Init(1)
		second.Init(1)
		child := func(name string) func(w *sched.Worker) {
			c := md.task(name, nil)
			return func(w *sched.Worker) {
				var g sched.Group
				md.must(g.Schedule(w, c))
				md.must(w.Wait(&g))
			}
		}
		childA, childB := child("child of a"), child("child of b")
		a := md.task("a", func(w *sched.Worker) {
			childA(w)
			first.Post()
			w.Blocking(second.Wait)
		})
		b := md.task("b", func(w *sched.Worker) {
			childB(w)
			second.Post()
			w.Blocking(first.Wait)
		})
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelNestedTaskGroup: a task of one group waits for another group and runs its task on top
// of the wait. Each task is counted in its own group, so that both waits end.
func TestModelNestedTaskGroup(t *testing.T) {
	interleave.Check(t, "sched-nested-task-group", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		inner := md.task("inner", nil)
		outer := md.task("outer", func(w *sched.Worker) {
			var nested sched.Group
			md.must(nested.Schedule(w, inner))
			md.must(w.Wait(&nested))
		})
		m.Go("caller", func() {
			md.must(g.Schedule(nil, outer))
			md.must(g.Wait())
		})
	})
}

// TestModelStealingWaitNotifies: a wait that steals notifies for the tasks that it leaves, as a
// worker does. The fault is rare, so that PCT searches for it.
func TestModelStealingWaitNotifies(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Depth: 4, Executions: 150_000}
	if raceBuild() {
		o.Executions = 500 // the race detector looks at one execution as well as at many
	}
	r := interleave.Explore(o, func(m *interleave.M) {
		md := newModel(m, 3, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		var ready, scheduled, hold park.Sema
		ready.Init(1)
		scheduled.Init(2)
		hold.Init(1)
		n2 := md.task("n2", func(*sched.Worker) { ready.Post() })
		n1 := md.task("n1", func(*sched.Worker) { ready.Wait(); hold.Post() })
		x := md.task("x", func(w *sched.Worker) {
			md.must(g.Schedule(w, n1))
			scheduled.Post()
			md.must(w.Schedule(n2))
			hold.Wait() // a callback that ends only after n1
		})
		y := md.task("y", func(w *sched.Worker) {
			w2 := w
			scheduled.Wait()
			md.must(w2.Wait(g))
		})
		m.Go("caller", func() {
			md.must(md.s.Schedule(x))
			md.must(md.s.Schedule(y))
		})
	})
	if r.Failure != nil {
		t.Error(r.Failure)
	}
}

// TestModelTwoGroupWaits: the end of a group wakes all of its waiters.
func TestModelTwoGroupWaits(t *testing.T) {
	interleave.Check(t, "sched-two-group-waits", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		md.must(g.Schedule(nil, md.task("a", nil)))
		for _, name := range []string{"one", "two"} {
			m.Go(name, func() { md.must(g.Wait()) })
		}
	})
}

// TestModelWaitCancelled: when the context of one wait ends, another wait for the group still
// ends with the group.
func TestModelWaitCancelled(t *testing.T) {
	interleave.Check(t, "sched-wait-cancelled", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		ctx, cancel := context.WithCancel(context.Background())
		md.must(g.Schedule(nil, md.task("a", func(*sched.Worker) { cancel() })))
		m.Go("stays", func() { md.must(g.Wait()) })
		m.Go("cancelled", func() {
			if err := g.WaitContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
				m.Fatalf("WaitContext = %v", err)
			}
		})
	})
}

// TestModelTwoGroups: a worker runs tasks of two groups alternately. Each task is counted in its
// own group, and both waits end.
func TestModelTwoGroups(t *testing.T) {
	interleave.Check(t, "sched-two-groups", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		one, two := md.s.NewGroup(sched.GroupConfig{}), md.s.NewGroup(sched.GroupConfig{})
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(two.Schedule(w, b))
			md.must(one.Schedule(w, c))
		})
		m.Go("caller", func() {
			md.must(one.Schedule(nil, a))
			md.must(one.Wait())
			md.must(two.Wait())
			if *md.ran["b"] != 1 || *md.ran["c"] != 1 {
				m.Fatalf("Wait returned before the tasks had run")
			}
		})
	})
}

// TestModelGroupPanic: a wait ends with the panic of a task of its group.
func TestModelGroupPanic(t *testing.T) {
	interleave.Check(t, "sched-group-panic", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		s, err := sched.New(sched.Config{
			MaxWorkers: 1,
			Spawner:    &modelSpawner{},
			OnPanic:    func(*sched.Task, any, []byte) {},
		})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		g := s.NewGroup(sched.GroupConfig{})
		m.Go("caller", func() {
			if err := g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("planned") }}); err != nil {
				m.Fatalf("Schedule: %v", err)
			}
			var p *sched.PanicError
			if err := g.Wait(); !errors.As(err, &p) || p.Value != "planned" {
				m.Fatalf("Wait = %v", err)
			}
		})
	})
}

// TestModelWaitReturnsLast: a wait of an external caller does not return before a task that
// schedules another one has ended, even if the other one ends first.
func TestModelWaitReturnsLast(t *testing.T) {
	interleave.Check(t, "sched-wait-returns-last", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		ended := false
		a := md.task("a", func(w *sched.Worker) {
			md.must(g.Schedule(w, b))
			ended = true
		})
		m.Go("caller", func() {
			md.must(g.Schedule(nil, a))
			md.must(g.Wait())
			if !ended || *md.ran["b"] != 1 {
				m.Fatalf("Wait returned before the tasks had ended")
			}
		})
	})
}

// TestModelWaitReleasesPlace: a wait that finds no task of its group releases its place to a
// worker, because the task is in a queue that a wait does not poll.
func TestModelWaitReleasesPlace(t *testing.T) {
	interleave.Check(t, "sched-wait-releases-place", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(g.Schedule(nil, b))
			md.must(w.Wait(g))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelBlocking: with one place, a callback blocks until a queued task has run.
func TestModelBlocking(t *testing.T) {
	interleave.Check(t, "sched-blocking", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		var ready park.Sema
		ready.Init(1)
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		c := md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			w.Blocking(ready.Wait)
			md.must(w.Schedule(c))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelGroupBlocks: a task of a group blocks, continues while another worker has its place,
// and ends. The wait for the group ends too.
func TestModelGroupBlocks(t *testing.T) {
	interleave.Check(t, "sched-group-blocks", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		var ready park.Sema
		ready.Init(1)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			w.Blocking(ready.Wait)
		})
		m.Go("caller", func() {
			md.must(g.Schedule(nil, a))
			md.must(g.Wait())
		})
	})
}
