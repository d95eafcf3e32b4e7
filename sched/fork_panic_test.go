package sched_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// isRaised checks that r is a panic of value that another worker has raised in function.
func isRaised(t *testing.T, r, value any, function string) {
	t.Helper()
	err, ok := r.(*sched.PanicError)
	if !ok || err.Value != value || !strings.Contains(string(err.Stack), function) {
		t.Errorf("panic value %v, want a PanicError of %v in %s", r, value, function)
	}
}

// TestForkJoinPanics: a panic reaches the joiner through any number of workers after all
// other forks have ended. It has its value and the stack of the goroutine that raised it.
func TestForkJoinPanics(t *testing.T) {
	var s *sched.Scheduler
	var flags [4]atomic.Bool
	var running atomic.Int32
	var body func(f *ints, n int) int
	boom := func() any { return panicOf(func() { sched.ForkJoin(s, body, 0) }) }
	begin := func(fn func(f *ints, n int) int) {
		s = newScheduler(t, sched.Config{MaxWorkers: 4}) // new, so a place is free for the caller
		for i := range flags {
			flags[i].Store(false)
		}
		body = func(f *ints, n int) int {
			flags[n].Store(true)
			running.Add(1)
			defer running.Add(-1)
			return fn(f, n)
		}
	}
	end := func(t *testing.T) {
		t.Helper()
		if n := running.Load(); n != 0 {
			t.Errorf("%d bodies run after the end of ForkJoin", n)
		}
		works(t, s)
	}
	t.Run("of the root", func(t *testing.T) {
		begin(func(*ints, int) int { panic(&flags) })
		if r := boom(); r != &flags {
			t.Errorf("panic value %v, want the value itself", r)
		}
		end(t)
	})
	t.Run("of a fork that was taken back", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panic(&flags)
			}
			f.Fork(1)
			return joined(f, body, 1)
		})
		if r := boom(); r != &flags {
			t.Errorf("panic value %v, want the value itself", r)
		}
		end(t)
	})
	t.Run("of another worker", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panicHere()
			}
			handOver(f, 1, &flags[1])
			return joined(f, body, 1)
		})
		isRaised(t, boom(), "boom", "panicHere")
		end(t)
	})
	t.Run("through several workers", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 3 {
				panicHere()
			}
			handOver(f, n+1, &flags[n+1])
			return joined(f, body, n+1)
		})
		isRaised(t, boom(), "boom", "panicHere")
		end(t)
	})
	t.Run("of several workers", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n > 0 {
				until("all have begun", flags[3].Load)
				panic(n)
			}
			for i := 1; i <= 3; i++ {
				handOver(f, i, &flags[i])
			}
			return joined(f, body, 3)
		})
		isRaised(t, boom(), 3, "TestForkJoinPanics")
		end(t)
	})
	t.Run("recovered", func(t *testing.T) {
		begin(func(f *ints, n int) int {
			if n == 1 {
				panicHere()
			}
			handOver(f, 1, &flags[1])
			f.Fork(2)
			if n == 0 {
				sum := joined(f, func(*ints, int) int { return 5 }, 2)
				isRaised(t, panicOf(func() { sum += joined(f, body, 1) }), "boom", "panicHere")
				return sum + sched.ForkJoin(s, fib, 5)
			}
			return 0
		})
		body0 := body
		body = func(f *ints, n int) int {
			if n == 2 {
				return 5
			}
			return body0(f, n)
		}
		if got := sched.ForkJoin(s, body, 0); got != 10 {
			t.Errorf("got %d, want 10", got)
		}
		end(t)
	})
}

// TestForkJoinUnwindsAfterItsForks: the begun forks of a body that unwinds end before
// ForkJoin does. The forks that no worker has begun never run.
func TestForkJoinUnwindsAfterItsForks(t *testing.T) {
	for name, unwind := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: 2})
			var begun, ended, dropped atomic.Bool
			e := endOf(t, func() {
				defer func() {
					if !ended.Load() {
						t.Error("ForkJoin has unwound while a fork runs")
					}
				}()
				sched.ForkJoin(s, func(f *ints, n int) int {
					switch n {
					case 0:
						handOver(f, 1, &begun)
						f.Worker().SetDemand()
						f.Fork(2) // promoted
						f.Fork(2) // private
						unwind()
					case 1:
						begun.Store(true)
						until("the caller waits", func() bool { return s.Blocked() > 0 })
						ended.Store(true)
					case 2:
						dropped.Store(true)
					}
					return 0
				}, 0)
			})
			if e.exited != (name == "Goexit") || !e.exited && e.value != "boom" {
				t.Errorf("ending %+v, want %s", e, name)
			}
			works(t, s)
			if dropped.Load() {
				t.Error("a fork that no worker had begun ran after its body has unwound")
			}
		})
	}
}
