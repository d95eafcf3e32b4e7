package sched_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// TestIdleHour: an hour without tasks changes no counter, and the workers run the tasks that
// follow it. Z-013. V-17b.
func TestIdleHour(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 8})
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
