package sched_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinInOnIdle: ForkJoin panics with the reason when Config.OnIdle calls it.
func TestForkJoinInOnIdle(t *testing.T) {
	idled := make(chan any, 1)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnIdle: func(w *sched.Worker) {
		r := panicOf(func() { sched.ForkJoin(w.Scheduler(), fib, 3) })
		select {
		case idled <- r:
		default:
		}
	}})
	must(t, s.Go(func() {}))
	if r := <-idled; r != "sched: ForkJoin: called from Config.OnIdle" {
		t.Errorf("ForkJoin panics with %v, want the reason", r)
	}
	works(t, s)
}

// unbalanced lists bodies whose forks and joins do not balance or may not balance. They
// are called with an argument of 10. The function fork makes a fork. A fork of n below 10
// is a leaf.
var unbalanced = []struct {
	name string
	body func(f *ints, fork func(n int)) int
	fine int // the result when no other worker has taken a fork, or 0
}{
	{"a fork too many", func(_ *ints, fork func(int)) int {
		fork(1)
		return 0
	}, 0},
	{"many forks too many", func(_ *ints, fork func(int)) int {
		for range 300 {
			fork(1)
		}
		return 0
	}, 0},
	{"TakeBack without a fork", func(f *ints, _ func(int)) int { return joined(f, leaf, 1) }, 0},
	{"TakeBackPointer without a fork", func(f *ints, _ func(int)) int {
		if f.TakeBackPointer() {
			return 1
		}
		return f.Await()
	}, 0},
	{"a join too many", func(f *ints, fork func(int)) int {
		fork(1)
		return joined(f, leaf, 1) + joined(f, leaf, 1)
	}, 0},
	{"a join of another's fork", func(f *ints, fork func(int)) int {
		fork(1)
		fork(2)
		callee := joined(f, leaf, 2) + joined(f, leaf, 1)
		return callee + joined(f, leaf, 1)
	}, 0},
	{"Await after TakeBack", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBack() {
			return 1 + f.Await()
		}
		return f.Await() + f.Await()
	}, 0},
	{"Await after TakeBack, below another fork", func(f *ints, fork func(int)) int {
		fork(1)
		fork(2)
		f.TakeBack()
		x := f.Await()
		return x + joined(f, leaf, 1)
	}, 3},
	{"no Await", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBack() {
			return 1
		}
		return 0
	}, 1},
	{"no Await, then another fork", func(f *ints, fork func(int)) int {
		fork(1)
		x := 0
		if f.TakeBack() {
			x = 1
		}
		fork(2)
		return x + joined(f, leaf, 2)
	}, 3},
	{"no Await after TakeBackPointer", func(f *ints, fork func(int)) int {
		fork(1)
		if f.TakeBackPointer() {
			return 1
		}
		return 0
	}, 1},
	{"a panic between fork and join", func(f *ints, fork func(int)) int {
		_ = panicOf(func() {
			fork(1)
			panicHere()
		})
		return 0
	}, 0},
}

func leaf(_ *ints, n int) int { return n }

// TestForkJoinUnbalanced: ForkJoin panics when forks and joins of a body do not balance,
// wherever the body runs. The scheduler remains usable.
func TestForkJoinUnbalanced(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, tc := range unbalanced {
		for _, demand := range []bool{false, true} {
			run := func(f *ints) int {
				return tc.body(f, func(n int) {
					if demand {
						f.Worker().SetDemand()
					}
					f.Fork(n)
				})
			}
			root := func(f *ints, n int) int {
				if n < 10 {
					return n
				}
				return run(f)
			}
			var begun atomic.Bool
			for where, compute := range map[string]func() int{
				"root":     func() int { return sched.ForkJoin(s, root, 10) },
				"fallback": func() int { return sched.ForkJoin(&sched.Scheduler{}, root, 10) },
				"fork": func() int {
					begun.Store(false)
					return sched.ForkJoin(s, func(f *ints, n int) int {
						switch {
						case n < 10:
							return n
						case n == 10:
							handOver(f, 11, &begun)
							return joined(f, leaf, 11)
						}
						begun.Store(true)
						return run(f)
					}, 10)
				},
				"nested": func() int {
					return sched.ForkJoin(s, func(f *ints, n int) int {
						if n == 5 {
							return 0
						}
						f.Fork(5)
						x := sched.ForkJoin(s, root, n)
						return x + joined(f, func(*ints, int) int { return 0 }, 5)
					}, 10)
				},
			} {
				t.Run(fmt.Sprintf("%s/%s/demand=%v", tc.name, where, demand), func(t *testing.T) {
					var got int
					r := panicOf(func() { got = compute() })
					switch text, _ := valueOf(r).(string); {
					case r == nil && tc.fine != 0 && got == tc.fine:
					case strings.HasPrefix(text, "sched: Fork") && (strings.Contains(text, "join") || strings.Contains(text, "TakeBack")):
					default:
						t.Errorf("got %d, panic value %v", got, r)
					}
				})
			}
		}
		works(t, s)
	}
}

// TestForkJoinMisuse: a call that cannot run panics in the caller with the reason.
func TestForkJoinMisuse(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for want, fn := range map[string]func(){
		"sched: ForkJoin: nil body":           func() { sched.ForkJoin[int, int](s, nil, 1) },
		"sched: ForkJoinContext: nil context": func() { _, _ = sched.ForkJoinContext(nil, s, fib, 1) }, //nolint:staticcheck // on purpose
		"sched: Forks: a join without a fork": func() { sched.ForkJoin(s, func(f *ints, _ int) int { return f.Await() }, 1) },
		"sched: Forks: Await without a TakeBack or TakeBackPointer that returned false": func() {
			sched.ForkJoin(s, func(f *ints, n int) int {
				if n > 0 {
					return n
				}
				f.Fork(1)
				f.Fork(2)
				f.TakeBack()
				return f.Await()
			}, 0)
		},
	} {
		if r := panicOf(fn); r != want {
			t.Errorf("panics with %v, want %s", r, want)
		}
	}
	works(t, s)
}
