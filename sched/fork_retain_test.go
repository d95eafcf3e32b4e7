package sched_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/lanewright/lanewright/internal/kernel"
	"github.com/lanewright/lanewright/sched"
)

// retains runs computations whose arguments and results hold payloads. It checks that the
// payloads are garbage after the joins, while the computation still runs.
func retains[A any](t *testing.T, wrap func(*payload) A) {
	t.Helper()
	type stack = sched.Forks[A, *payload]
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var root atomic.Bool
	var begun atomic.Int32
	var mu sync.Mutex
	var made []weak.Pointer[payload]
	create := func() *payload {
		p := new(payload)
		mu.Lock()
		defer mu.Unlock()
		made = append(made, weak.Make(p))
		return p
	}
	const forks = 100 // more than the slots of a new stack
	join := func(f *stack, takeBack func() bool) {
		for range forks {
			if !takeBack() {
				f.Await()
			}
		}
	}
	for name, script := range map[string]func(f *stack){
		"TakeBack": func(f *stack) {
			for range forks {
				f.Push(wrap(create()))
				if f.Wanted() {
					f.Promote()
				}
			}
			join(f, f.TakeBack)
		},
		"TakeBackPointer": func(f *stack) {
			for range forks {
				f.Fork(wrap(create()))
			}
			join(f, f.TakeBackPointer)
		},
		"on demand": func(f *stack) {
			for range forks {
				f.Worker().SetDemand()
				f.Fork(wrap(create()))
			}
			join(f, f.TakeBackPointer)
		},
		"blocking": func(f *stack) {
			for range forks {
				f.Fork(wrap(create()))
			}
			f.Worker().Blocking(func() {})
			join(f, f.TakeBack)
		},
		"taken": func(f *stack) {
			for range forks {
				f.Worker().SetDemand()
				f.Fork(wrap(create()))
			}
			until("a worker has taken a fork", func() bool { return begun.Load() > 0 })
			join(f, f.TakeBackPointer)
		},
		"panic": func(f *stack) {
			_ = panicOf(func() {
				sched.ForkJoin(s, func(f *stack, _ A) *payload {
					for i := range forks {
						if i == forks/2 {
							f.Worker().Blocking(func() {})
						}
						f.Fork(wrap(create()))
					}
					panic("boom")
				}, wrap(nil))
			})
		},
		"unbalanced": func(*stack) {
			_ = panicOf(func() {
				sched.ForkJoin(s, func(f *stack, _ A) *payload { f.Fork(wrap(create())); return nil }, wrap(nil))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			root.Store(true)
			begun.Store(0)
			made = nil
			sched.ForkJoin(s, func(f *stack, _ A) *payload {
				if !root.Swap(false) {
					begun.Add(1)
					return create()
				}
				script(f)
				collected(t, s, 1, made)
				return nil
			}, wrap(nil))
			runtime.KeepAlive(s)
		})
	}
}

// TestForkJoinRetainsNothing: arguments and results of forks are garbage after the joins.
func TestForkJoinRetainsNothing(t *testing.T) {
	t.Run("pointer", func(t *testing.T) { retains(t, func(p *payload) *payload { return p }) })
	t.Run("interface", func(t *testing.T) { retains(t, func(p *payload) any { return p }) })
	t.Run("slice", func(t *testing.T) { retains(t, func(p *payload) []*payload { return []*payload{p} }) })
	t.Run("function", func(t *testing.T) {
		retains(t, func(p *payload) func() *payload { return func() *payload { return p } })
	})
	type deep struct {
		n  int
		in struct{ p [1]*payload }
	}
	t.Run("struct", func(t *testing.T) {
		retains(t, func(p *payload) (d deep) {
			d.n, d.in.p[0] = 1, p
			return d
		})
	})
}

// TestForkJoinAllocatesNothing: forks do not allocate, and a computation does not allocate
// after the first one of its types.
func TestForkJoinAllocatesNothing(t *testing.T) {
	if raceBuild() {
		t.Skip("the race detector allocates")
	}
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	tree, board := kernel.NewTree(8), kernel.NewBoard(5)
	for name, run := range map[string]func(){
		"fib":    func() { sched.ForkJoin(s, fib, 10) },
		"join2":  func() { sched.ForkJoin(s, fibJoin2, 10) },
		"tree":   func() { sched.ForkJoin(s, sum, tree) },
		"queens": func() { sched.ForkJoin(s, queens, board) },
	} {
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// TestForkJoinLeavesNoGoroutine: no goroutine of a computation outlives its scheduler.
func TestForkJoinLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		s, err := sched.New(sched.Config{MaxWorkers: 3})
		must(t, err)
		computes(t, s)
		endOf(t, func() { sched.ForkJoin(s, func(*ints, int) int { runtime.Goexit(); return 0 }, 0) })
		atRest(t, s)
	}
	until("all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}
