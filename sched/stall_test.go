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

// What these tests check: "Config.StallAfter counts out the place of a worker that has
// run one task that long while work is queued: its place stays with the stalled goroutine and
// is stolen from, one more place is made for the time being, and the stalled one is emptied
// into injection and retired when its callback ends."

const stallAfter = 10 * time.Millisecond

// stalling returns a scheduler that counts out who stalls. When the bubble ends, it has to come
// to rest with all its places.
func stalling(t *testing.T, c sched.Config) *sched.Scheduler {
	t.Helper()
	c.StallAfter = stallAfter
	s, err := sched.New(c)
	must(t, err)
	t.Cleanup(func() {
		settles(t, s)
		must(t, s.Shutdown(within(t)))
	})
	return s
}

// settles checks that s comes to rest, in a bubble.
func settles(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	for s.StallMonitorRuns() {
		<-time.After(stallAfter) // in a bubble: it takes no time
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

// holders are the ways to hold a place while task runs. They return when it has ended.
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
			must(t, w.Wait(&g)) // on top of this one
		}}))
	},
}

// TestStall: callbacks that block without telling, on all places, stop neither what they
// have queued themselves, in the ring and beyond it, nor what comes from outside before and
// after. When they end, everything is as it was.
func TestStall(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for name, hold := range holders {
			t.Run(fmt.Sprintf("%s/%d", name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := stalling(t, sched.Config{MaxWorkers: workers})
					const own, before, after = 700, 3, 300
					release, started, ran := make(chan struct{}), newLatch(workers), newLatch(workers*own+before+after)
					gate := newLatch(1)
					var ended sync.WaitGroup
					for range workers {
						ended.Go(func() {
							hold(t, s, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
								started.hit()
								<-gate.done // until all are running
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
						t.Errorf("the tasks ran within %v, want %v", d, 2*stallAfter)
					}
					if st := s.Stats(); st.Stalls != 1 || st.Stalled != 1 || st.Places != workers+1 {
						t.Errorf("one place more is enough: %+v", st)
					}
					close(release)
					ended.Wait()
				})
			})
		}
	}
}

// TestStallIsOff: by default nobody is counted out.
func TestStallIsOff(t *testing.T) {
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

func TestStallAfterIsChecked(t *testing.T) {
	if _, err := sched.New(sched.Config{StallAfter: -1}); err == nil || !strings.Contains(err.Error(), "Config.StallAfter") {
		t.Errorf("New = %v", err)
	}
}

// TestStallTakesOneTask: tasks that are shorter than StallAfter are not counted out,
// however many come one after the other, and whatever a look of the watch finds of them; one
// that is twice as long is, also when it comes in the middle.
func TestStallTakesOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 2})
		for _, length := range []time.Duration{stallAfter / 100, stallAfter / 3, stallAfter - 1} {
			ran := newLatch(100)
			must(t, s.Schedule(tasksOf(100, func() { time.Sleep(length); ran.hit() })...))
			ran.wait(t)
			if n := s.Stats().Stalls; n != 0 {
				t.Errorf("%d workers were counted out, with tasks of %v", n, length)
			}
		}
		ran := newLatch(511)
		short := func() { time.Sleep(stallAfter / 3); ran.hit() }
		must(t, s.Schedule(tasksOf(10, short)...))
		must(t, s.Schedule(tasksOf(1, func() { time.Sleep(2*stallAfter + 1); ran.hit() })...))
		must(t, s.Schedule(tasksOf(500, short)...))
		ran.wait(t)
		if n := s.Stats().Stalls; n != 1 {
			t.Errorf("%d workers were counted out, want the one of the long task", n)
		}
	})
}

// TestStallNeedsWork: a callback may run for ever while nothing is queued, and nothing
// ticks meanwhile; when something comes, it is seen.
func TestStallNeedsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 1})
		release, started := make(chan struct{}), newLatch(1)
		must(t, s.Go(func() { started.hit(); <-release }))
		started.wait(t)
		for range 3 {
			time.Sleep(stallAfter + 1) // a look after the last work, and no more
			synctest.Wait()
			if s.StallMonitorRuns() {
				t.Fatal("the watch runs, and nothing is queued")
			}
			if st := s.Stats(); st.Stalls != 0 {
				t.Fatalf("counted out for nothing: %+v", st)
			}
			time.Sleep(time.Hour)
		}
		begin, ran := time.Now(), newLatch(1)
		must(t, s.Go(ran.hit))
		ran.wait(t)
		if d := time.Since(begin); d > 2*stallAfter {
			t.Errorf("the task ran after %v, want %v", d, 2*stallAfter)
		}
		close(release)
	})
}

// TestStallAgain: stalls that follow each other use the same places, and afterwards no
// more than MaxWorkers tasks run at once, with IDs below that.
func TestStallAgain(t *testing.T) {
	const workers = 2
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: workers})
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
		settles(t, s)
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
					t.Errorf("ID = %d, and there are %v", id, ids)
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
			t.Errorf("%d more were counted out", n-st.Stalls)
		}
	})
}

// TestStallGivesPlacesBack: the places below MaxWorkers come to be used again, as the others
// have no ID, and share the counters of groups.
func TestStallGivesPlacesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 1})
		release, blocked, ended := make(chan struct{}), newLatch(1), newLatch(1)
		must(t, s.Go(func() { blocked.hit(); <-release; ended.hit() }))
		blocked.wait(t)
		ids := make(chan int, 1)
		id := func(w *sched.Worker, _ *sched.Task) { ids <- w.ID() }
		must(t, s.Schedule(&sched.Task{Fn: id}))
		if got := <-ids; got != -1 {
			t.Errorf("beside a stalled callback ID = %d, want -1", got)
		}
		close(release)
		ended.wait(t)
		synctest.Wait()
		must(t, s.Do(&sched.Task{Fn: id}))
		<-ids // perhaps the one that is left over
		must(t, s.Do(&sched.Task{Fn: id}))
		if got := <-ids; got != 0 {
			t.Errorf("afterwards ID = %d, want 0", got)
		}
	})
}

// TestStallLimit: beyond the limit callbacks do stop what is queued.
func TestStallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 1})
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

// TestStallGroup: tasks of a group are counted at the stalled place, at the one that was
// made, and without any; the Wait ends with the last of them.
func TestStallGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 1})
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
			t.Error("Wait returned too early")
		}
	})
}

// afterStall is what a callback may do after it was counted out: schedule, block, wait,
// call Do, and fork.
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
	"wait outside": func(t *testing.T, w *sched.Worker, tasks []*sched.Task) {
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

// TestStallThenMore: a callback that was counted out goes on with all that callbacks may do.
func TestStallThenMore(t *testing.T) {
	for name, more := range afterStall {
		for kind, hold := range holders {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := stalling(t, sched.Config{MaxWorkers: 1})
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

// TestStallUnwinds: a callback that was counted out panics, or calls Goexit.
func TestStallUnwinds(t *testing.T) {
	for name, unwind := range map[string]func(){"panic": func() { panic("planned") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var panics atomic.Int32
			config := sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { panics.Add(1) }}
			synctest.Test(t, func(t *testing.T) {
				s := stalling(t, config)
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

// failsFor is a Spawner that starts a worker, and then fails n times.
type failsFor struct {
	n       atomic.Int32
	started atomic.Bool
}

func (f *failsFor) Spawn(run func()) error {
	if f.started.Swap(true) && f.n.Add(-1) >= 0 {
		return errors.New("planned")
	}
	go run()
	return nil
}

// TestStallSpawnerFails: the watch asks the Spawner at each look.
func TestStallSpawnerFails(t *testing.T) {
	const failures = 5
	spawner := new(failsFor)
	spawner.n.Store(failures)
	synctest.Test(t, func(t *testing.T) {
		s := stalling(t, sched.Config{MaxWorkers: 1, Spawner: spawner})
		release, started, ran := make(chan struct{}), newLatch(1), newLatch(1)
		must(t, s.Go(func() { started.hit(); <-release }))
		started.wait(t)
		begin := time.Now()
		must(t, s.Go(ran.hit))
		ran.wait(t)
		if d := time.Since(begin); d > (failures+2)*stallAfter {
			t.Errorf("the task ran after %v, want %v", d, (failures+2)*stallAfter)
		}
		if st := s.Stats(); st.SpawnFailures != failures || st.Stalls != 1 {
			t.Errorf("%+v", st)
		}
		close(release)
	})
}

// TestStallWaitWithoutWorkers: a Wait runs on the place that the stall has made, when no
// worker can be started, and so does Shutdown.
func TestStallWaitWithoutWorkers(t *testing.T) {
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

// TestStallShutdown: Shutdown runs what is queued although all callbacks stall, also what
// they queue then, and waits for them.
func TestStallShutdown(t *testing.T) {
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

// TestStallClose: Close hands back what is queued, and Join waits for stalled callbacks.
func TestStallClose(t *testing.T) {
	for _, counted := range []bool{false, true} {
		t.Run(fmt.Sprintf("counted=%t", counted), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: 1, StallAfter: stallAfter})
				must(t, err)
				release, first := make(chan struct{}), newLatch(1)
				must(t, s.Go(func() {
					if counted {
						must(t, s.Go(first.hit))
						first.wait(t)
					} else {
						first.hit()
					}
					<-release
				}))
				first.wait(t)
				if n := s.Stats().Stalled; (n == 1) != counted {
					t.Errorf("%d are counted out", n)
				}
				second := newLatch(1)
				must(t, s.Go(func() { second.hit(); <-release }))
				if counted {
					second.wait(t)
				}
				must(t, s.Schedule(tasksOf(5, func() { t.Error("a task ran after Close") })...))
				back, err := s.Close()
				must(t, err)
				if want := map[bool]int{false: 6, true: 5}[counted]; len(back) != want {
					t.Errorf("%d tasks came back, want %d", len(back), want)
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

// TestStallClosesAtOnce: nobody waits for the next look of the watch.
func TestStallClosesAtOnce(t *testing.T) {
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
				t.Error("the watch has not been started")
			}
			begin := time.Now()
			must(t, end(s))
			if d := time.Since(begin); d != 0 {
				t.Errorf("it took %v", d)
			}
		}
	})
}

// TestStallComputes: a callback that computes, and so never comes to a point where Go
// would switch by itself, is counted out as well.
func TestStallComputes(t *testing.T) {
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

// TestStallRandomly: random callbacks stall, or not, on random holders, in real time, while others
// come and go, and with a StallAfter of the length of what they do. Each task runs once, and
// the scheduler comes to rest with all its places.
func TestStallRandomly(t *testing.T) {
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
			c.Spawner = new(failsFor) // it does not, but might
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
				t.Errorf("%d tasks came back", n)
			}
		}
		if a, r := p.accepted.Load(), p.ran.Load(); a != r {
			t.Fatalf("round %d: %d tasks were accepted, %d ran", round, a, r)
		}
	}
}

// stallProgram is what TestStallRandomly does.
type stallProgram struct {
	t             *testing.T
	s             *sched.Scheduler
	accepted, ran atomic.Int64
	tasks         sync.WaitGroup
}

// start runs a random task in a random way.
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

// task returns a task that does random things, and schedules others unless depth is 0.
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
