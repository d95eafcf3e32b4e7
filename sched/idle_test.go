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
