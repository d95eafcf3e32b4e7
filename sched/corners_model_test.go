//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelPlaces: a place has one holder at a time, also when a taker is held up
// while the top of the free list goes and comes back: three places, of which one
// thread holds one and the list says 0, 1.
func TestModelPlaces(t *testing.T) {
	interleave.Check(t, "sched-places", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		p := sched.NewPlaces(3, lastTag)
		zero, one, two := p.Take(), p.Take(), p.Take()
		var holders [3]int
		holders[two] = 1
		take := func() int {
			i := p.Take()
			if i >= 0 {
				if holders[i]++; holders[i] > 1 {
					m.Fatalf("place %d has two holders", i)
				}
			}
			return i
		}
		put := func(i int) {
			holders[i]--
			p.Put(i)
		}
		holders[zero], holders[one] = 1, 1
		put(one)
		put(zero)
		m.Go("slow", func() { take(); take() })
		m.Go("quick", func() {
			first := take()
			take() // and keeps it
			put(two)
			if first >= 0 {
				put(first)
			}
		})
	})
}

// TestModelPushTells: somebody comes for what a callback schedules before the
// callback ends, which it may never do: here it does when the task has run.
func TestModelPushTells(t *testing.T) {
	interleave.Check(t, "sched-push-tells", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready park.Sema
		ready.Init(1)
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			ready.Wait()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelRunSignal: the context of a Run ends between the CAS that meant to
// wake it and the token; the signal is passed on.
func TestModelRunSignal(t *testing.T) {
	interleave.Check(t, "sched-run-signal", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a := md.task("a", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
		m.Go("cancel", func() {
			var step atomix.Bool
			step.Load() // a step, so that it can come at any time
			cancel()
		})
	})
}

// TestModelTwoGroupWaits: the end of a group wakes all who wait.
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

// TestModelWaitGivesUp: the context of one wait ends; the other wait ends with
// the group all the same.
func TestModelWaitGivesUp(t *testing.T) {
	interleave.Check(t, "sched-wait-gives-up", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		ctx, cancel := context.WithCancel(context.Background())
		md.must(g.Schedule(nil, md.task("a", func(*sched.Worker) { cancel() })))
		m.Go("stays", func() { md.must(g.Wait()) })
		m.Go("gives up", func() {
			if err := g.WaitContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
				m.Fatalf("WaitContext = %v", err)
			}
		})
	})
}

// TestModelTwoGroups: a worker runs tasks of two groups in turn; each is counted
// in its own, and both waits end.
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

// TestModelGroupPanic: a task of a group panics, and the wait ends.
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

// TestModelGroupBlocks: a task of a group blocks, comes back when another has its
// place, and ends; the wait ends too.
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

// TestModelWaitSeesTheEnd: a wait from outside does not return before the task
// that schedules another has ended, although the other may end first.
func TestModelWaitSeesTheEnd(t *testing.T) {
	interleave.Check(t, "sched-wait-sees-the-end", bounded(), func(m *interleave.M) {
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

// TestModelWaitGivesAway: a wait that finds nothing to run makes room for a worker
// that does: the task that it waits for lies where a wait does not look.
func TestModelWaitGivesAway(t *testing.T) {
	interleave.Check(t, "sched-wait-gives-away", bounded(), func(m *interleave.M) {
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

// TestModelCloseGroupMany: Close is turned away from the injection queue by a
// worker that takes some of the tasks and leaves the others there; all are
// cancelled, and the wait ends.
func TestModelCloseGroupMany(t *testing.T) {
	interleave.Check(t, "sched-close-group-many", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		tasks := make([]*sched.Task, 4)
		for i := range tasks {
			tasks[i] = &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
		}
		m.Go("caller", func() {
			_ = g.Schedule(nil, tasks...)
			if err := g.Wait(); err != nil && !errors.Is(err, sched.ErrClosed) {
				m.Fatalf("Wait = %v", err)
			}
		})
		m.Go("closer", func() {
			_, err := md.s.Close()
			md.must(err)
		})
	})
}

// TestModelShutdownCloseGroup: a Close comes while Shutdown has a task of a group
// in hand; the wait ends, also when nobody calls Join.
func TestModelShutdownCloseGroup(t *testing.T) {
	interleave.Check(t, "sched-shutdown-close-group", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		m.Go("caller", func() {
			_ = g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})
			if err := g.Wait(); err != nil && !errors.Is(err, sched.ErrClosed) {
				m.Fatalf("Wait = %v", err)
			}
		})
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("closer", func() {
			_, err := md.s.Close()
			md.must(err)
		})
	})
}

// TestModelShutdownBlocked: Shutdown waits for a callback that has blocked, and
// takes what that schedules afterwards.
func TestModelShutdownBlocked(t *testing.T) {
	interleave.Check(t, "sched-shutdown-blocked", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted := 0, 0
		inner := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() {})
			md.must(w.Schedule(inner))
			accepted++
		}}
		m.Go("caller", func() { _ = md.s.Schedule(task) })
		m.Go("closer", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("%d tasks were accepted, %d ran", accepted, ran)
			}
		})
	})
}

// TestModelJoinDrains: a Shutdown gives up; the Join that comes after it drains
// the scheduler, and ends.
func TestModelJoinDrains(t *testing.T) {
	interleave.Check(t, "sched-join-drains", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		a := md.task("a", nil)
		m.Go("closer", func() {
			md.must(md.s.Schedule(a))
			if err := md.s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
				m.Fatalf("Shutdown = %v", err)
			}
			_, err := md.s.Join(context.Background())
			md.must(err)
		})
	})
}
