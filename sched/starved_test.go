package sched_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// These tests check waits that rely on a worker which cannot be spawned. They run in
// synctest bubbles, where the runtime reports an endless wait as a deadlock.

// inBubble runs fn with a scheduler of one worker in a bubble, and shuts the scheduler down.
// Spawn number call fails when fail(call) is true.
func inBubble(t *testing.T, fail func(call int64) bool, fn func(s *sched.Scheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: &failingSpawner{fail: fail}})
		must(t, err)
		fn(s)
		must(t, s.Shutdown(context.Background()))
	})
}

// always makes each spawn fail.
func always(int64) bool { return true }

// held starts a Do that holds the only place until release is called.
func held(s *sched.Scheduler) (release func()) {
	in, out := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(in); <-out }})
	}()
	<-in
	return func() { close(out) }
}

// TestWaitDuringDo: no worker can be spawned and a Do holds the only place. A Wait and another
// Do continue when that place is free again. Z-005, Z-061.
func TestWaitDuringDo(t *testing.T) {
	inBubble(t, always, func(s *sched.Scheduler) {
		release := held(s)
		g := s.NewGroup(sched.GroupConfig{})
		mustBe(t, g.Schedule(nil, noTask()), sched.ErrQueued)
		errs := make(chan error, 2)
		go func() { errs <- g.Wait() }()
		go func() { errs <- s.Do(noTask()) }()
		synctest.Wait()
		release()
		must(t, <-errs)
		must(t, <-errs)
	})
}

// TestStarvedWaitsPark: waits without a worker and without a free place are parked. They do not
// wake each other through the Spawner, and their lists do not grow.
func TestStarvedWaitsPark(t *testing.T) {
	inBubble(t, always, func(s *sched.Scheduler) {
		release := held(s)
		g := s.NewGroup(sched.GroupConfig{})
		mustBe(t, g.Schedule(nil, noTask()), sched.ErrQueued)
		const waits = 8
		errs := make(chan error)
		for range waits {
			go func() { errs <- g.Wait() }()
		}
		synctest.Wait() // does not return while a wait spins
		const pushes = 1000
		for range pushes {
			mustBe(t, s.Schedule(noTask()), sched.ErrQueued)
			synctest.Wait()
		}
		if n := g.Waiting(); n != waits {
			t.Errorf("the list has %d entries for %d waits", n, waits)
		}
		if n := s.Stats().SpawnFailures; n > 3*pushes {
			t.Errorf("the Spawner was called %d times for %d tasks", n, pushes)
		}
		release()
		for range waits {
			must(t, <-errs)
		}
		if n := s.Starved(); n != 0 {
			t.Errorf("%d waits are listed after the last wait has ended", n)
		}
	})
}

// TestEndedWaitsLeaveTheStarvedList: waits that end leave no entry on the list of starved waits,
// also when the Spawner never fails.
func TestEndedWaitsLeaveTheStarvedList(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2, Spawner: &failingSpawner{fail: func(int64) bool { return false }}})
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 100 {
				g := s.NewGroup(sched.GroupConfig{})
				if err := g.Schedule(nil, noTask()); err != nil {
					t.Error(err)
				}
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	if n := s.Starved(); n != 0 {
		t.Errorf("%d waits are listed after the last wait has ended", n)
	}
}

// TestWaitOutlivesItsWorker: a Wait ends although the worker that it relies on ends and no other
// worker can be spawned. Z-005, Z-061.
func TestWaitOutlivesItsWorker(t *testing.T) {
	inBubble(t, func(call int64) bool { return call > 1 }, func(s *sched.Scheduler) {
		g := s.NewGroup(sched.GroupConfig{})
		release := make(chan struct{})
		must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { <-release; runtime.Goexit() }}))
		must(t, g.Schedule(nil, noTask()))
		errs := make(chan error)
		for range 2 {
			go func() { errs <- g.Wait() }()
		}
		synctest.Wait() // both are parked
		close(release)
		mustBe(t, <-errs, sched.ErrGoexit)
		mustBe(t, <-errs, sched.ErrGoexit)
	})
}

// TestWaitOutlivesARun: a Wait ends although it relies on a caller of Run whose context ends,
// and no worker can be spawned.
func TestWaitOutlivesARun(t *testing.T) {
	inBubble(t, always, func(s *sched.Scheduler) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		g := s.NewGroup(sched.GroupConfig{})
		release := make(chan struct{})
		must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { <-release }}))
		must(t, g.Schedule(nil, noTask()))
		waited := make(chan error)
		go func() { waited <- g.Wait() }()
		synctest.Wait()
		cancel()
		close(release)
		mustBe(t, <-ended, context.Canceled)
		must(t, <-waited)
	})
}

// TestSpawnFailsWhenBlocking: a callback blocks until a queued task has run, and the spawn of
// the worker for that task fails. The waiter runs the task.
func TestSpawnFailsWhenBlocking(t *testing.T) {
	inBubble(t, func(call int64) bool { return call == 2 }, func(s *sched.Scheduler) {
		g := s.NewGroup(sched.GroupConfig{})
		ready := make(chan struct{})
		must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			must(t, g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(ready) }}))
			w.Blocking(func() { <-ready })
		}}))
		must(t, g.Wait())
	})
}

// TestGoWithoutWorkers: a Go that waits for a permit runs the functions that hold the permits
// when no worker exists or can be spawned.
func TestGoWithoutWorkers(t *testing.T) {
	for name, fail := range map[string]func(int64) bool{
		"never": always,
		"once":  func(call int64) bool { return call == 1 },
		"later": func(call int64) bool { return call > 1 },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fail, func(s *sched.Scheduler) {
				g := s.NewGroup(sched.GroupConfig{Limit: 1})
				ran := 0
				for range 5 {
					g.Go(func() error { ran++; return nil })
				}
				must(t, g.Wait())
				release := make(chan struct{})
				g = s.NewGroup(sched.GroupConfig{Limit: 2})
				g.Go(func() error { <-release; runtime.Goexit(); return nil })
				_ = g.Schedule(nil, noTask())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for range 3 {
						g.Go(func() error { ran++; return nil })
					}
					_ = g.Wait()
				}()
				synctest.Wait()
				close(release)
				<-ended
				if name == "later" && ran != 8 {
					t.Errorf("%d functions ran, want 8", ran)
				}
			})
		})
	}
}

// TestShutdownWithoutWorkersEndsWithContext: without workers, Shutdown returns when its context
// ends, both while a Do holds the only place and while Shutdown runs tasks itself.
func TestShutdownWithoutWorkersEndsWithContext(t *testing.T) {
	t.Run("place held", func(t *testing.T) {
		inBubble(t, always, func(s *sched.Scheduler) {
			release := held(s)
			mustBe(t, s.Schedule(noTask()), sched.ErrQueued)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			mustBe(t, s.Shutdown(ctx), context.DeadlineExceeded)
			if n := s.Stats().SpawnFailures; n > 10 {
				t.Errorf("the Spawner was called %d times", n)
			}
			_, err := s.Join(ctx)
			mustBe(t, err, context.DeadlineExceeded)
			release()
		})
	})
	t.Run("running", func(t *testing.T) {
		inBubble(t, always, func(s *sched.Scheduler) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ran := 0
			for range 100 {
				mustBe(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}), sched.ErrQueued)
			}
			mustBe(t, s.Shutdown(ctx), context.Canceled)
			if ran != 1 {
				t.Errorf("%d tasks ran, the first of which ended the context", ran)
			}
		})
	})
}

// TestWaitWithoutWorkersChecksContext: a wait that runs tasks itself starts no task after its
// context has ended.
func TestWaitWithoutWorkersChecksContext(t *testing.T) {
	for name, before := range map[string]int{"before": 0, "during": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, always, func(s *sched.Scheduler) {
				g := s.NewGroup(sched.GroupConfig{})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ran := 0
				for range 100 {
					mustBe(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++; cancel() }}), sched.ErrQueued)
				}
				if before == 0 {
					cancel()
				}
				mustBe(t, g.WaitContext(ctx), context.Canceled)
				if ran != before {
					t.Errorf("%d tasks ran, want %d", ran, before)
				}
			})
		})
	}
}

// TestWaitWithoutWorkersDoesNotPause: a wait without workers runs more tasks than a ring holds
// without a pause.
func TestWaitWithoutWorkersDoesNotPause(t *testing.T) {
	inBubble(t, always, func(s *sched.Scheduler) {
		g := s.NewGroup(sched.GroupConfig{})
		for range 2000 {
			mustBe(t, g.Schedule(nil, noTask()), sched.ErrQueued)
		}
		began := time.Now()
		must(t, g.Wait())
		if d := time.Since(began); d > 0 {
			t.Errorf("a wait that runs its tasks itself paused for %v", d)
		}
	})
}

// TestShutdownPanicAfterBlocking: without workers, Shutdown contains the panic of a task that
// has released its place on the goroutine of Shutdown.
func TestShutdownPanicAfterBlocking(t *testing.T) {
	inBubble(t, always, func(s *sched.Scheduler) {
		g := s.NewGroup(sched.GroupConfig{})
		for range 2 {
			mustBe(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				w.Blocking(func() {})
				panic("late")
			}}), sched.ErrQueued)
		}
		must(t, s.Shutdown(context.Background()))
		if n := s.Stats().Executed; n != 2 {
			t.Errorf("%d tasks were run, want 2", n)
		}
	})
}

// TestSpawnerPanicOnAWorkerEndsProgram: a Spawner that panics on a worker ends the program, and
// the panic is not charged to the next task. V-13d.
func TestSpawnerPanicOnAWorkerEndsProgram(t *testing.T) {
	out, _ := runChild(t, "spawner panics")
	if !strings.Contains(out, "panic: sched: Config.Spawner panicked: spawner") {
		t.Errorf("the output of the program is\n%s", out)
	}
}

func init() {
	children["spawner panics"] = func(t *testing.T) {
		t.Helper()
		s, err := sched.New(sched.Config{
			MaxWorkers: 2,
			Spawner:    &panicAtSpawner{at: 2},
			OnPanic:    func(*sched.Task, any, []byte) { os.Exit(0) },
		})
		must(t, err)
		var b sched.Batch
		for range 3 {
			must(t, b.Add(noTask()))
		}
		must(t, s.ScheduleBatch(&b))
		must(t, s.Shutdown(context.Background()))
		for { // until the panic ends the program
			runtime.Gosched()
		}
	}
}

// panicAtSpawner panics in call number at.
type panicAtSpawner struct {
	failingSpawner
	at int64
}

func (p *panicAtSpawner) Spawn(run func()) error {
	if p.calls.Add(1) == p.at {
		panic("spawner")
	}
	go run()
	return nil
}

// TestCallersRunTheirOwnTasks: when no worker can be spawned, a Wait and a Do run their own
// tasks from any depth of the queues, and leave the other tasks queued. Z-061. V-13c.
func TestCallersRunTheirOwnTasks(t *testing.T) {
	const many = 2*ringSize + 50
	var ran, others int
	count := func(n *int) *sched.Task {
		return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { *n++ }}
	}
	several := func(n *int) (tasks []*sched.Task) {
		for range many {
			tasks = append(tasks, count(n))
		}
		return tasks
	}
	for _, tc := range []struct {
		name         string
		wait         func(s *sched.Scheduler) error
		want, wantIn int // the tasks that ran, and the others that are left
	}{
		{"Do of many", func(s *sched.Scheduler) error { return s.Do(several(&ran)...) }, many, 0},
		{"Do under others", func(s *sched.Scheduler) error {
			return s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran++
				if err := queuedOrNil(w.Schedule(several(&others)...)); err != nil {
					t.Error(err)
				}
			}}, count(&ran))
		}, 2, many},
		{"Wait of an external caller", func(s *sched.Scheduler) error {
			g := s.NewGroup(sched.GroupConfig{})
			return errors.Join(
				queuedOrNil(s.Schedule(several(&others)...)),
				queuedOrNil(g.Schedule(nil, several(&ran)...)),
				queuedOrNil(s.Schedule(several(&others)...)),
				g.Wait(),
			)
		}, many, 2 * many},
		{"Wait in a task", func(s *sched.Scheduler) error {
			var err error
			return errors.Join(s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				var g sched.Group
				err = errors.Join(
					queuedOrNil(g.Schedule(w, several(&ran)...)),
					queuedOrNil(w.Schedule(several(&others)...)),
					w.Wait(&g),
				)
			}}), err)
		}, many, many},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ran, others = 0, 0
			s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
			must(t, err)
			must(t, tc.wait(s))
			if ran != tc.want || others != 0 {
				t.Errorf("%d tasks and %d others ran, want %d and none", ran, others, tc.want)
			}
			tasks, err := s.Close()
			must(t, err)
			if len(tasks) != tc.wantIn {
				t.Errorf("%d tasks are left, want %d", len(tasks), tc.wantIn)
			}
			_, err = s.Join(within(t))
			must(t, err)
		})
	}
}

// TestWaitWithoutWorkersEndsWithContext: a wait without workers returns when its context ends.
// V-11.
func TestWaitWithoutWorkersEndsWithContext(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2, Spawner: never()})
	g := s.NewGroup(sched.GroupConfig{})
	release := make(chan struct{})
	in := make(chan struct{})
	go func() {
		_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			_ = g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(in); <-release }})
			_ = w.Wait(g)
		}})
	}()
	<-in
	_ = s.Go(func() {}) // ErrQueued: the task stays queued
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ends(t, "WaitContext with a deadline of 50 ms", func() { _ = g.WaitContext(ctx) })
	close(release)
}

// TestWaitWithoutWorkersFindsAllTasks: a wait without workers finds the tasks of its group in
// the ring and in the overflow queue.
func TestWaitWithoutWorkersFindsAllTasks(t *testing.T) {
	for name, n := range map[string]int{"overflow": 700, "ring": 100} {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: never()})
			g := s.NewGroup(sched.GroupConfig{})
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if name == "overflow" {
					for range n {
						_ = g.Schedule(w, noTask())
					}
					return
				}
				_ = g.Schedule(w, noTask())
				for range n {
					_ = w.Schedule(noTask())
				}
			}}))
			ends(t, "Wait of a queued group without workers", func() { _ = g.Wait() })
		})
	}
}
