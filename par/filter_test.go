package par_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// filtered returns the result of Filter, computed by a loop.
func filtered[T any](in []T, keep func(T) bool) []T {
	var out []T
	for _, v := range in {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}

// TestFilterMatchesLoop: Filter returns the elements that a loop keeps, and does not change
// its input.
func TestFilterMatchesLoop(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, n := range []int{0, 1, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8191, 8193, 50_000} {
			r := rand.New(rand.NewPCG(uint64(n), 6))
			in := make([]string, n)
			for i := range in {
				in[i] = strconv.Itoa(r.IntN(1000))
			}
			before := slices.Clone(in)
			for name, keep := range map[string]func(string) bool{
				"all":  func(string) bool { return true },
				"none": func(string) bool { return false },
				"half": func(v string) bool { return v[0] < '5' },
				"few":  func(v string) bool { return v == "7" },
				"last": func(v string) bool { return n > 0 && v == in[n-1] },
			} {
				got, want := par.Filter(s, in, keep), filtered(in, keep)
				if !slices.Equal(got, want) || (got == nil) != (want == nil) {
					t.Errorf("%s of %d: got %d elements, want %d in the order of the input", name, n, len(got), len(want))
				}
				if !slices.Equal(in, before) {
					t.Fatalf("%s of %d: the input has changed", name, n)
				}
			}
		}
	})
}

// TestFilterCallsKeepOnce: keep is called once for each element of a random input.
func TestFilterCallsKeepOnce(t *testing.T) {
	schedulersOfSizes := []*sched.Scheduler{newScheduler(t, 1), newScheduler(t, 2), newScheduler(t, 3)}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(schedulersOfSizes).Draw(rt, "scheduler")
		n := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, 10_000)).Draw(rt, "n")
		limit := rapid.IntRange(0, 100).Draw(rt, "limit")
		rounds := rapid.SampledFrom([]int{0, 10, 100}).Draw(rt, "rounds")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		in, called := make([][2]int, n), make([]atomic.Int32, n)
		for i := range in {
			in[i] = [2]int{i, r.IntN(100)}
		}
		got := par.Filter(s, in, func(v [2]int) bool {
			called[v[0]].Add(1)
			spin(rounds)
			return v[1] < limit
		})
		if want := filtered(in, func(v [2]int) bool { return v[1] < limit }); !slices.Equal(got, want) {
			rt.Fatalf("got %d elements, want %d in the order of the input", len(got), len(want))
		}
		for i := range called {
			if k := called[i].Load(); k != 1 {
				rt.Fatalf("element %d: keep was called %d times", i, k)
			}
		}
	})
}

// TestFilterIsSharedByWorkers: another worker takes a part of a filter.
func TestFilterIsSharedByWorkers(t *testing.T) {
	s := newScheduler(t, 2)
	in := numbers(50_000)
	keep := func(v int) bool { spin(10); return v%3 != 0 }
	want := filtered(in, keep)
	for end := time.Now().Add(patience.Limit); s.Stats().Promoted < 20; {
		if got := par.Filter(s, in, keep); !slices.Equal(got, want) {
			t.Fatalf("got %d elements, want %d in the order of the input", len(got), len(want))
		}
		if time.Now().After(end) {
			t.Fatal("no worker has taken a fork")
		}
	}
}

// TestFilterPanicReachesCaller: a panic of keep is raised again on the caller.
func TestFilterPanicReachesCaller(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, at := range []int{0, 50, 9_999, 29_999} {
			in := numbers(30_000)
			last := in[at]
			got := recovered(func() {
				par.Filter(s, in, func(v int) bool {
					if v == last {
						panic("enough")
					}
					return true
				})
			})
			if got != "enough" {
				t.Errorf("element %d: got the panic %v", at, got)
			}
		}
	})
}
