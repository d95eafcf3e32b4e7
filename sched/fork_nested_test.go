package sched_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// lengths is a computation of other types than those of most tests. Each of its leaves
// runs a computation of the usual types.
func lengths(f *sched.Forks[string, [2]int], text string) (r [2]int) {
	s := f.Worker().Scheduler()
	if len(text) < 2 {
		return [2]int{len(text), sched.ForkJoin(s, fibOnDemand, 6)}
	}
	f.Worker().SetDemand()
	x, y := f.Join2(text[:len(text)/2], text[len(text)/2:])
	return [2]int{x[0] + y[0], x[1] + y[1]}
}

// TestForkJoinNested: computations of the same and of other types run on top of each other
// in bodies, in tasks and in tasks that a Wait runs.
func TestForkJoinNested(t *testing.T) {
	const text = "twenty letters or so"
	want := [2]int{len(text), 8 * len(text)}
	for _, workers := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: workers})
			check := func(where string) {
				if got := sched.ForkJoin(s, lengths, text); got != want {
					t.Errorf("%s: got %v, want %v", where, got, want)
				}
			}
			check("outside")
			g := s.NewGroup(sched.GroupConfig{})
			for range 10 {
				must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					check("in a task")
					var g sched.Group
					for range 3 {
						if err := g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { check("in a Wait") }}); err != nil {
							t.Error(err)
						}
					}
					if err := w.Wait(&g); err != nil {
						t.Error(err)
					}
				}}))
			}
			must(t, g.Wait())
		})
	}
}

// TestForkJoinConcurrentCallers: computations of many callers share the workers and have
// the right results.
func TestForkJoinConcurrentCallers(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				all := computations()
				for j := range all {
					c := all[(i+j)%len(all)]
					if got := c.run(s); got != c.want {
						t.Errorf("%s: got %d, want %d", c.name, got, c.want)
					}
				}
			})
		}
		wg.Wait()
		works(t, s)
	}
}

// TestForkJoinBodyUsesScheduler: a body may call all that a callback may call.
func TestForkJoinBodyUsesScheduler(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			s := newScheduler(t, sched.Config{MaxWorkers: workers})
			loose := newLatch(1 << 6)
			uses := []func(w *sched.Worker, one *sched.Task) error{
				func(w *sched.Worker, one *sched.Task) error { return s.Do(one) },
				func(w *sched.Worker, one *sched.Task) error {
					var g sched.Group
					return errors.Join(g.Schedule(w, one), w.Wait(&g))
				},
				func(w *sched.Worker, one *sched.Task) error {
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { one.Fn(nil, one); return nil })
					return g.Wait()
				},
				func(w *sched.Worker, one *sched.Task) (err error) {
					w.Blocking(func() { one.Fn(nil, one) })
					return nil
				},
			}
			var body func(f *ints, n int) int
			body = func(f *ints, n int) int {
				if n == 0 {
					if err := f.Worker().Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { loose.hit() }}); err != nil {
						t.Error(err)
					}
					return 1
				}
				f.Worker().SetDemand()
				f.Fork(n - 1)
				sum := 0
				if err := uses[n%len(uses)](f.Worker(), &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					sum += sched.ForkJoin(s, fibOnDemand, 5)
				}}); err != nil {
					t.Error(err)
				}
				sum += body(f, n-1)
				return sum + joined(f, body, n-1)
			}
			if got, want := sched.ForkJoin(s, body, 6), 1<<6+5*(1<<6-1); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
			loose.wait(t)
			works(t, s)
		})
	}
}

// TestForkJoinSharesAfterNested: other workers take forks of a body after a nested
// computation as they did before it.
func TestForkJoinSharesAfterNested(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var begun atomic.Bool
	got := sched.ForkJoin(s, func(f *ints, n int) int {
		if n > 0 {
			begun.Store(true)
			return n
		}
		x := sched.ForkJoin(s, fib, 10)
		handOver(f, 1, &begun)
		return x + joined(f, leaf, 1)
	}, 0)
	if got != 56 {
		t.Errorf("got %d, want 56", got)
	}
}
