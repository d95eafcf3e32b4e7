//go:build interleave

package sched_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelRunLeaves: a Run that found no free place is the only worker that is counted, and its context ends.
func TestModelRunLeaves(t *testing.T) {
	interleave.Check(t, "sched-run-leaves", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a, b := md.task("a", nil), md.task("b", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(b))
			cancel()
		})
	})
}

// TestModelTwoShutdowns: while one Shutdown moves tasks, the other does not find all done.
func TestModelTwoShutdowns(t *testing.T) {
	interleave.Check(t, "sched-two-shutdowns", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted := 0, 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		m.Go("caller", func() {
			if md.s.Schedule(task) == nil {
				accepted++
			}
		})
		for _, name := range []string{"closer one", "closer two"} {
			m.Go(name, func() { md.must(md.s.Shutdown(context.Background())) })
		}
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("%d tasks were accepted, %d ran", accepted, ran)
			}
		})
	})
}

// TestModelShutdownClose: nor do Close and Join.
func TestModelShutdownClose(t *testing.T) {
	interleave.Check(t, "sched-shutdown-close", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted, returned := 0, 0, 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		m.Go("caller", func() {
			if md.s.Schedule(task) == nil {
				accepted++
			}
		})
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("closer", func() { returned = md.closeAndJoin() })
		m.Final(func() {
			if ran+returned != accepted {
				m.Fatalf("%d tasks were accepted, %d ran, %d came back", accepted, ran, returned)
			}
		})
	})
}

// TestModelDoClose: what a Do leaves behind on a closed scheduler is what Join returns. The fault
// that this excludes needs three preemptions.
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
				m.Fatalf("%d tasks were accepted, %d ran, %d came back", accepted, ran, returned)
			}
		})
	})
}

// TestModelJoinHangs: a place that is made while the scheduler closes keeps nobody waiting.
func TestModelJoinHangs(t *testing.T) {
	interleave.Check(t, "sched-join-hangs", bounded(), func(m *interleave.M) {
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

// TestModelJoinEarly: no callback starts after Join has returned.
func TestModelJoinEarly(t *testing.T) {
	interleave.Check(t, "sched-join-early", bounded(), func(m *interleave.M) {
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

// TestModelJoinShutdown: Join takes nothing that Shutdown has promised to run.
func TestModelJoinShutdown(t *testing.T) {
	interleave.Check(t, "sched-join-shutdown", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted := 0, 0
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		m.Go("caller", func() {
			if md.s.Schedule(task) == nil {
				accepted++
			}
		})
		m.Go("shutdown", func() { md.must(md.s.Shutdown(context.Background())) })
		m.Go("joiner", func() { _, _ = md.s.Join(context.Background()) })
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("Shutdown returned nil; %d tasks were accepted, %d ran", accepted, ran)
			}
		})
	})
}

// TestModelHelperSteals: a wait that steals tells of what it leaves, as a worker does. Seldom: PCT.
func TestModelHelperSteals(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Depth: 4, Executions: 150_000}
	r := interleave.Explore(o, func(m *interleave.M) {
		md := newModel(m, 3, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		var ready, over, hold park.Sema
		ready.Init(1)
		over.Init(2)
		hold.Init(1)
		n2 := md.task("n2", func(*sched.Worker) { ready.Post() })
		n1 := md.task("n1", func(*sched.Worker) { ready.Wait(); hold.Post() })
		x := md.task("x", func(w *sched.Worker) {
			md.must(g.Schedule(w, n1))
			over.Post()
			md.must(w.Schedule(n2))
			hold.Wait() // a callback that does not end by itself
		})
		y := md.task("y", func(w *sched.Worker) {
			w2 := w
			over.Wait()
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

// TestModelSpawnAfterJoin: no worker is started after Join has returned.
func TestModelSpawnAfterJoin(t *testing.T) {
	interleave.Check(t, "sched-spawn-after-join", bounded(), func(m *interleave.M) {
		joined := false
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: spawnFunc(func(run func()) error {
			if joined {
				m.Fatalf("a worker is started after Join has returned")
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

type spawnFunc func(func()) error

func (f spawnFunc) Spawn(run func()) error { return f(run) }

// TestModelTwoShutdownsUnused: two calls of Shutdown on a scheduler without workers.
func TestModelTwoShutdownsUnused(t *testing.T) {
	interleave.Check(t, "sched-two-shutdowns-unused", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		for _, name := range []string{"closer one", "closer two"} {
			m.Go(name, func() { md.must(md.s.Shutdown(context.Background())) })
		}
	})
}

// TestModelDoShutdown: a Do against a Shutdown.
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

// TestModelCloseWaits: Close and Join against callbacks that wait, and that call Do.
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

// TestModelRunBlocks: the callback of a Run blocks, and its context ends.
func TestModelRunBlocks(t *testing.T) {
	interleave.Check(t, "sched-run-blocks", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)); w.Blocking(func() {}) })
		c := md.task("c", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			cancel()
			md.must(md.s.Schedule(c))
		})
	})
}

// RM14: Goexit of a callback, outside work.
