package sched_test

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestLockOSThread: with Config.LockOSThread a worker keeps a thread of its own, also on one
// processor.
func TestLockOSThread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := newScheduler(t, sched.Config{MaxWorkers: 1, LockOSThread: true})
	own := 0
	for range 200 {
		got := make(chan int, 1)
		must(t, s.Go(func() {
			runtime.Gosched()
			got <- syscall.Gettid()
		}))
		tid := <-got
		if own == 0 {
			own = tid
		}
		if tid != own {
			t.Fatalf("the worker moved from thread %d to %d", own, tid)
		}
		if mine := syscall.Gettid(); mine == own {
			t.Fatalf("the caller runs on thread %d, which is the worker's", mine)
		}
	}
	// A callback that blocks keeps its thread, and another thread runs the other tasks.
	l := newLatch(2)
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		before := syscall.Gettid()
		w.Blocking(func() {
			if err := s.Go(l.hit); err != nil {
				t.Error(err)
			}
			for l.left.Load() == 2 {
				runtime.Gosched()
			}
		})
		if after := syscall.Gettid(); after != before {
			t.Errorf("the callback moved from thread %d to %d", before, after)
		}
		l.hit()
	}}))
	l.wait(t)
}
