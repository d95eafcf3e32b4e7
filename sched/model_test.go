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

// In these models workers are daemons: they may be parked for ever when all
// others have ended. So a task that is stranded shows as a task that has not run
// in the end, or as a waiter that waits for ever.

// modelSpawner starts workers as threads of the model; it fails when the explorer
// says so, at most failures times.
type modelSpawner struct{ failures int }

var errSpawn = errors.New("spawn failed")

func (m *modelSpawner) Spawn(run func()) error {
	if m.failures > 0 && interleave.Choose(2) == 1 {
		m.failures--
		return errSpawn
	}
	interleave.GoDaemon("worker", run)
	return nil
}

// model is a scheduler in an exploration, and the tasks that must run once.
type model struct {
	m     *interleave.M
	s     *sched.Scheduler
	names []string
	ran   map[string]*int
}

// sureModelSpawner starts every worker, as the default Spawner does.
type sureModelSpawner struct {
	sched.Infallible
	modelSpawner
}

func newModel(m *interleave.M, workers, failures int) *model {
	return newModelOf(m, sched.Config{MaxWorkers: workers}, failures)
}

func newModelOf(m *interleave.M, c sched.Config, failures int) *model {
	c.Spawner = &modelSpawner{failures}
	if failures == 0 {
		c.Spawner = &sureModelSpawner{}
	}
	s, err := sched.New(c)
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	md := &model{m: m, s: s, ran: map[string]*int{}}
	m.Final(md.check)
	return md
}

// check is the law: each task ran exactly once.
func (md *model) check() {
	for _, name := range md.names {
		if n := *md.ran[name]; n != 1 {
			md.m.Fatalf("task %s ran %d times", name, n)
		}
	}
}

// task returns a task that must run exactly once.
func (md *model) task(name string, fn func(w *sched.Worker)) *sched.Task {
	md.names = append(md.names, name)
	ran := new(int)
	md.ran[name] = ran
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		*ran++
		if fn != nil {
			fn(w)
		}
	}}
}

func (md *model) must(err error) {
	if err != nil {
		md.m.Fatalf("unexpected error: %v", err)
	}
}

// closeAndJoin closes and joins the scheduler, and returns how many tasks came
// back.
func (md *model) closeAndJoin() (returned int) {
	now, err := md.s.Close()
	md.must(err)
	later, err := md.s.Join(context.Background())
	md.must(err)
	return len(now) + len(later)
}

func bounded() interleave.Options { return interleave.Options{Preemptions: 2} }

// TestModelLocalPush: a worker whose task schedules two more, and a second worker
// that may steal them; an outside caller schedules meanwhile. Z-034, Z-055, Z-057.
func TestModelLocalPush(t *testing.T) {
	interleave.Check(t, "sched-local-push", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			md.must(w.Schedule(c))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelTwoCallers: two outside callers and two workers.
func TestModelTwoCallers(t *testing.T) {
	interleave.Check(t, "sched-two-callers", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		for _, name := range []string{"a", "b"} {
			task := md.task(name, nil)
			m.Go("caller "+name, func() { md.must(md.s.Schedule(task)) })
		}
	})
}

// TestModelReleaseWindow is B7: a task must not wait for a running one while a
// worker sleeps. Task a needs b to run, which is pushed while a's worker holds the
// consumer token, and turns the other worker away. The first task has made that
// other worker, and holds a's worker back until a is queued.
func TestModelReleaseWindow(t *testing.T) {
	interleave.Check(t, "sched-release-window", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready, started, gate park.Sema
		ready.Init(1)
		started.Init(1)
		gate.Init(1)
		first := md.task("first", func(*sched.Worker) { started.Post(); gate.Wait() })
		a := md.task("a", func(*sched.Worker) { ready.Wait() })
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		m.Go("caller", func() {
			md.must(md.s.Schedule(first))
			started.Wait()
			md.must(md.s.Schedule(a))
			gate.Post()
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelWaitTells: thieves that a Wait has turned away, while it held its
// ring, are told of what is left. The waiter runs c, which needs b.
func TestModelWaitTells(t *testing.T) {
	interleave.Check(t, "sched-wait-tells", bounded(), func(m *interleave.M) {
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

// TestModelDoRest: Do wakes somebody for the tasks after the first, which may
// need them.
func TestModelDoRest(t *testing.T) {
	interleave.Check(t, "sched-do-rest", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready park.Sema
		ready.Init(1)
		a := md.task("a", func(*sched.Worker) { ready.Wait() })
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		m.Go("do", func() { md.must(md.s.Do(a, b)) })
	})
}

// TestModelOverflow: more tasks than a ring of the model holds, from inside.
func TestModelOverflow(t *testing.T) {
	interleave.Check(t, "sched-overflow", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var tasks []*sched.Task
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			tasks = append(tasks, md.task(name, nil))
		}
		a := md.task("a", func(w *sched.Worker) {
			for _, t := range tasks {
				md.must(w.Schedule(t))
			}
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelGroupWait: a wait from outside ends, and not before the tasks have.
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

// TestModelWorkerWait: a task waits for two others, with one worker and with two.
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

// TestModelWaitHoldsLock: a waiter holds a mutex that an unrelated queued task
// needs; with one worker.
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
			md.must(w.Schedule(b)) // the newest, which is looked at first
			md.must(w.Wait(&g))
			mutex.Post()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelCrossedWaits: two tasks each wait for something that the other does
// after its own wait for a child: neither may run on top of the other's wait.
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

// TestModelBlocking: with one place, a callback blocks until a queued task ran.
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

// TestModelDo: a Do takes the only place while an outside caller schedules; what
// it leaves behind is run.
func TestModelDo(t *testing.T) {
	interleave.Check(t, "sched-do-1", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(c)) })
		m.Go("do", func() {
			md.must(md.s.Do(a))
			if *md.ran["a"] != 1 {
				m.Fatalf("Do returned before its task ran")
			}
		})
		m.Go("caller", func() { md.must(md.s.Schedule(b)) })
	})
	interleave.Check(t, "sched-do-2", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a, b, c := md.task("a", nil), md.task("b", nil), md.task("c", nil)
		m.Go("do one", func() { md.must(md.s.Do(a, b)) })
		m.Go("do other", func() { md.must(md.s.Do(c)) })
	})
}

// TestModelDoBlocks: the task of a Do gives the place away, and waits without
// saying who it is.
func TestModelDoBlocks(t *testing.T) {
	interleave.Check(t, "sched-do-blocks", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		a := md.task("a", func(*sched.Worker) {
			md.must(g.Schedule(nil, b))
			md.must(g.Wait())
		})
		m.Go("do", func() { md.must(md.s.Do(a)) })
	})
}

// TestModelRun: the context of a Run ends at any moment, also while a signal is
// on its way to its park; nothing is stranded. The worker that Run is, is the
// only one until the spawner is asked.
func TestModelRun(t *testing.T) {
	interleave.Check(t, "sched-run", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a := md.task("a", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() {
			if err := md.s.Run(ctx); !errors.Is(err, context.Canceled) {
				m.Fatalf("Run = %v", err)
			}
		})
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			cancel()
		})
	})
}

// TestModelSpawnFailure: spawns fail as the explorer likes; whoever is told
// ErrQueued finds that the next Schedule serves the task. X-31, B6. V-13a.
func TestModelSpawnFailure(t *testing.T) {
	interleave.Check(t, "sched-spawn-failure", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 2)
		tasks := []*sched.Task{md.task("a", nil), md.task("b", nil), md.task("c", nil)}
		m.Go("caller", func() {
			for i, task := range tasks {
				err := md.s.Schedule(task)
				if err != nil && (!errors.Is(err, sched.ErrQueued) || i == 2) {
					m.Fatalf("Schedule %d = %v", i, err)
				}
			}
		})
	})
}

// TestModelSpawnFailureWait: a Wait serves its group when no worker can be had.
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

// TestModelShutdown: a Shutdown against a caller; what was accepted runs, and
// the workers end. B2, B3.
func TestModelShutdown(t *testing.T) {
	interleave.Check(t, "sched-shutdown", bounded(), func(m *interleave.M) {
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
				m.Fatalf("%d workers are left after Shutdown", n)
			}
		})
	})
}

// TestModelClose: a Close against a caller: each task runs, or is handed back by
// Close or Join, or was refused.
func TestModelClose(t *testing.T) {
	interleave.Check(t, "sched-close", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ran, accepted [2]int // of the task, and of the one that it schedules
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
				m.Fatalf("%v tasks were accepted, %v ran, %d came back", accepted, ran, returned)
			}
		})
	})
}

// TestModelCloseGroup: a Close cancels queued tasks of a group; its Wait ends.
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

// TestModelNestedTaskGroup: a task of one group waits for another group and runs its task
// on top of the wait. Each task is counted in its own group: both waits end.
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
