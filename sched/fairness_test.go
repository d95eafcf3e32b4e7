package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestExternalCallersAreNotStarved: tasks of external callers run although tasks that reschedule
// themselves keep all workers busy.
func TestExternalCallersAreNotStarved(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var stop atomic.Bool
		for range 2 {
			task := &sched.Task{}
			task.Fn = func(w *sched.Worker, self *sched.Task) {
				if !stop.Load() {
					if err := w.Schedule(self); err != nil && !errors.Is(err, sched.ErrClosed) {
						t.Error(err)
					}
				}
			}
			must(t, s.Schedule(task))
		}
		l := newLatch(100)
		for range 100 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
		stop.Store(true)
	}
}

// TestSelfReschedulingSharesWorkers: tasks that reschedule themselves share the workers with
// external callers and with each other. Z-009.
func TestSelfReschedulingSharesWorkers(t *testing.T) {
	depth, calls := 100_000, 300
	if testing.Short() {
		depth, calls = 5_000, 30
	}
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		const chains = 3
		l := newLatch(chains)
		var left [chains]int // of each chain, whose task is queued once at a time
		for c := range chains {
			left[c] = depth
			task := &sched.Task{}
			task.Fn = func(w *sched.Worker, self *sched.Task) {
				if left[c]--; left[c] == 0 {
					l.hit()
					return
				}
				schedule := w.Schedule
				if left[c]%7 == c {
					schedule = s.Schedule
				}
				if err := schedule(self); err != nil {
					t.Error(err)
				}
			}
			must(t, s.Schedule(task))
		}
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for range calls {
					done := newLatch(2)
					if err := s.Go(done.hit); err != nil {
						t.Error(err)
					}
					if err := s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { done.hit() }}); err != nil {
						t.Error(err)
					}
					<-done.done
				}
			})
		}
		callers.Wait()
		l.wait(t)
	}
}

// TestFairTickPollsEachQueue: a task that always reschedules itself starves neither the
// injection queue nor the overflow queue of its place.
func TestFairTickPollsEachQueue(t *testing.T) {
	for _, tc := range []struct {
		name  string
		queue func(w *sched.Worker, other *sched.Task) error
	}{
		{"injection", func(w *sched.Worker, other *sched.Task) error {
			return w.Scheduler().Schedule(other)
		}},
		{"overflow", func(w *sched.Worker, other *sched.Task) error {
			err := w.Schedule(other) // the oldest task of the ring, which overflows first
			for range ringSize {
				err = errors.Join(err, w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
			}
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			other := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { cancel() }}
			turns := 0
			must(t, queuedOrNil(s.Schedule(&sched.Task{Fn: func(w *sched.Worker, self *sched.Task) {
				if turns++; turns == 1 {
					if err := tc.queue(w, other); err != nil {
						t.Error(err)
					}
				}
				if turns == 1000*fairEvery {
					t.Error("the other task has not run")
					cancel()
				}
				if err := w.Schedule(self); err != nil {
					t.Error(err)
				}
			}})))
			mustBe(t, s.Run(ctx), context.Canceled)
		})
	}
}

// TestFairTickStealsBehindLongCallback: a task that always reschedules itself on one worker
// does not starve a task that is queued behind a callback on the other worker, which waits.
func TestFairTickStealsBehindLongCallback(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2})
	schedule := func(w *sched.Worker, task *sched.Task) {
		if err := w.Schedule(task); err != nil {
			t.Error(err)
		}
	}
	begun, ended := newLatch(1), newLatch(1)
	var queued, stop atomic.Bool
	end := sync.OnceFunc(func() { stop.Store(true); ended.hit() })
	begin := sync.OnceFunc(begun.hit)
	turns := 0 // since the other task was queued
	spins := &sched.Task{Fn: func(w *sched.Worker, self *sched.Task) {
		begin()
		if queued.Load() {
			turns++
		}
		if turns == 100*stealEvery*fairEvery {
			t.Error("the task behind the callback has not run")
			end()
		}
		if !stop.Load() {
			schedule(w, self)
		}
	}}
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		if err := s.Schedule(spins); err != nil {
			t.Error(err)
		}
		<-begun.done
		schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { end() }})
		queued.Store(true)
		<-ended.done
	}}))
	ended.wait(t)
}

// TestOverflowQueueIsNotStarved: the tasks of the overflow queue run although neither the ring
// nor the injection queue is ever empty.
func TestOverflowQueueIsNotStarved(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	var stop atomic.Bool
	var turns atomic.Int64
	own, external := &sched.Task{}, &sched.Task{}
	own.Fn = func(w *sched.Worker, t *sched.Task) {
		turns.Add(1)
		if !stop.Load() {
			_ = w.Schedule(t)
		}
	}
	external.Fn = func(_ *sched.Worker, t *sched.Task) {
		if !stop.Load() {
			_ = s.Schedule(t)
		}
	}
	var ran atomic.Int64
	const n = 600
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		_ = s.Schedule(external)
		_ = w.Schedule(own)
		for range n {
			_ = w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})
		}
		_ = w.Schedule(&sched.Task{Fn: own.Fn})
	}}))
	for turns.Load() < 5_000_000 && ran.Load() < n {
		runtime.Gosched()
	}
	got := ran.Load()
	stop.Store(true)
	if got < n {
		t.Fatalf("after %d runs of the other tasks, %d of %d tasks of the overflow queue ran", turns.Load(), got, n)
	}
}

// TestLongCallsYield: a task from outside waits for a few calls of a goroutine that calls Do
// or ForkJoin again and again, even if each call takes long.
func TestLongCallsYield(t *testing.T) {
	for _, tc := range []struct {
		name string
		call func(s *sched.Scheduler, fn func()) error
	}{
		{"Do", func(s *sched.Scheduler, fn func()) error {
			return s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { fn() }})
		}},
		{"ForkJoin", func(s *sched.Scheduler, fn func()) error {
			sched.ForkJoin(s, func(*ints, int) int { fn(); return 0 }, 0)
			return nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 1})
			var ran atomic.Bool
			calls := 0
			for calls < 10 && !ran.Load() {
				must(t, tc.call(s, func() {
					if calls++; calls == 1 {
						must(t, s.Go(func() { ran.Store(true) }))
						until("the worker of the task finds no place", s.HasRefused)
					}
					for began := time.Now(); time.Since(began) < 4*time.Millisecond; {
						runtime.Gosched()
					}
				}))
			}
			// The worker of the task finds no place during the first call, and the second one
			// begins a millisecond later.
			if calls > 2 {
				t.Errorf("%d calls have begun before the task was seen, want 2 at most", calls)
			}
		})
	}
}

// TestLongCallsGiveUpTheProcessor: a caller of long calls gives up the processor between two calls, so
// that another goroutine runs while the caller holds no place. On a busy machine the operating system may have taken
// the processor away for a moment between two calls. The caller takes that for a pause, and does not yield then.
func TestLongCallsGiveUpTheProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var begun atomic.Bool        // the first call
	var turns, free atomic.Int64 // of the other goroutine since then: all, and those in which it found the place free
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if begun.Load() {
				turns.Add(1)
				ran, err := s.TryDo(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { free.Add(1) }})
				if err != nil {
					t.Errorf("TryDo: ran %t, error %v", ran, err)
					return
				}
			}
			runtime.Gosched()
		}
	})
	calls, computed := 0, 0
	for ; calls < 100 && free.Load() == 0; calls++ {
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			begun.Store(true)
			for began := time.Now(); time.Since(began) < 3*time.Millisecond; {
				computed += compute(int(began.UnixNano()))
			}
		}}))
	}
	close(stop)
	other.Wait()
	if free.Load() == 0 {
		t.Errorf("after %d calls (%d) the other goroutine has had %d turns, and has never found the place free", calls, computed, turns.Load())
	}
}

// compute takes some time. The Go runtime can preempt its caller at each call: a caller that only reads
// the clock would be preempted after its loop.
//
//go:noinline
func compute(seed int) (sum int) {
	var data [512]int // too large for a function without a check of the stack
	for i := range data {
		data[i] = seed ^ i
	}
	for _, x := range data {
		sum += x
	}
	return sum
}
