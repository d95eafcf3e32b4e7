package sched_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/lanewright/lanewright/sched"
)

// TestOnIdle: OnIdle is called before a park, and may schedule tasks. Z-100.
func TestOnIdle(t *testing.T) {
	var calls atomic.Int64
	l := newLatch(1)
	fromHook := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		if calls.Add(1) == 1 {
			if err := w.Schedule(fromHook); err != nil {
				t.Error(err)
			}
		}
	}})
	must(t, s.Go(func() {}))
	l.wait(t)
}

// TestOnIdleOncePerPark: a worker that holds a place and found no task calls OnIdle once before
// each park. A worker whose wake-up finds no task parks again without a search, and so without
// OnIdle. Z-100.
func TestOnIdleOncePerPark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Uint64
		var s *sched.Scheduler
		s, err := sched.New(sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
			if w.ID() != 0 || s.AnyQueued() {
				t.Errorf("the hook runs with ID %d, tasks queued: %v", w.ID(), s.AnyQueued())
			}
			// Each park so far followed a call of its own.
			if seen := s.Stats().Parks; seen != calls.Add(1)-1 {
				t.Errorf("call %d of the hook after %d parks", calls.Load(), seen)
			}
		}})
		must(t, err)
		for i := range uint64(100) {
			for range 1 + i%3 {
				must(t, s.Go(func() {}))
			}
			synctest.Wait()
			if st := s.Stats(); st.Parked != 1 || st.Held != 0 || st.Parks != calls.Load()+st.EmptyWakes {
				t.Fatalf("%d calls of the hook, Stats = %+v", calls.Load(), st)
			}
		}
		if calls.Load() < 100 {
			t.Errorf("%d calls of the hook in 100 idle periods", calls.Load())
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// idleRefusals are the calls that the hook OnIdle may not make, with the text of their panic. The
// group g has a task that has not finished, and full has a function at its limit. Those come first that
// return if they are not refused.
var idleRefusals = []struct {
	name, want string
	call       func(w *sched.Worker, g, full *sched.Group)
}{
	{"Worker.Blocking", refusesToBlock, func(w *sched.Worker, _, _ *sched.Group) { w.Blocking(func() {}) }},
	{"Scheduler.Blocking", refusesToBlock, func(w *sched.Worker, _, _ *sched.Group) {
		w.Scheduler().Blocking(func() {})
	}},
	{"Do", "sched: Do: called from Config.OnIdle", func(w *sched.Worker, _, _ *sched.Group) {
		_ = w.Scheduler().Do(noTask())
	}},
	{"TryDo", "sched: Do: called from Config.OnIdle", func(w *sched.Worker, _, _ *sched.Group) {
		_, _ = w.Scheduler().TryDo(noTask())
	}},
	{"ForkJoin", "sched: ForkJoin: called from Config.OnIdle", func(w *sched.Worker, _, _ *sched.Group) {
		sched.ForkJoin(w.Scheduler(), fib, 3)
	}},
	{"Worker.Wait", "sched: Worker.Wait: called from Config.OnIdle", func(w *sched.Worker, g, _ *sched.Group) {
		_ = w.Wait(g)
	}},
	{"WaitContext", "sched: Worker.Wait: called from Config.OnIdle", func(w *sched.Worker, g, _ *sched.Group) {
		_ = g.WaitContext(w.Context(context.Background()))
	}},
	{"Group.Wait", refusesToBlock, func(_ *sched.Worker, g, _ *sched.Group) { _ = g.Wait() }},
	{"Group.Go", refusesToBlock, func(_ *sched.Worker, _, full *sched.Group) { full.Go(func() error { return nil }) }},
}

const refusesToBlock = "sched: Blocking, Wait, or Do called from Config.OnIdle"

// TestOnIdleRefusesToBlock: a call that would block the hook, or run a task in it, panics with its
// reason. The worker keeps its place, and runs the task that the hook has scheduled. Z-100.
func TestOnIdleRefusesToBlock(t *testing.T) {
	for _, refusal := range idleRefusals {
		t.Run(refusal.name, func(t *testing.T) {
			calls, got := 0, make(chan any, 1)
			s := openScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
				if calls++; calls > 1 {
					return
				}
				s := w.Scheduler()
				g, full := s.NewGroup(sched.GroupConfig{}), s.NewGroup(sched.GroupConfig{Limit: 1})
				if err := g.Schedule(w, noTask()); err != nil {
					t.Error(err)
				}
				full.Go(func() error { return nil })
				r := panicOf(func() { refusal.call(w, g, full) })
				if w.ID() != 0 || g.Done() || full.Done() {
					t.Errorf("after the refusal the hook has the place %d, the groups are done: %t, %t", w.ID(), g.Done(), full.Done())
				}
				got <- r
			}})
			must(t, s.Go(func() {}))
			if r := <-got; r != refusal.want {
				t.Errorf("got %v, want %q", r, refusal.want)
			}
			atRest(t, s)
			if st := s.Stats(); st.Executed != 3 {
				t.Errorf("%d tasks have run, want 3", st.Executed)
			}
		})
	}
}

// TestOnIdleMayNotEndTheScheduler: the hook is inside a callback for the calls that end the
// scheduler, and for Run: they return ErrInCallback. Z-100.
func TestOnIdleMayNotEndTheScheduler(t *testing.T) {
	got := make(chan error, 4)
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		if len(got) > 0 {
			return
		}
		s, ctx := w.Scheduler(), context.Background()
		_, closed := s.Close()
		_, joined := s.Join(ctx)
		for _, err := range []error{closed, joined, s.Shutdown(ctx), s.Run(ctx)} {
			got <- err
		}
	}})
	must(t, s.Go(func() {}))
	until("the hook has run", func() bool { return len(got) == cap(got) })
	atRest(t, s)
	for range cap(got) {
		mustBe(t, <-got, sched.ErrInCallback)
	}
}

// TestAbnormalEndOfOnIdle: a hook that panics or calls runtime.Goexit ends its worker. The worker
// returns its place and leaves the worker count. The task that the hook has scheduled runs on another
// worker. The panic passes to the caller of Run. Z-100.
func TestAbnormalEndOfOnIdle(t *testing.T) {
	for _, tc := range []struct {
		name  string
		inRun bool
		end   func()
		value any
	}{
		{"Goexit", false, runtime.Goexit, nil},
		{"Goexit in a Run", true, runtime.Goexit, nil},
		{"panic in a Run", true, func() { panic("of the hook") }, "of the hook"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, ran := 0, 0
				s, err := sched.New(sched.Config{MaxWorkers: 1, IdleTimeout: -1, OnIdle: func(w *sched.Worker) {
					if calls++; calls == 1 {
						if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}); err != nil {
							t.Error(err)
						}
						tc.end()
					}
				}})
				must(t, err)
				var value any
				spawns := uint64(1)
				if tc.inRun {
					go func() {
						defer func() { value = recover() }()
						_ = s.Run(context.Background())
						t.Error("Run has returned")
					}()
				} else {
					must(t, s.Go(func() {}))
					spawns++
				}
				synctest.Wait()
				st := s.Stats()
				if ran != 1 || calls != 2 || st.Workers != 1 || st.Parked != 1 || st.Held != 0 || st.Spawns != spawns {
					t.Errorf("%d tasks of the hook have run, %d calls of the hook: %+v", ran, calls, st)
				}
				if value != tc.value {
					t.Errorf("the caller of Run recovers %v, want %v", value, tc.value)
				}
				must(t, s.Shutdown(context.Background()))
			})
		})
	}
}

// TestOnIdlePolls: OnIdle may be the only source of tasks: each call schedules the tasks that
// have become ready. Z-100.
func TestOnIdlePolls(t *testing.T) {
	const n = 1000
	for _, workers := range []int{1, 3} {
		l := newLatch(n)
		var left atomic.Int64
		left.Store(n)
		s := newScheduler(t, sched.Config{MaxWorkers: workers, OnIdle: func(w *sched.Worker) {
			if left.Add(-1) < 0 {
				return
			}
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
				t.Error(err)
			}
		}})
		must(t, s.Go(func() {}))
		l.wait(t)
	}
}

// TestIdleHour: without an IdleTimeout, an hour without tasks changes no counter, and the workers
// run the tasks that follow it. Z-013. V-17b.
func TestIdleHour(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 8, IdleTimeout: -1})
		must(t, err)
		for range 3 {
			l := newLatch(n)
			for range n {
				must(t, s.Go(l.hit))
			}
			<-l.done
			synctest.Wait()
			before := s.Stats()
			time.Sleep(time.Hour)
			if after := s.Stats(); after != before || after.Parked != after.Workers {
				t.Errorf("an idle hour changed the counters from %+v to %+v", before, after)
			}
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestSchedulerInABubble: the workers of a scheduler in a synctest bubble park durably, so that
// an idle hour costs nothing. Shutdown leaves no goroutine behind.
func TestSchedulerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 4})
		must(t, err)
		for range 5 {
			g := s.NewGroup(sched.GroupConfig{})
			for range 100 {
				g.Go(func() error { return nil })
			}
			must(t, g.Wait())
			time.Sleep(time.Hour) //nolint:forbidigo // fake time
			synctest.Wait()
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// idleTimeout is the IdleTimeout of the tests, in the time of a bubble.
const idleTimeout = time.Minute

// TestIdleWorkersEnd: the workers end when all of them have been parked for one to two times
// IdleTimeout, and the next task starts one. No worker ends earlier, however many tasks come in
// between.
func TestIdleWorkersEnd(t *testing.T) {
	for _, timeout := range []time.Duration{0, idleTimeout} {
		synctest.Test(t, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 4, IdleTimeout: timeout})
			must(t, err)
			if timeout == 0 {
				timeout = sched.DefaultIdleTimeout
			}
			for round := range uint64(3) {
				all := newLatch(4)
				for range 4 { // on four workers
					must(t, s.Go(func() { all.hit(); <-all.done }))
				}
				all.wait(t)
				synctest.Wait()
				for range 20 {
					must(t, s.Go(func() {}))
					time.Sleep(timeout - 1)
					if st := s.Stats(); st.Workers != 4 || st.Parked != 4 || st.Spawns != 4*(round+1) {
						t.Fatalf("before the IdleTimeout: %+v", st)
					}
				}
				time.Sleep(timeout + 1)
				synctest.Wait()
				if st := s.Stats(); st.Workers != 0 || st.Parked != 0 || st.Held != 0 || s.IdleTimerRuns() {
					t.Fatalf("after two IdleTimeouts: the timer runs: %t, %+v", s.IdleTimerRuns(), st)
				}
			}
			must(t, s.Shutdown(context.Background()))
		})
	}
}

// TestForgottenSchedulerEnds: a scheduler that its program does not end has no goroutine left
// after two IdleTimeouts. The bubble would not end otherwise.
func TestForgottenSchedulerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			var s sched.Scheduler
			g := s.NewGroup(sched.GroupConfig{})
			for range 8 {
				g.Go(func() error { return nil })
			}
			must(t, g.Wait())
		}
		time.Sleep(2*sched.DefaultIdleTimeout + time.Second)
	})
}

// TestForgottenSchedulerIsCollected: the garbage collector frees a scheduler whose workers have
// ended.
func TestForgottenSchedulerIsCollected(t *testing.T) {
	forgotten := func() weak.Pointer[sched.Scheduler] {
		s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: time.Microsecond})
		must(t, err)
		must(t, s.Go(func() {}))
		return weak.Make(s)
	}()
	until("the scheduler is collected", func() bool {
		runtime.GC()
		return forgotten.Value() == nil
	})
}

// TestIdleTimeoutWaitsForCallbacks: no worker ends while a callback holds its place, and all end
// after the callback.
func TestIdleTimeoutWaitsForCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: idleTimeout})
		must(t, err)
		begun := newLatch(2)
		must(t, s.Go(func() { begun.hit(); <-begun.done; time.Sleep(10 * idleTimeout) }))
		must(t, s.Go(func() { begun.hit(); <-begun.done }))
		time.Sleep(9 * idleTimeout)
		if st := s.Stats(); st.Workers != 2 || st.Parked != 1 {
			t.Errorf("during the callback: %+v", st)
		}
		time.Sleep(3*idleTimeout + 1)
		synctest.Wait()
		if st := s.Stats(); st.Workers != 0 {
			t.Errorf("after the callback: %+v", st)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestIdleTimeoutAfterAWorkerLeaves: the parked workers end also when the last worker that was busy
// when the timer ended does not park, but leaves.
func TestIdleTimeoutAfterAWorkerLeaves(t *testing.T) {
	for name, end := range map[string]func(cancel func()){
		"Goexit":               func(func()) { runtime.Goexit() },
		"the context of a Run": func(cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: idleTimeout})
				must(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if name != "Goexit" {
					go func() { _ = s.Run(ctx) }()
					synctest.Wait()
				}
				begun, short := newLatch(2), make(chan struct{})
				long := func() { begun.hit(); <-short; time.Sleep(10 * idleTimeout); end(cancel) }
				// The caller of Run takes the first task.
				must(t, s.Go(long))
				must(t, s.Go(func() { begun.hit(); close(short) }))
				time.Sleep(13 * idleTimeout)
				synctest.Wait()
				if st := s.Stats(); st.Workers != 0 || st.Running != 0 || s.IdleTimerRuns() {
					t.Errorf("after the worker has left: the timer runs: %t, %+v", s.IdleTimerRuns(), st)
				}
				must(t, s.Shutdown(context.Background()))
			})
		})
	}
}

// TestIdleTimeoutKeepsARun: a Run does not end with the IdleTimeout, and the timer does not
// start again for it.
func TestIdleTimeoutKeepsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: idleTimeout})
		must(t, err)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(context.Background()) }()
		synctest.Wait()
		for range 3 {
			must(t, s.Go(func() {}))
			time.Sleep(2*idleTimeout + 1)
			synctest.Wait()
			before := s.Stats()
			if before.Workers != 1 || before.Parked != 1 || s.IdleTimerRuns() {
				t.Fatalf("the timer runs: %t, %+v", s.IdleTimerRuns(), before)
			}
			time.Sleep(100 * idleTimeout)
			if after := s.Stats(); after != before {
				t.Fatalf("the counters changed from %+v to %+v", before, after)
			}
		}
		must(t, s.Shutdown(context.Background()))
		must(t, <-ended)
	})
}

// TestRunStartsTheIdleTimer: the worker of a Run that has taken the wake token with which another
// worker should have ended starts the timer, which then lets that worker end.
func TestRunStartsTheIdleTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := func(*sched.Worker) {} // the worker does not linger
		s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: idleTimeout, OnIdle: hook})
		must(t, err)
		go func() { _ = s.Run(context.Background()) }()
		time.Sleep(2 * idleTimeout)
		if synctest.Wait(); s.IdleTimerRuns() {
			t.Error("the timer runs for a Run alone")
		}
		s.PostIdleEnd()
		if synctest.Wait(); !s.IdleTimerRuns() {
			t.Error("the timer does not run after a Run has taken a wake token")
		}
		time.Sleep(2 * idleTimeout)
		if st := s.Stats(); st.Workers != 1 || s.IdleTimerRuns() {
			t.Errorf("two IdleTimeouts later the timer runs: %t, %+v", s.IdleTimerRuns(), st)
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestIdleTimerStops: the end of a scheduler stops its timer, which would keep the scheduler
// reachable for as long as its IdleTimeout.
func TestIdleTimerStops(t *testing.T) {
	ended := func() weak.Pointer[sched.Scheduler] {
		s, err := sched.New(sched.Config{MaxWorkers: 2, IdleTimeout: time.Hour})
		must(t, err)
		must(t, s.Go(func() {}))
		must(t, s.Shutdown(within(t)))
		return weak.Make(s)
	}()
	until("the scheduler is collected", func() bool {
		runtime.GC()
		return ended.Value() == nil
	})
}
