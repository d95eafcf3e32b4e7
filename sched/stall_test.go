package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// These tests check the contract of Config.StallAfter. When a worker has run one task that long
// while tasks are queued, its place is marked as stalled. The place stays with the stalled
// goroutine, and other workers steal from it. One more place is made for the duration. When the
// callback ends, the tasks of the stalled place move to the injection queue, and the place
// becomes a spare one.

const stallAfter = 10 * time.Millisecond

// newStallScheduler returns a scheduler with a StallAfter of stallAfter. When the bubble ends,
// it checks that the scheduler comes to rest with all its places.
func newStallScheduler(t *testing.T, c sched.Config) *sched.Scheduler {
	t.Helper()
	c.StallAfter = stallAfter
	s, err := sched.New(c)
	must(t, err)
	t.Cleanup(func() {
		checkAtRest(t, s)
		must(t, s.Shutdown(within(t)))
	})
	return s
}

// checkAtRest checks, in a bubble, that s comes to rest with all its places.
func checkAtRest(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	for s.StallMonitorRuns() {
		<-time.After(stallAfter) // takes no time in a bubble
	}
	synctest.Wait()
	if bad := s.CheckPlaces(); bad != "" {
		t.Error(bad)
	}
	if st := s.Stats(); st.Stalled != 0 || st.Held != 0 || st.Workers > s.MaxWorkers() {
		t.Errorf("at rest: %+v", st)
	}
}

// tasksOf returns n tasks that call fn.
func tasksOf(n int, fn func()) []*sched.Task {
	tasks := make([]*sched.Task, n)
	for i := range tasks {
		tasks[i] = &sched.Task{Fn: func(*sched.Worker, *sched.Task) { fn() }}
	}
	return tasks
}

// holders are the ways to hold a place while task runs. Each returns when task has ended.
var holders = map[string]func(t *testing.T, s *sched.Scheduler, task *sched.Task){
	"worker": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		g := s.NewGroup(sched.GroupConfig{})
		must(t, g.Schedule(nil, task))
		must(t, g.Wait())
	},
	"do": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		must(t, s.Do(task))
	},
	"do of two": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		must(t, s.Do(task, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
	},
	"run": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			defer cancel()
			task.Fn(w, task)
		}}))
		if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
		<-ctx.Done()
	},
	"fork-join": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		sched.ForkJoin(s, func(f *sched.Forks[int, int], _ int) int {
			task.Fn(f.Worker(), task)
			return 0
		}, 0)
	},
	"wait": func(t *testing.T, s *sched.Scheduler, task *sched.Task) {
		t.Helper()
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var g sched.Group
			must(t, g.Schedule(w, task))
			must(t, w.Wait(&g)) // runs task on top of this one
		}}))
	},
}

// TestStallRunsQueuedTasks checks that queued tasks run within twice StallAfter although a
// callback that blocks outside Worker.Blocking holds each place. The tasks are queued by the
// callbacks, in the ring and in the overflow queue, and by external callers before and after.
func TestStallRunsQueuedTasks(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for name, hold := range holders {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStallScheduler(t, sched.Config{MaxWorkers: workers})
					const own, before, after = 700, 3, 300
					release, started, ran := make(chan struct{}), newLatch(workers), newLatch(workers*own+before+after)
					gate := newLatch(1)
					var ended sync.WaitGroup
					for range workers {
						ended.Go(func() {
							hold(t, s, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
								started.hit()
								<-gate.done // until all have started and the first tasks are queued
								must(t, w.Schedule(tasksOf(own, ran.hit)...))
								<-release
							}})
						})
					}
					started.wait(t)
					begin := time.Now()
					must(t, s.Schedule(tasksOf(before, ran.hit)...))
					gate.hit()
					must(t, s.Schedule(tasksOf(after, ran.hit)...))
					ran.wait(t)
					if d := time.Since(begin); d > 2*stallAfter {
						t.Errorf("the tasks ran within %v, want at most %v", d, 2*stallAfter)
					}
					if st := s.Stats(); st.Stalls != 1 || st.Stalled != 1 || st.Places != workers+1 {
						t.Errorf("got %+v, want one stall and one place more", st)
					}
					close(release)
					ended.Wait()
				})
			})
		}
	}
}

// TestStallOffByDefault checks that no worker is marked as stalled by default.
func TestStallOffByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 1})
		must(t, err)
		release, ran := make(chan struct{}), newLatch(2)
		must(t, s.Go(func() { <-release; ran.hit() }))
		must(t, s.Go(ran.hit))
		time.Sleep(time.Hour)
		if n := ran.left.Load(); n != 2 {
			t.Errorf("%d of 2 tasks are left", n)
		}
		close(release)
		ran.wait(t)
		must(t, s.Shutdown(within(t)))
	})
}

// TestStallAfterIsChecked checks that New refuses a negative StallAfter, except NeverStalled, and
// names the field.
func TestStallAfterIsChecked(t *testing.T) {
	if _, err := sched.New(sched.Config{StallAfter: -2}); err == nil || !strings.Contains(err.Error(), "Config.StallAfter") {
		t.Errorf("New = %v", err)
	}
}

// TestStallMarksLongTasksOnly checks that a worker is not marked as stalled while its tasks are
// shorter than StallAfter, however many run one after the other. A task that is longer than
// twice StallAfter is noticed, also between short ones.
func TestStallMarksLongTasksOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 2})
		for _, length := range []time.Duration{stallAfter / 100, stallAfter / 3, stallAfter - 1} {
			ran := newLatch(100)
			must(t, s.Schedule(tasksOf(100, func() { time.Sleep(length); ran.hit() })...))
			ran.wait(t)
			if n := s.Stats().Stalls; n != 0 {
				t.Errorf("%d workers were marked as stalled, with tasks of %v", n, length)
			}
		}
		ran := newLatch(511)
		short := func() { time.Sleep(stallAfter / 3); ran.hit() }
		must(t, s.Schedule(tasksOf(10, short)...))
		must(t, s.Schedule(tasksOf(1, func() { time.Sleep(2*stallAfter + 1); ran.hit() })...))
		must(t, s.Schedule(tasksOf(500, short)...))
		ran.wait(t)
		if n := s.Stats().Stalls; n != 1 {
			t.Errorf("%d workers were marked as stalled, want the one of the long task", n)
		}
	})
}

// TestStallNeedsQueuedTasks checks that a callback may run for any time while no task is
// queued, without a stall and without a running monitor. A task that is queued later runs.
func TestStallNeedsQueuedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
		release, started := make(chan struct{}), newLatch(1)
		must(t, s.Go(func() { started.hit(); <-release }))
		started.wait(t)
		for range 3 {
			time.Sleep(stallAfter + 1) // one look after the last task was taken, and no more
			synctest.Wait()
			if s.StallMonitorRuns() {
				t.Fatal("the stall monitor runs, and no task is queued")
			}
			if st := s.Stats(); st.Stalls != 0 {
				t.Fatalf("a worker was marked as stalled, and no task is queued: %+v", st)
			}
			time.Sleep(time.Hour)
		}
		begin, ran := time.Now(), newLatch(1)
		must(t, s.Go(ran.hit))
		ran.wait(t)
		if d := time.Since(begin); d > 2*stallAfter {
			t.Errorf("the task ran after %v, want at most %v", d, 2*stallAfter)
		}
		close(release)
	})
}

// TestStallReusesPlaces checks that successive stalls use the same places. Afterwards no more
// than MaxWorkers tasks run at once, with IDs below MaxWorkers.
func TestStallReusesPlaces(t *testing.T) {
	const workers = 2
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: workers})
		for range 100 {
			release, started, ended := make(chan struct{}), newLatch(workers), newLatch(workers+1)
			for range workers {
				must(t, s.Go(func() { started.hit(); <-release; ended.hit() }))
			}
			started.wait(t)
			must(t, s.Go(func() { close(release); ended.hit() }))
			ended.wait(t)
		}
		st := s.Stats()
		if st.Stalls < 100 || st.Places != workers+1 {
			t.Errorf("%+v", st)
		}
		checkAtRest(t, s)
		var mu sync.Mutex
		at, most, ids := 0, 0, map[int]bool{}
		ran := newLatch(50 * workers)
		for range 50 * workers {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				id := w.ID()
				mu.Lock()
				at++
				most = max(most, at)
				if id < -1 || id >= workers || id >= 0 && ids[id] {
					t.Errorf("ID = %d, and the IDs in use are %v", id, ids)
				}
				ids[id] = true
				mu.Unlock()
				time.Sleep(stallAfter / 10)
				mu.Lock()
				at--
				ids[id] = false
				mu.Unlock()
				ran.hit()
			}}))
		}
		ran.wait(t)
		if most != workers {
			t.Errorf("%d tasks ran at once, want %d", most, workers)
		}
		if n := s.Stats().Stalls; n != st.Stalls {
			t.Errorf("%d more workers were marked as stalled", n-st.Stalls)
		}
	})
}

// TestStallReturnsPlacesBelowMaxWorkers checks that the places with an index below MaxWorkers are
// in use again after a stall. Other places have no ID, and they share the counters of groups.
func TestStallReturnsPlacesBelowMaxWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
		release, blocked, ended := make(chan struct{}), newLatch(1), newLatch(1)
		must(t, s.Go(func() { blocked.hit(); <-release; ended.hit() }))
		blocked.wait(t)
		ids := make(chan int, 1)
		id := func(w *sched.Worker, _ *sched.Task) { ids <- w.ID() }
		must(t, s.Schedule(&sched.Task{Fn: id}))
		if got := <-ids; got != -1 {
			t.Errorf("during the stall ID = %d, want -1", got)
		}
		close(release)
		ended.wait(t)
		synctest.Wait()
		must(t, s.Do(&sched.Task{Fn: id}))
		<-ids // this Do may get the place beyond MaxWorkers, and exchanges it
		must(t, s.Do(&sched.Task{Fn: id}))
		if got := <-ids; got != 0 {
			t.Errorf("afterwards ID = %d, want 0", got)
		}
	})
}

// TestStallLimit checks that at most MaxStalled places are stalled, and that queued tasks wait
// when there is one more.
func TestStallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
		const n = sched.MaxStalled + 3
		release, ended := make(chan struct{}), newLatch(n)
		must(t, s.Schedule(tasksOf(n, func() { <-release; ended.hit() })...))
		time.Sleep(2 * n * stallAfter)
		if st := s.Stats(); st.Stalled != sched.MaxStalled || st.Held != sched.MaxStalled+1 {
			t.Errorf("%+v", st)
		}
		close(release)
		ended.wait(t)
	})
}

// TestStallGroupCounts checks that the Wait of a group returns after its last task, although
// its tasks are counted at the stalled place, at the place that was made, and without a place.
func TestStallGroupCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
		g := s.NewGroup(sched.GroupConfig{})
		const n = 2 * sched.GrowAfter
		release, ran := make(chan struct{}), newLatch(n)
		late := false
		must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			must(t, g.Schedule(w, tasksOf(n, ran.hit)...))
			<-release
			time.Sleep(time.Second)
			must(t, g.Schedule(w, tasksOf(1, func() { late = true })...))
		}}))
		ran.wait(t)
		close(release)
		must(t, g.Wait())
		if !late {
			t.Error("Wait returned before the last task had run")
		}
	})
}

// afterStall lists what a callback may do after it was marked as stalled.
var afterStall = map[string]func(t *testing.T, w *sched.Worker, tasks []*sched.Task){
	"schedule": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		must(t, w.Schedule(tasks...))
	},
	"block": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		must(t, w.Schedule(tasks...))
		w.Blocking(func() { <-time.After(time.Minute) })
	},
	"wait": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		var g sched.Group
		must(t, g.Schedule(w, tasks...))
		must(t, w.Wait(&g))
	},
	"external wait": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		g := w.Scheduler().NewGroup(sched.GroupConfig{})
		must(t, g.Schedule(nil, tasks...))
		must(t, g.Wait())
	},
	"do": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		must(t, w.Scheduler().Do(tasks...))
	},
	"fork": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
		t.Helper()
		sched.ForkJoin(w.Scheduler(), func(f *sched.Forks[int, int], i int) int {
			if i > 0 {
				tasks[i-1].Fn(f.Worker(), nil)
				return 0
			}
			for i := range tasks {
				f.Fork(i + 1)
			}
			f.Worker().Blocking(func() { <-time.After(time.Minute) })
			for range tasks {
				if !f.TakeBack() {
					f.Await()
					continue
				}
				t.Error("a fork is private after Blocking")
			}
			return 0
		}, 0)
	},
}

// TestStallCallbackContinues checks that a stalled callback may do all that callbacks may do.
func TestStallCallbackContinues(t *testing.T) {
	for name, more := range afterStall {
		for kind, hold := range holders {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStallScheduler(t, sched.Config{MaxWorkers: 1})
					ran, first := newLatch(10), newLatch(1)
					hold(t, s, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
						must(t, s.Go(first.hit))
						first.wait(t)
						more(t, w, tasksOf(10, ran.hit))
					}})
					ran.wait(t)
				})
			})
		}
	}
}

// TestStallCallbackUnwinds checks that later tasks run after a stalled callback has panicked or
// called Goexit.
func TestStallCallbackUnwinds(t *testing.T) {
	for name, unwind := range map[string]func(){"panic": func() { panic("planned") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var panics atomic.Int32
			config := sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { panics.Add(1) }}
			synctest.Test(t, func(t *testing.T) {
				s := newStallScheduler(t, config)
				for range 3 {
					first, last := newLatch(1), newLatch(1)
					must(t, s.Go(func() {
						must(t, s.Go(first.hit))
						first.wait(t)
						unwind()
					}))
					first.wait(t)
					must(t, s.Go(last.hit))
					last.wait(t)
				}
			})
			if want := map[string]int32{"panic": 3}[name]; panics.Load() != want {
				t.Errorf("%d panics, want %d", panics.Load(), want)
			}
		})
	}
}

// failsAfterFirst is a Spawner that starts one worker, then fails n times, and then starts all.
type failsAfterFirst struct {
	n       atomic.Int32
	started atomic.Bool
}

func (f *failsAfterFirst) Spawn(run func()) error {
	if f.started.Swap(true) && f.n.Add(-1) >= 0 {
		return errors.New("planned")
	}
	go run()
	return nil
}

// TestStallRetriesSpawner checks that the stall monitor calls the Spawner again in each round.
func TestStallRetriesSpawner(t *testing.T) {
	const failures = 5
	spawner := new(failsAfterFirst)
	spawner.n.Store(failures)
	synctest.Test(t, func(t *testing.T) {
		s := newStallScheduler(t, sched.Config{MaxWorkers: 1, Spawner: spawner})
		release, started, ran := make(chan struct{}), newLatch(1), newLatch(1)
		must(t, s.Go(func() { started.hit(); <-release }))
		started.wait(t)
		begin := time.Now()
		must(t, s.Go(ran.hit))
		ran.wait(t)
		if d := time.Since(begin); d > (failures+2)*stallAfter {
			t.Errorf("the task ran after %v, want at most %v", d, (failures+2)*stallAfter)
		}
		if st := s.Stats(); st.SpawnFailures != failures || st.Stalls != 1 {
			t.Errorf("%+v", st)
		}
		close(release)
	})
}

// TestStallWithoutWorkers checks that Wait and Shutdown run tasks on the place that the stall has
// made, when no worker can be started.
func TestStallWithoutWorkers(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *sched.Scheduler, g *sched.Group){
		"wait": func(t *testing.T, _ *sched.Scheduler, g *sched.Group) {
			t.Helper()
			must(t, g.Wait())
		},
		"shutdown": func(t *testing.T, s *sched.Scheduler, _ *sched.Group) {
			t.Helper()
			must(t, s.Shutdown(within(t)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}, StallAfter: stallAfter})
				must(t, err)
				ran, started, ended := newLatch(10), newLatch(1), newLatch(1)
				go func() {
					must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { started.hit(); ran.wait(t) }}))
					ended.hit()
				}()
				started.wait(t)
				g := s.NewGroup(sched.GroupConfig{})
				mustBe(t, g.Schedule(nil, tasksOf(10, ran.hit)...), sched.ErrQueued)
				end(t, s, g)
				ended.wait(t)
				ran.wait(t)
				must(t, s.Shutdown(within(t)))
			})
		})
	}
}

// TestStallShutdownRunsQueuedTasks checks that Shutdown waits for stalled callbacks and for all
// queued tasks, also for those that the callbacks queue during Shutdown.
func TestStallShutdownRunsQueuedTasks(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for name, hold := range holders {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := sched.New(sched.Config{MaxWorkers: workers, StallAfter: stallAfter})
					must(t, err)
					release, started, ran, later := make(chan struct{}), newLatch(workers), newLatch(100), newLatch(workers)
					var ended sync.WaitGroup
					for range workers {
						ended.Go(func() {
							hold(t, s, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
								started.hit()
								<-release
								must(t, w.Schedule(tasksOf(1, later.hit)...))
							}})
						})
					}
					started.wait(t)
					must(t, s.Schedule(tasksOf(100, ran.hit)...))
					end := make(chan error, 1)
					go func() { end <- s.Shutdown(context.Background()) }()
					ran.wait(t)
					time.Sleep(time.Hour)
					if len(end) != 0 {
						t.Fatal("Shutdown has returned before the stalled callbacks")
					}
					close(release)
					must(t, <-end)
					if n := later.left.Load(); n != 0 {
						t.Errorf("%d tasks have not run", n)
					}
					ended.Wait()
				})
			})
		}
	}
}

// TestStallCloseReturnsQueuedTasks checks that Close returns the queued tasks, and that Join
// waits for stalled callbacks.
func TestStallCloseReturnsQueuedTasks(t *testing.T) {
	for _, stalled := range []bool{false, true} {
		t.Run(fmt.Sprintf("stalled=%t", stalled), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: 1, StallAfter: stallAfter})
				must(t, err)
				release, first := make(chan struct{}), newLatch(1)
				must(t, s.Go(func() {
					if stalled {
						must(t, s.Go(first.hit))
						first.wait(t)
					} else {
						first.hit()
					}
					<-release
				}))
				first.wait(t)
				if n := s.Stats().Stalled; (n == 1) != stalled {
					t.Errorf("%d places are stalled", n)
				}
				second := newLatch(1)
				must(t, s.Go(func() { second.hit(); <-release }))
				if stalled {
					second.wait(t)
				}
				must(t, s.Schedule(tasksOf(5, func() { t.Error("a task ran after Close") })...))
				back, err := s.Close()
				must(t, err)
				if want := map[bool]int{false: 6, true: 5}[stalled]; len(back) != want {
					t.Errorf("Close returned %d tasks, want %d", len(back), want)
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				_, err = s.Join(ctx)
				mustBe(t, err, context.DeadlineExceeded)
				close(release)
				_, err = s.Join(within(t))
				must(t, err)
			})
		})
	}
}

// TestStallMonitorEndsAtOnce checks that Shutdown, Close and Join do not wait for the next round
// of the stall monitor.
func TestStallMonitorEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(s *sched.Scheduler) error{
			func(s *sched.Scheduler) error { return s.Shutdown(context.Background()) },
			func(s *sched.Scheduler) error {
				if _, err := s.Close(); err != nil {
					return err
				}
				_, err := s.Join(context.Background())
				return err
			},
		} {
			s, err := sched.New(sched.Config{MaxWorkers: 1, StallAfter: time.Hour})
			must(t, err)
			l := newLatch(2)
			must(t, s.Schedule(tasksOf(2, l.hit)...))
			l.wait(t)
			if !s.StallMonitorRuns() {
				t.Error("the stall monitor does not run")
			}
			begin := time.Now()
			must(t, end(s))
			if d := time.Since(begin); d != 0 {
				t.Errorf("the end took %v, want 0s", d)
			}
		}
	})
}

// TestStallMarksComputation checks that a callback is replaced that computes without a point
// where Go switches goroutines by itself.
func TestStallMarksComputation(t *testing.T) {
	needsPreemption(t)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, StallAfter: time.Millisecond})
	var ran atomic.Bool
	l := newLatch(1)
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		must(t, w.Schedule(tasksOf(1, func() { ran.Store(true) })...))
		for !ran.Load() {
		}
		l.hit()
	}}))
	l.wait(t)
}

// TestStallRandomCallbacks checks in real time that each task runs once and that the scheduler
// ends, although random callbacks stall. StallAfter is about as long as the callbacks run.
func TestStallRandomCallbacks(t *testing.T) {
	rng := newRand(t)
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		c := sched.Config{
			MaxWorkers: 1 + rng.IntN(3),
			StallAfter: time.Duration(1+rng.IntN(200)) * time.Microsecond,
			OnPanic:    func(*sched.Task, any, []byte) {},
		}
		if rng.IntN(3) == 0 {
			c.Spawner = new(failsAfterFirst) // this one does not fail, but the scheduler must expect it
		}
		s, err := sched.New(c)
		must(t, err)
		p := &stallProgram{t: t, s: s}
		var callers sync.WaitGroup
		for range 3 {
			rng := rand.New(rand.NewPCG(rng.Uint64(), 0))
			callers.Go(func() {
				for range 30 {
					p.start(rng)
				}
			})
		}
		callers.Wait()
		p.tasks.Wait()
		if rng.IntN(2) == 0 {
			must(t, s.Shutdown(within(t)))
		} else {
			tasks, err := s.Close()
			must(t, err)
			more, err := s.Join(within(t))
			must(t, err)
			if n := len(tasks) + len(more); n != 0 {
				t.Errorf("Close and Join returned %d tasks, want 0", n)
			}
		}
		if a, r := p.accepted.Load(), p.ran.Load(); a != r {
			t.Fatalf("round %d: %d tasks were accepted, %d ran", round, a, r)
		}
	}
}

// stallProgram is one round of TestStallRandomCallbacks.
type stallProgram struct {
	t             *testing.T
	s             *sched.Scheduler
	accepted, ran atomic.Int64
	tasks         sync.WaitGroup
}

// start runs a random task through a random method of the scheduler.
func (p *stallProgram) start(rng *rand.Rand) {
	task := p.task(rng.Uint64(), 3)
	switch rng.IntN(4) {
	case 0:
		if err := p.s.Do(task); err != nil && !errors.Is(err, sched.ErrGoexit) {
			p.t.Error(err)
		}
	case 1:
		g := p.s.NewGroup(sched.GroupConfig{})
		must(p.t, g.Schedule(nil, task))
		if err := g.Wait(); err != nil {
			p.t.Error(err)
		}
	default:
		must(p.t, p.s.Schedule(task))
	}
}

// task returns a task with random actions. It schedules other tasks unless depth is 0.
func (p *stallProgram) task(seed uint64, depth int) *sched.Task {
	p.accepted.Add(1)
	p.tasks.Add(1)
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		rng := rand.New(rand.NewPCG(seed, 1))
		defer p.tasks.Done()
		p.ran.Add(1)
		for range rng.IntN(4) {
			p.act(rng, w, depth)
		}
	}}
}

// act performs one random action of a task: compute, block, wait, or schedule.
func (p *stallProgram) act(rng *rand.Rand, w *sched.Worker, depth int) {
	pause := func() {
		for end := time.Now().Add(time.Duration(rng.IntN(300)) * time.Microsecond); time.Now().Before(end); {
			if rng.IntN(2) == 0 {
				runtime.Gosched()
			}
		}
	}
	switch n := rng.IntN(6); {
	case n == 0:
		w.Blocking(pause)
	case n < 3 || depth == 0:
		pause()
	case n == 3:
		var g sched.Group
		must(p.t, g.Schedule(w, p.task(rng.Uint64(), depth-1), p.task(rng.Uint64(), depth-1)))
		must(p.t, w.Wait(&g))
	default:
		must(p.t, w.Schedule(p.task(rng.Uint64(), depth-1)))
	}
}
