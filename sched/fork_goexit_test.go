package sched_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinGoexit: a Goexit of a fork continues at the join of the fork after all begun
// forks have ended, and the scheduler keeps all its places.
func TestForkJoinGoexit(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 3})
	exits := func(t *testing.T, body func(f *ints, n int) int) {
		t.Helper()
		for range 20 {
			if e := endOf(t, func() { sched.ForkJoin(s, body, 0) }); !e.exited {
				t.Fatalf("ending %+v, want Goexit", e)
			}
			works(t, s)
		}
	}
	t.Run("of the root", func(t *testing.T) {
		exits(t, func(f *ints, _ int) int { f.Fork(1); runtime.Goexit(); return 0 })
	})
	t.Run("of another worker", func(t *testing.T) {
		var begun atomic.Bool
		exits(t, func(f *ints, n int) int {
			if n == 1 {
				begun.Store(true)
				runtime.Goexit()
			}
			begun.Store(false)
			handOver(f, 1, &begun)
			return joined(f, fib, 1)
		})
	})
	// The fork of a fork calls Goexit. It may run on top of a root that waits.
	t.Run("in a join", func(t *testing.T) {
		var begun, exited atomic.Bool
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			switch n {
			case 0:
				begun.Store(false)
				exited.Store(false)
				handOver(f, 1, &begun)
			case 1:
				f.Worker().SetDemand()
				f.Fork(2)
				begun.Store(true)
				until("the fork has ended", exited.Load)
			case 2:
				exited.Store(true)
				runtime.Goexit()
			}
			return joined(f, body, n+1)
		}
		exits(t, body)
	})
	// One worker unwinds and waits for another one, whose fork calls Goexit as well. That
	// fork does not run on top of the body that unwinds.
	t.Run("while one unwinds", func(t *testing.T) {
		var begun [4]atomic.Bool
		var queued atomic.Bool
		var body func(f *ints, n int) int
		body = func(f *ints, n int) int {
			switch n {
			case 0:
				queued.Store(false)
				for i := range begun {
					begun[i].Store(false)
				}
				handOver(f, 1, &begun[1])
				until("the other worker waits or runs the fork", func() bool { return s.Blocked() > 0 || begun[3].Load() })
			case 1:
				begun[1].Store(true)
				handOver(f, 2, &begun[2])
				until("a fork is queued", queued.Load)
				runtime.Goexit()
			case 2:
				begun[2].Store(true)
				f.Worker().SetDemand()
				f.Fork(3)
				queued.Store(true)
				until("the fork is run", begun[3].Load)
			case 3:
				begun[3].Store(true)
				runtime.Goexit()
			}
			return joined(f, body, n+1)
		}
		exits(t, body)
	})
	// The same case with a root that unwinds.
	t.Run("while the root unwinds", func(t *testing.T) {
		var begun, queued, exited atomic.Bool
		s := newScheduler(t, sched.Config{MaxWorkers: 2})
		for range 20 {
			begun.Store(false)
			queued.Store(false)
			exited.Store(false)
			var ended atomic.Bool
			r := panicOf(func() {
				defer func() {
					if !ended.Load() {
						t.Error("ForkJoin has unwound while a fork runs")
					}
				}()
				sched.ForkJoin(s, func(f *ints, n int) int {
					switch n {
					case 0:
						handOver(f, 1, &begun)
						until("a fork is queued", queued.Load)
						panic("boom")
					case 1:
						begun.Store(true)
						f.Worker().SetDemand()
						f.Fork(2)
						queued.Store(true)
						until("the caller waits", func() bool { return s.Blocked() > 0 })
						ended.Store(true)
						return joined(f, func(*ints, int) int { return 0 }, 2)
					case 2:
						runtime.Goexit()
					}
					return 0
				}, 0)
			})
			if valueOf(r) != "boom" { // in a PanicError if queued tasks had precedence
				t.Fatalf("panic value %v, want boom", r)
			}
			works(t, s)
		}
	})
}
