//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// TestModelShutdown: during a Shutdown, accepted tasks run and refused tasks do not, and no
// worker is left. B2, B3.
func TestModelShutdown(t *testing.T) {
	checkAndDraw(t, "sched-shutdown", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 2, 0)
		ran := 0
		accepted := 0
		inner := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			ran++
			md.must(w.Schedule(inner))
		}}
		m.Go("caller", func() {
			switch err := md.s.Schedule(task); {
			case err == nil:
				accepted = 2
			case !errors.Is(err, sched.ErrShutdown):
				m.Fatalf("Schedule = %v", err)
			}
		})
		m.Go("closer", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("%d tasks were accepted, %d ran", accepted, ran)
			}
			if n := md.s.Stats().Workers; n != 0 {
				m.Fatalf("%d workers exist after Shutdown", n)
			}
		})
	})
}

// TestModelShutdownBlocked: Shutdown waits for a callback that has blocked, and runs the task
// that the callback schedules afterwards.
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

// TestModelTwoShutdowns: a Shutdown does not return while another Shutdown moves tasks that have
// not run.
func TestModelTwoShutdowns(t *testing.T) {
	checkAndDraw(t, "sched-two-shutdowns", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran := 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		md.must(md.s.Schedule(task)) // first: a call during a Shutdown has models of its own
		for _, name := range []string{"closer one", "closer two"} {
			m.Go(name, func() { md.must(md.s.Shutdown(context.Background())) })
		}
		m.Final(func() {
			if ran != 1 {
				m.Fatalf("Shutdown returned nil, and the task ran %d times", ran)
			}
		})
	})
}

// TestModelTwoShutdownsUnused: two concurrent calls of Shutdown on a scheduler without workers
// return.
func TestModelTwoShutdownsUnused(t *testing.T) {
	interleave.Check(t, "sched-two-shutdowns-unused", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		for _, name := range []string{"closer one", "closer two"} {
			m.Go(name, func() { md.must(md.s.Shutdown(context.Background())) })
		}
	})
}

// TestModelDoShutdown: during a Shutdown, a task that a Do schedules before it blocks runs.
func TestModelDoShutdown(t *testing.T) {
	interleave.Check(t, "sched-do-shutdown", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted := 0, 0
		inner := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			md.must(w.Schedule(inner))
			accepted++
			w.Blocking(func() {})
		}}
		m.Go("do", func() { _ = md.s.Do(task) })
		m.Go("closer", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("%d tasks were accepted, %d ran", accepted, ran)
			}
		})
	})
}

// TestModelShutdownClose: Close and Join do not return while a Shutdown moves tasks that have
// neither run nor been returned.
func TestModelShutdownClose(t *testing.T) {
	checkAndDraw(t, "sched-shutdown-close", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, returned := 0, 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		md.must(md.s.Schedule(task)) // first: a call during a Shutdown has models of its own
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("closer", func() { returned = md.closeAndJoin() })
		m.Final(func() {
			if ran+returned != 1 {
				m.Fatalf("of one task, %d ran, and %d were returned", ran, returned)
			}
		})
	})
}

// TestModelShutdownCloseGroup: a Close occurs while a Shutdown holds a task of a group. The wait
// for the group ends, also without a Join.
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

// TestModelClose: a task that is scheduled during a Close runs, is returned by Close or Join, or
// is refused. Z-095.
func TestModelClose(t *testing.T) {
	interleave.Check(t, "sched-close", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ran, accepted [2]int // of the task, and of the task that it schedules
		returned := 0
		inner := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran[1]++ }}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			ran[0]++
			if w.Schedule(inner) == nil {
				accepted[1]++
			}
		}}
		m.Go("caller", func() {
			if md.s.Schedule(task) == nil {
				accepted[0]++
			}
		})
		m.Go("closer", func() { returned = md.closeAndJoin() })
		m.Final(func() {
			if ran[0]+ran[1]+returned != accepted[0]+accepted[1] {
				m.Fatalf("%v tasks were accepted, %v ran, %d were returned", accepted, ran, returned)
			}
		})
	})
}

// TestModelCloseGroup: Close cancels the queued tasks of a group, and the wait for the group
// ends.
func TestModelCloseGroup(t *testing.T) {
	interleave.Check(t, "sched-close-group", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		no := func(*sched.Worker, *sched.Task) {}
		m.Go("caller", func() {
			_ = g.Schedule(nil, &sched.Task{Fn: no})
			_ = g.Schedule(nil, &sched.Task{Fn: no})
			if err := g.Wait(); err != nil && !errors.Is(err, sched.ErrClosed) {
				m.Fatalf("Wait = %v", err)
			}
		})
		m.Go("closer", func() {
			if _, err := md.s.Close(); err != nil {
				m.Fatalf("Close = %v", err)
			}
		})
	})
}

// TestModelCloseGroupMany: Close finds the injection queue held by a worker that takes some of
// its tasks and leaves the others. Close cancels all of them, and the wait ends.
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

// TestModelCloseWaits: Close and Join return while callbacks wait and call Do.
func TestModelCloseWaits(t *testing.T) {
	interleave.Check(t, "sched-close-waits", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 2, 0)
		no := func(*sched.Worker, *sched.Task) {}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var g sched.Group
			_ = g.Schedule(w, &sched.Task{Fn: no})
			_ = w.Wait(&g)
			_ = md.s.Do(&sched.Task{Fn: no}, &sched.Task{Fn: no})
		}}
		m.Go("do", func() { _ = md.s.Do(task, &sched.Task{Fn: no}) })
		m.Go("closer", func() {
			_, err := md.s.Close()
			md.must(err)
			_, err = md.s.Join(context.Background())
			md.must(err)
		})
	})
}

// TestModelDoClose: Join returns the tasks that a Do leaves queued on a closed scheduler. The
// fault that this model excludes needs three preemptions. Z-095.
func TestModelDoClose(t *testing.T) {
	interleave.Check(t, "sched-do-close", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted, returned := 0, 0, 0
		inner := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			if w.Schedule(inner) == nil {
				accepted++
			}
		}}
		m.Go("do", func() { _ = md.s.Do(task) })
		m.Go("closer", func() { returned = md.closeAndJoin() })
		m.Final(func() {
			if ran+returned != accepted {
				m.Fatalf("%d tasks were accepted, %d ran, %d were returned", accepted, ran, returned)
			}
		})
	})
}

// TestModelJoinReturns: Join returns although a place is made while the scheduler closes.
func TestModelJoinReturns(t *testing.T) {
	interleave.Check(t, "sched-join-returns", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		no := func(*sched.Worker, *sched.Task) {}
		m.Go("do one", func() { _ = md.s.Do(&sched.Task{Fn: no}) })
		m.Go("do two", func() { _ = md.s.Do(&sched.Task{Fn: no}) })
		m.Go("closer", func() {
			_, err := md.s.Close()
			md.must(err)
			_, err = md.s.Join(context.Background())
			md.must(err)
		})
	})
}

// TestModelJoinReturnsLast: no callback starts after Join has returned.
func TestModelJoinReturnsLast(t *testing.T) {
	interleave.Check(t, "sched-join-returns-last", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		joined := false
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			if joined {
				m.Fatalf("a task starts after Join has returned")
			}
		}}
		m.Go("caller", func() { _ = md.s.Schedule(task) })
		m.Go("closer", func() { _, _ = md.s.Close() })
		m.Go("joiner", func() {
			if _, err := md.s.Join(context.Background()); err == nil {
				joined = true
			}
		})
	})
}

// TestModelJoinShutdown: Join takes no task that Shutdown has promised to run.
func TestModelJoinShutdown(t *testing.T) {
	checkAndDraw(t, "sched-join-shutdown", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran := 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		md.must(md.s.Schedule(task)) // first: a call during a Shutdown has models of its own
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("joiner", func() { _, _ = md.s.Join(context.Background()) })
		m.Final(func() {
			if ran != 1 {
				m.Fatalf("Shutdown returned nil, and the task ran %d times", ran)
			}
		})
	})
}

// TestModelJoinDrains: the context of a Shutdown ends, and the Join after it drains the
// scheduler and returns.
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

// TestModelSpawnAfterJoin: no worker is spawned after Join has returned.
func TestModelSpawnAfterJoin(t *testing.T) {
	interleave.Check(t, "sched-spawn-after-join", bounded(), func(m *interleave.M) {
		joined := false
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: spawnFunc(func(run func()) error {
			if joined {
				m.Fatalf("a worker is spawned after Join has returned")
			}
			interleave.GoDaemon("worker", run)
			return nil
		})})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		m.Go("caller", func() { _ = s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}) })
		m.Go("closer", func() {
			_, _ = s.Close()
			_, _ = s.Join(context.Background())
			joined = true
		})
	})
}
