package sched_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestForksReachIdleWorkers: another worker takes forks of a computation that lasts
// although the computation does not notify when it begins.
func TestForksReachIdleWorkers(t *testing.T) {
	processors(t, 2) // one would make the result depend on when the runtime preempts the body
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 10 {
		// A fork monitor runs then in most rounds. The worker that it woke has parked.
		sched.ForkJoin(s, fib, 2)
		for round := 0; round < 5000 && s.Stats().Parked == 0; round++ {
			runtime.Gosched()
		}
		var taken atomic.Bool
		var root *sched.Worker
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			if f.Worker() != root {
				taken.Store(true)
			}
			if n < 2 {
				return n
			}
			f.Fork(n - 2)
			return body(f, n-1) + joined(f, body, n-2)
		}
		sched.ForkJoin(s, func(f *ints, n int) int {
			if n >= 0 {
				return body(f, n)
			}
			root = f.Worker()
			until("a worker takes a fork", func() bool { return body(f, 25) == 75025 && taken.Load() })
			return 0
		}, -1)
		until("the fork monitor ends", func() bool { return !s.ForkMonitorRuns() })
	}
}

// TestForkMonitorEnds: the fork monitor ends during a computation that does not answer its
// request. It also ends in a synctest bubble, where time stands still until it has ended.
func TestForkMonitorEnds(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 3 {
		sched.ForkJoin(s, func(*ints, int) int {
			until("the fork monitor ends", func() bool { return !s.ForkMonitorRuns() })
			return 0
		}, 0)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 2})
		must(t, err)
		sched.ForkJoin(s, func(f *ints, n int) int {
			time.Sleep(time.Hour)
			return f.Worker().ID()
		}, 0)
		must(t, s.Shutdown(context.Background()))
	})
}
