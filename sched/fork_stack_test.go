package sched_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinDeep: a stack grows with the depth of the recursion while forks of it are
// promoted or private.
func TestForkJoinDeep(t *testing.T) {
	const depth = 100_000
	var deep func(every int) func(f *ints, n int) int
	deep = func(every int) func(f *ints, n int) int {
		return func(f *ints, n int) int {
			if n <= 0 {
				if n == 0 && every == 1 {
					f.Worker().Blocking(func() {}) // promotes every fork
				}
				return -n
			}
			if every > 1 && n%every == 0 {
				f.Worker().SetDemand()
			}
			f.Push(-1)
			if f.Wanted() {
				f.Promote()
			}
			x := deep(every)(f, n-1)
			return x + joined(f, deep(every), -1)
		}
	}
	for _, workers := range []int{1, 3} {
		for name, every := range map[string]int{"none promoted": depth + 1, "some promoted": 17, "all promoted": 1} {
			t.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(t *testing.T) {
				s := newScheduler(t, sched.Config{MaxWorkers: workers})
				if got := sched.ForkJoin(s, deep(every), depth); got != depth {
					t.Errorf("got %d, want %d", got, depth)
				}
			})
		}
	}
}

// forksAll forks each of args and compares the results with those of fn. In turn, the
// forks are private, promoted on demand, and promoted by Blocking.
func forksAll[A, R any](t *testing.T, args []A, fn func(A) R) {
	t.Helper()
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var want []R
	for _, a := range args {
		want = append(want, fn(a))
	}
	for _, way := range []string{"private", "on demand", "blocking"} {
		for _, join := range []string{"TakeBack", "TakeBackPointer"} {
			var root atomic.Bool
			got := make([]R, len(args))
			sched.ForkJoin(s, func(f *sched.Forks[A, R], a A) (none R) {
				if root.Swap(true) {
					return fn(a)
				}
				for _, a := range args {
					if way == "on demand" {
						f.Worker().SetDemand()
					}
					f.Push(a)
					if f.Wanted() {
						f.Promote()
					}
				}
				if way == "blocking" {
					f.Worker().Blocking(func() {})
				}
				for i := len(args) - 1; i >= 0; i-- {
					if join == "TakeBack" && f.TakeBack() || join == "TakeBackPointer" && f.TakeBackPointer() {
						got[i] = fn(args[i])
					} else {
						got[i] = f.Await()
					}
				}
				return none
			}, args[0])
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: got %v, want %v", way, join, got, want)
			}
		}
	}
}

// TestForkJoinTypes: arguments and results may have any type.
func TestForkJoinTypes(t *testing.T) {
	type big struct {
		n    [60]int
		text string
	}
	n := 7
	t.Run("empty", func(t *testing.T) {
		forksAll(t, make([]struct{}, 5), func(struct{}) struct{} { return struct{}{} })
	})
	t.Run("empty array", func(t *testing.T) {
		forksAll(t, make([][0]*int, 5), func(a [0]*int) int { return len(a) })
	})
	t.Run("pointer", func(t *testing.T) {
		forksAll(t, []*int{nil, &n, new(int)}, func(p *int) *int { return p })
	})
	t.Run("string", func(t *testing.T) {
		forksAll(t, []string{"", "a", "bcd"}, strings.ToUpper)
	})
	t.Run("interface", func(t *testing.T) {
		forksAll(t, []any{nil, 1, "two", &n}, func(a any) error { return fmt.Errorf("%T", a) })
	})
	t.Run("big", func(t *testing.T) {
		forksAll(t, []big{{text: "a"}, {text: "b"}, {n: [60]int{59: 3}}}, func(b big) big {
			b.n[0], b.text = b.n[59]+1, b.text+"!"
			return b
		})
	})
	t.Run("function", func(t *testing.T) {
		forksAll(t, []func() int{func() int { return 1 }, func() int { return n }}, func(fn func() int) int { return fn() })
	})
	t.Run("slice", func(t *testing.T) {
		forksAll(t, [][]byte{nil, {1}, {2, 3}}, func(b []byte) map[string]int { return map[string]int{string(b): len(b)} })
	})
	t.Run("numbers", func(t *testing.T) {
		forksAll(t, []struct {
			a float32
			b complex128
			c [2]bool
		}{{a: 1}, {b: 2i}, {c: [2]bool{false, true}}}, func(v struct {
			a float32
			b complex128
			c [2]bool
		},
		) [3]bool {
			return [3]bool{v.a > 0, imag(v.b) > 0, v.c[1]}
		})
	})
}
