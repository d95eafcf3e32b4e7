//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// anyNumber is a number of failures without a limit.
const anyNumber = math.MaxInt

// mustQueue accepts nil and ErrQueued, the result when no worker can be spawned.
func (md *model) mustQueue(err error) {
	if !errors.Is(err, sched.ErrQueued) {
		md.must(err)
	}
}

// TestModelWaitDuringDo: no worker can be spawned, and a Wait relies on the place that a Do
// holds. The Wait ends.
func TestModelWaitDuringDo(t *testing.T) {
	interleave.Check(t, "sched-wait-during-do", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, anyNumber)
		a, b := md.task("a", nil), md.task("b", nil)
		g := md.s.NewGroup(sched.GroupConfig{})
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("waiter", func() {
			md.mustQueue(g.Schedule(nil, b))
			md.must(g.Wait())
		})
	})
}

// TestModelSpawnFailsWhenBlocking: one spawn fails, perhaps the one for a worker that blocks
// until a queued task has run. The waiter of the group then runs that task.
func TestModelSpawnFailsWhenBlocking(t *testing.T) {
	interleave.Check(t, "sched-spawn-fails-when-blocking", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 1)
		g := md.s.NewGroup(sched.GroupConfig{})
		var ready park.Sema
		ready.Init(1)
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		a := md.task("a", func(w *sched.Worker) {
			md.mustQueue(g.Schedule(w, b))
			w.Blocking(ready.Wait)
		})
		m.Go("caller", func() {
			md.mustQueue(g.Schedule(nil, a))
			md.must(g.Wait())
		})
	})
}

// TestModelTwoWaitersStarve: two waits rely on one worker, and the next spawn fails. The failure
// wakes both waits.
func TestModelTwoWaitersStarve(t *testing.T) {
	interleave.Check(t, "sched-two-waiters-starve", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, anyNumber)
		g, h := md.s.NewGroup(sched.GroupConfig{}), md.s.NewGroup(sched.GroupConfig{})
		a, b := md.task("a", nil), md.task("b", nil)
		m.Go("one", func() {
			md.mustQueue(g.Schedule(nil, a))
			md.must(g.Wait())
		})
		m.Go("two", func() {
			md.mustQueue(h.Schedule(nil, b))
			md.must(h.Wait())
		})
	})
}

// TestModelRefusalReason: a refused Do returns the reason of the refusal, here ErrClosed and
// never ErrShutdown.
func TestModelRefusalReason(t *testing.T) {
	interleave.Check(t, "sched-refusal-reason", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		m.Go("do", func() {
			if err := md.s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}); err != nil && !errors.Is(err, sched.ErrClosed) {
				m.Fatalf("Do = %v", err)
			}
		})
		m.Go("closer", func() { md.closeAndJoin() })
	})
}

// TestModelWaitersDuringDo: two waits rely on the place of a preempted Do, and do not wake each
// other for ever.
func TestModelWaitersDuringDo(t *testing.T) {
	interleave.Check(t, "sched-waiters-during-do", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, anyNumber)
		a := md.task("a", nil)
		m.Go("do", func() { md.must(md.s.Do(a)) })
		for _, name := range []string{"b", "c"} {
			g := md.s.NewGroup(sched.GroupConfig{})
			task := md.task(name, nil)
			m.Go("waiter "+name, func() {
				md.mustQueue(g.Schedule(nil, task))
				md.must(g.Wait())
			})
		}
	})
}

// TestModelCloseStarved: without workers, a wait and a Shutdown leave the remaining tasks to a
// concurrent Close.
func TestModelCloseStarved(t *testing.T) {
	interleave.Check(t, "sched-close-starved", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, anyNumber)
		g := md.s.NewGroup(sched.GroupConfig{})
		md.mustQueue(g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
		md.mustQueue(md.s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
		m.Go("waiter", func() {
			if err := g.Wait(); err != nil && !errors.Is(err, sched.ErrClosed) {
				m.Fatalf("Wait = %v", err)
			}
		})
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("closer", func() { md.closeAndJoin() })
	})
}

// TestModelSpawnFailureWait: a Wait runs the tasks of its group when no worker can be spawned.
func TestModelSpawnFailureWait(t *testing.T) {
	interleave.Check(t, "sched-spawn-failure-wait", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 1000)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) {
			if err := g.Schedule(w, b); err != nil && !errors.Is(err, sched.ErrQueued) {
				m.Fatalf("Schedule = %v", err)
			}
		})
		m.Go("caller", func() {
			if err := g.Schedule(nil, a); err != nil && !errors.Is(err, sched.ErrQueued) {
				m.Fatalf("Schedule = %v", err)
			}
			md.must(g.Wait())
		})
	})
}

// TestModelRefillNotifies: a waiter runs tasks itself because no worker can be started, and its
// context ends. A worker that is started in between may find the overflow queue held, from which
// the waiter moves tasks to its ring, and park. The waiter notifies for the tasks that it leaves.
func TestModelRefillNotifies(t *testing.T) {
	interleave.Check(t, "sched-refill-notifies", bounded(), func(m *interleave.M) {
		canStart := false
		md := newModelWith(m, sched.Config{MaxWorkers: 2, Spawner: spawnFunc(func(run func()) error {
			if !canStart {
				return errSpawn
			}
			canStart = false // one worker is enough
			interleave.GoDaemon("worker", run)
			return nil
		})})
		g := md.s.NewGroup(sched.GroupConfig{})
		ctx, cancel := context.WithCancel(context.Background())
		m.Final(cancel)
		var tasks []*sched.Task
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} { // more than a ring holds after the first
			tasks = append(tasks, md.task(name, func(*sched.Worker) {
				if ctx.Err() == nil {
					canStart = true
					cancel()
				}
			}))
		}
		m.Go("waiter", func() {
			md.mustQueue(g.Schedule(nil, tasks...))
			if err := g.WaitContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
				m.Fatalf("WaitContext = %v", err)
			}
		})
	})
}
