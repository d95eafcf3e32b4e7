package par_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// card is an element that is sorted by its key alone. at distinguishes equal elements.
type card struct {
	key, at int
	text    string // makes the element large and gives it a pointer
}

func byKey(a, b card) int { return cmp.Compare(a.key, b.key) }

// cards returns an element for each key.
func cards(keys []int) []card {
	x := make([]card, len(keys))
	for i, k := range keys {
		x[i] = card{key: k, at: i, text: strconv.Itoa(i)}
	}
	return x
}

// patterns are inputs that are difficult for sorts.
var patterns = []struct {
	name string
	at   func(i, n int, r *rand.Rand) int
}{
	{"random", func(_, _ int, r *rand.Rand) int { return r.Int() }},
	{"sorted", func(i, _ int, _ *rand.Rand) int { return i }},
	{"reversed", func(i, _ int, _ *rand.Rand) int { return -i }},
	{"reversed, with equals", func(i, _ int, _ *rand.Rand) int { return -i / 2 }},
	{"equal", func(int, int, *rand.Rand) int { return 7 }},
	{"two", func(_, _ int, r *rand.Rand) int { return r.IntN(2) }},
	{"few", func(_, _ int, r *rand.Rand) int { return r.IntN(10) }},
	{"roots", func(_, n int, r *rand.Rand) int { return r.IntN(1 + int(math.Sqrt(float64(n)))) }},
	{"nearly constant", func(_, _ int, r *rand.Rand) int { return max(0, r.IntN(1000)-900) }},
	{"organ pipe", func(i, n int, _ *rand.Rand) int { return min(i, n-i) }},
	{"valley", func(i, n int, _ *rand.Rand) int { return max(i, n-i) }},
	{"saw", func(i, _ int, _ *rand.Rand) int { return i % 100 }},
	{"two runs", func(i, n int, _ *rand.Rand) int { return i % (n/2 + 1) }},
	{"added at the end", func(i, n int, r *rand.Rand) int {
		if i > n-4 {
			return r.IntN(n)
		}
		return i
	}},
	{"added in front", func(i, n int, r *rand.Rand) int {
		if i < 3 {
			return r.IntN(n)
		}
		return i
	}},
	{"changed at random", func(i, n int, r *rand.Rand) int {
		if r.IntN(n) < 3 {
			return r.IntN(n)
		}
		return i
	}},
}

// pattern returns n keys of the named pattern.
func pattern(name string, n int, r *rand.Rand) []int {
	for _, p := range patterns {
		if p.name == name {
			x := make([]int, n)
			for i := range x {
				x[i] = p.at(i, n, r)
			}
			return x
		}
	}
	panic("no pattern " + name)
}

// sorts are the sorts of the package. Sort is compared with slices.Sort.
var sorts = []struct {
	name   string
	sort   func(s *sched.Scheduler, x []card)
	stable bool
}{
	{"Sort", func(s *sched.Scheduler, x []card) {
		keys := make([]int, len(x))
		for i, c := range x {
			keys[i] = c.key
		}
		want := slices.Clone(keys)
		slices.Sort(want)
		par.Sort(s, keys)
		if !slices.Equal(keys, want) {
			panic("par.Sort differs from slices.Sort")
		}
		slices.SortFunc(x, byKey)
	}, false},
	{"SortContext", func(s *sched.Scheduler, x []card) {
		keys := make([]int, len(x))
		for i, c := range x {
			keys[i] = c.key
		}
		if err := par.SortContext(context.Background(), s, keys); err != nil {
			panic(err)
		}
		if !slices.IsSorted(keys) {
			panic("not sorted")
		}
		slices.SortFunc(x, byKey)
	}, false},
	{"SortFunc", func(s *sched.Scheduler, x []card) { par.SortFunc(s, x, byKey) }, false},
	{"SortFuncContext", func(s *sched.Scheduler, x []card) {
		if err := par.SortFuncContext(context.Background(), s, x, byKey); err != nil {
			panic(err)
		}
	}, false},
	{"SortFunc, small elements", func(s *sched.Scheduler, x []card) {
		small := make([][2]int, len(x))
		for i, c := range x {
			small[i] = [2]int{c.key, c.at}
		}
		par.SortFunc(s, small, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
		for i, e := range small {
			x[i] = card{key: e[0], at: e[1], text: strconv.Itoa(e[1])}
		}
	}, false},
	{"SortStableFunc", func(s *sched.Scheduler, x []card) { par.SortStableFunc(s, x, byKey) }, true},
	{"SortStableFuncContext", func(s *sched.Scheduler, x []card) {
		if err := par.SortStableFuncContext(context.Background(), s, x, byKey); err != nil {
			panic(err)
		}
	}, true},
}

// badCards returns the first fault of x, which is the result of a sort of cards(keys).
func badCards(x []card, keys []int, sorted, stable bool) error {
	seen := make([]bool, len(keys))
	for i, c := range x {
		switch {
		case c.at < 0 || c.at >= len(keys) || seen[c.at] || keys[c.at] != c.key || c.text != strconv.Itoa(c.at):
			return fmt.Errorf("element %d is %+v: it is a duplicate or no element of the input", i, c)
		case sorted && i > 0 && c.key < x[i-1].key:
			return fmt.Errorf("element %d is %+v, after %+v: not sorted", i, c, x[i-1])
		case stable && i > 0 && c.key == x[i-1].key && c.at < x[i-1].at:
			return fmt.Errorf("element %d is %+v, after %+v: not stable", i, c, x[i-1])
		}
		seen[c.at] = true
	}
	return nil
}

// TestSortsOrderPatterns: each sort orders each pattern on each kind of scheduler.
func TestSortsOrderPatterns(t *testing.T) {
	lengths := []int{0, 1, 2, 12, 13, 20, 21, 40, 511, 512, 513, 2047, 2048, 2049, 5000, 33_000}
	if testing.Short() {
		lengths = []int{0, 1, 2, 33, 513, 4100}
	}
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		seed := uint64(1)
		for _, n := range lengths {
			for _, p := range patterns {
				seed++
				keys := pattern(p.name, n, rand.New(rand.NewPCG(seed, 0)))
				for _, f := range sorts {
					x := cards(keys)
					f.sort(s, x)
					if err := badCards(x, keys, true, f.stable); err != nil {
						t.Fatalf("%s of %d, %s: %v", f.name, n, p.name, err)
					}
				}
			}
		}
	})
}

// TestSortsOrderRandomInput: each sort orders inputs that consist of random patterns of
// random lengths.
func TestSortsOrderRandomInput(t *testing.T) {
	schedulersOfSizes := []*sched.Scheduler{newScheduler(t, 1), newScheduler(t, 2), newScheduler(t, 3)}
	names := make([]string, len(patterns))
	for i, p := range patterns {
		names[i] = p.name
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(schedulersOfSizes).Draw(rt, "scheduler")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var keys []int
		for range rapid.IntRange(1, 3).Draw(rt, "pieces") {
			n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 6000)).Draw(rt, "n")
			keys = append(keys, pattern(rapid.SampledFrom(names).Draw(rt, "pattern"), n, r)...)
		}
		f := rapid.SampledFrom(sorts).Draw(rt, "sort")
		x := cards(keys)
		f.sort(s, x)
		if err := badCards(x, keys, true, f.stable); err != nil {
			rt.Fatalf("%s: %v", f.name, err)
		}
	})
}

// TestSortPutsNaNsFirst: Sort orders floats as slices.Sort does: all NaNs come first.
func TestSortPutsNaNsFirst(t *testing.T) {
	type celsius float32
	s := newScheduler(t, 2)
	for _, n := range []int{0, 1, 5, 100, 10_000, 50_000} {
		r := rand.New(rand.NewPCG(uint64(n), 1))
		x := make([]float64, n)
		for i := range x {
			switch r.IntN(8) {
			case 0:
				x[i] = math.NaN()
			case 1:
				x[i] = math.Inf(r.IntN(2)*2 - 1)
			case 2:
				x[i] = math.Copysign(0, r.Float64()-0.5)
			default:
				x[i] = r.NormFloat64()
			}
		}
		y := make([]celsius, n)
		for i, v := range x {
			y[i] = celsius(v)
		}
		want, want2 := slices.Clone(x), slices.Clone(y)
		slices.Sort(want)
		slices.Sort(want2)
		par.Sort(s, x)
		par.Sort(s, y)
		if slices.CompareFunc(x, want, cmp.Compare) != 0 {
			t.Errorf("%d float64: the result differs from that of package slices", n)
		}
		if slices.CompareFunc(y, want2, cmp.Compare) != 0 {
			t.Errorf("%d of a type of float32: the result differs from that of package slices", n)
		}
	}
}

// TestSortStringsMatchesSlices: Sort orders a type of strings as slices.Sort does.
func TestSortStringsMatchesSlices(t *testing.T) {
	type name string
	s := newScheduler(t, 2)
	x := make([]name, 20_000)
	r := rand.New(rand.NewPCG(3, 1))
	for i := range x {
		x[i] = name(strconv.Itoa(r.IntN(5000)))
	}
	want := slices.Clone(x)
	slices.Sort(want)
	par.Sort(s, x)
	if !slices.Equal(x, want) {
		t.Error("the result differs from that of package slices")
	}
}

// adversary is a cmp that chooses its results so that a quicksort splits off as few elements
// as possible.
//
// Source: McIlroy, "A killer adversary for quicksort", 1999.
type adversary struct {
	mu               sync.Mutex
	val              []int
	solid, candidate int
	calls            int

	first bool // the first argument becomes solid, which makes the runs short
}

// newAdversary returns an adversary for n elements, and the input for the sort.
func newAdversary(n int, first bool) (a *adversary, x []int) {
	a = &adversary{val: make([]int, n), solid: 20, first: first}
	x = make([]int, n)
	for i := range x {
		a.val[i], x[i] = n, i // n is gas
	}
	for i := range a.solid { // so that the input is not recognized as sorted
		a.val[i] = i ^ 1
	}
	return a, x
}

func (a *adversary) cmp(i, j int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	gas := len(a.val)
	if i != j && a.val[i] == gas && a.val[j] == gas {
		frozen := j
		if a.first || i == a.candidate {
			frozen = i
		}
		a.val[frozen] = a.solid
		a.solid++
	}
	switch gas {
	case a.val[i]:
		a.candidate = i
	case a.val[j]:
		a.candidate = j
	}
	return cmp.Compare(a.val[i], a.val[j])
}

// TestSortResistsAdversary: against an adversary the sorts take at most a tenth more
// comparisons than package slices takes, and thereby far less than n².
func TestSortResistsAdversary(t *testing.T) {
	const n = 1 << 15
	s := newScheduler(t, 1)
	for _, first := range []bool{false, true} {
		stdlib, x := newAdversary(n, first)
		slices.SortFunc(x, stdlib.cmp)
		for _, f := range []struct {
			name string
			sort func(x []int, cmp func(a, b int) int)
		}{
			{"SortFunc", func(x []int, cmp func(a, b int) int) { par.SortFunc(s, x, cmp) }},
			{"SortStableFunc", func(x []int, cmp func(a, b int) int) { par.SortStableFunc(s, x, cmp) }},
		} {
			a, x := newAdversary(n, first)
			f.sort(x, a.cmp)
			t.Logf("%s, %t: %d comparisons, package slices %d", f.name, first, a.calls, stdlib.calls)
			if a.calls > stdlib.calls*11/10 {
				t.Errorf("%s, %t: %d comparisons of %d elements, package slices takes %d", f.name, first, a.calls, n, stdlib.calls)
			}
			for i := 1; i < n; i++ {
				if a.val[x[i]] < a.val[x[i-1]] {
					t.Fatalf("%s, %t: not sorted", f.name, first)
				}
			}
			// The input of the adversary for Sort, which takes no cmp.
			bad := slices.Clone(a.val)
			par.Sort(s, bad)
			if !slices.IsSorted(bad) {
				t.Error("Sort: not sorted")
			}
		}
	}
}

// TestNearlySortedInputIsCheap: a sorted input with a few elements out of order takes few
// comparisons.
func TestNearlySortedInputIsCheap(t *testing.T) {
	const n = 1 << 16
	s := newScheduler(t, 1)
	for _, p := range []string{"sorted", "reversed", "equal", "added at the end", "added in front"} {
		for seed := range uint64(10) {
			x := pattern(p, n, rand.New(rand.NewPCG(seed, 0)))
			calls := 0
			par.SortFunc(s, x, func(a, b int) int { calls++; return cmp.Compare(a, b) })
			if !slices.IsSorted(x) {
				t.Fatalf("%s, seed %d: not sorted", p, seed)
			}
			if calls > 6*n {
				t.Errorf("%s, seed %d: %d comparisons of %d elements", p, seed, calls, n)
			}
		}
	}
}

// TestSortNeedsFewComparisons: the number of comparisons for random elements is near the
// minimum.
func TestSortNeedsFewComparisons(t *testing.T) {
	const n = 1 << 16
	s := newScheduler(t, 1)
	keys := pattern("random", n, rand.New(rand.NewPCG(7, 0)))
	least := n * bits.Len(n)
	for name, sort := range map[string]func(x []int, cmp func(a, b int) int){
		"SortFunc":       func(x []int, cmp func(a, b int) int) { par.SortFunc(s, x, cmp) },
		"SortStableFunc": func(x []int, cmp func(a, b int) int) { par.SortStableFunc(s, x, cmp) },
	} {
		calls := 0
		sort(slices.Clone(keys), func(a, b int) int { calls++; return cmp.Compare(a, b) })
		t.Logf("%s: %.1f comparisons an element", name, float64(calls)/n)
		if calls > least*5/4 {
			t.Errorf("%s: %d comparisons, the least is about %d", name, calls, least)
		}
	}
}

// TestSortComparesLikeSlices: no pattern takes many more comparisons than package slices
// takes.
func TestSortComparesLikeSlices(t *testing.T) {
	const n = 1 << 16
	s := newScheduler(t, 1)
	for _, p := range patterns {
		x := pattern(p.name, n, rand.New(rand.NewPCG(1, 0)))
		y := slices.Clone(x)
		calls, stdlib := 0, 0
		par.SortFunc(s, x, func(a, b int) int { calls++; return cmp.Compare(a, b) })
		slices.SortFunc(y, func(a, b int) int { stdlib++; return cmp.Compare(a, b) })
		t.Logf("%s: %.2f comparisons an element, package slices %.2f", p.name, float64(calls)/n, float64(stdlib)/n)
		if calls > stdlib*6/5+2*n {
			t.Errorf("%s: %d comparisons, package slices takes %d", p.name, calls, stdlib)
		}
	}
}

// funcSorts are the sorts that call a cmp.
var funcSorts = []struct {
	name string
	sort func(ctx context.Context, s *sched.Scheduler, x []card, cmp func(a, b card) int) error
}{
	{"SortFunc, small elements", func(_ context.Context, s *sched.Scheduler, x []card, cmp func(a, b card) int) error {
		small := make([][2]int, len(x))
		for i, c := range x {
			small[i] = [2]int{c.key, c.at}
		}
		defer func() {
			for i, e := range small {
				x[i] = card{key: e[0], at: e[1], text: strconv.Itoa(e[1])}
			}
		}()
		par.SortFunc(s, small, func(a, b [2]int) int { return cmp(card{key: a[0], at: a[1]}, card{key: b[0], at: b[1]}) })
		return nil
	}},
	{"SortFunc", func(_ context.Context, s *sched.Scheduler, x []card, cmp func(a, b card) int) error {
		par.SortFunc(s, x, cmp)
		return nil
	}},
	{"SortStableFunc", func(_ context.Context, s *sched.Scheduler, x []card, cmp func(a, b card) int) error {
		par.SortStableFunc(s, x, cmp)
		return nil
	}},
	{"SortFuncContext", par.SortFuncContext[[]card]},
	{"SortStableFuncContext", par.SortStableFuncContext[[]card]},
}

// calls returns the approximate number of comparisons for n random elements.
func calls(n int) int { return n * bits.Len(uint(n)) }

// TestSortPanicKeepsElements: a panic or Goexit at any call of cmp reaches the caller, and
// no element is lost.
func TestSortPanicKeepsElements(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, f := range funcSorts {
			for round := range rounds {
				seed := uint64(round)
				r := rand.New(rand.NewPCG(seed, 5))
				n := []int{10, 300, 3000, 20_000}[r.IntN(4)]
				keys := pattern("random", n, r)
				x := cards(keys)
				last := 1 + r.Int64N(int64(calls(n)*3/4))
				exit := r.IntN(4) == 0
				var called atomic.Int64
				cmp := func(a, b card) int {
					if called.Add(1) == last {
						if exit {
							runtime.Goexit()
						}
						panic("enough")
					}
					return byKey(a, b)
				}
				var got any
				returned := false
				var wg sync.WaitGroup
				wg.Go(func() {
					got = recovered(func() {
						f.sort(context.Background(), s, x, cmp)
						returned = true
					})
				})
				wg.Wait()
				at := fmt.Sprintf("%s of %d, seed %d, call %d", f.name, n, seed, last)
				if returned != (called.Load() < last) {
					t.Fatalf("%s: returned %t, after %d calls", at, returned, called.Load())
				}
				if !returned && !exit && got != "enough" {
					t.Fatalf("%s: got the panic %v", at, got)
				}
				if err := badCards(x, keys, returned, false); err != nil {
					t.Fatalf("%s: %v", at, err)
				}
			}
		}
	})
}

// TestSortCancelKeepsElements: a context that ends at any call of cmp ends the sort, and no
// element is lost.
func TestSortCancelKeepsElements(t *testing.T) {
	cause := errors.New("enough")
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, f := range funcSorts[3:] {
			seeds := uint64(20)
			if testing.Short() {
				seeds = 5
			}
			for seed := range seeds {
				r := rand.New(rand.NewPCG(seed, 9))
				const n = 30_000
				keys := pattern("random", n, r)
				x := cards(keys)
				ctx, cancel := context.WithCancelCause(context.Background())
				last := r.Int64N(int64(calls(n)))
				var called atomic.Int64
				err := f.sort(ctx, s, x, func(a, b card) int {
					if called.Add(1) == last {
						cancel(cause)
					}
					return byKey(a, b)
				})
				cancel(nil)
				if err != nil && (!errors.Is(err, cause) || called.Load() < last) {
					t.Fatalf("%s, seed %d: %v", f.name, seed, err)
				}
				if bad := badCards(x, keys, err == nil, false); bad != nil {
					t.Fatalf("%s, seed %d, ended with %v at call %d: %v", f.name, seed, err, last, bad)
				}
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(cause)
			keys := []int{3, 1, 2}
			x := cards(keys)
			err := f.sort(ctx, s, x, func(a, b card) int { panic("called") })
			if !errors.Is(err, cause) || x[0].at != 0 || x[1].at != 1 {
				t.Errorf("%s, context ended before: %v, %v", f.name, err, x)
			}
		}
	})
}

// TestSortCancelEndsSort: a sort ends soon after its context.
func TestSortCancelEndsSort(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // see cancelAndAwait
	const n = 200_000
	keys := pattern("random", n, rand.New(rand.NewPCG(1, 9)))
	s := newScheduler(t, 1)
	for _, f := range funcSorts[3:] {
		x := cards(keys)
		ctx, cancel := context.WithCancel(context.Background())
		called, after := 0, 0
		err := f.sort(ctx, s, x, func(a, b card) int {
			if called++; called == n {
				cancelAndAwait(cancel)
			}
			if called > n {
				after++
			}
			return byKey(a, b)
		})
		// At most the rest of a partition, or some parts of sortLeaf elements.
		if !errors.Is(err, context.Canceled) || after > 2*n {
			t.Errorf("%s: %v, %d comparisons after the end of the context, in all %d", f.name, err, after, called)
		}
	}
}

// cancelAndAwait cancels a context, and returns when the functions that the context calls at its end have returned.
// Each of them has a goroutine of its own, which cancel starts. The caller has switched the garbage collection off,
// because runtime.NumGoroutine counts goroutines that have ended during one.
func cancelAndAwait(cancel func()) {
	before := runtime.NumGoroutine()
	cancel()
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// TestSortEndsWithInconsistentCmp: a sort with an inconsistent cmp ends, and no element is
// lost.
func TestSortEndsWithInconsistentCmp(t *testing.T) {
	s := newScheduler(t, 2)
	for _, f := range funcSorts {
		for seed := range uint64(10) {
			for name, answer := range map[string]func(x uint64) int{
				"random": func(x uint64) int { return int(x%3) - 1 },
				"less":   func(uint64) int { return -1 },
				"more":   func(uint64) int { return 1 },
			} {
				keys := pattern("random", 10_000, rand.New(rand.NewPCG(seed, 11)))
				x := cards(keys)
				var state atomic.Uint64
				state.Store(seed)
				within(t, func() {
					f.sort(context.Background(), s, x, func(a, b card) int {
						return answer(state.Add(0x9e3779b97f4a7c15) >> 40)
					})
				})
				if err := badCards(x, keys, false, false); err != nil {
					t.Fatalf("%s, %s, seed %d: %v", f.name, name, seed, err)
				}
			}
		}
	}
}

// TestConcurrentSorts: many sorts run at the same time on one scheduler, also inside its
// tasks.
func TestConcurrentSorts(t *testing.T) {
	s := newScheduler(t, 2)
	within(t, func() {
		var wg sync.WaitGroup
		for i := range 8 {
			sortOne := func() {
				f := sorts[i%len(sorts)]
				for seed := range uint64(6) {
					keys := pattern("random", 8000, rand.New(rand.NewPCG(seed, uint64(i))))
					x := cards(keys)
					f.sort(s, x)
					if err := badCards(x, keys, true, f.stable); err != nil {
						t.Errorf("%s, seed %d %d: %v", f.name, seed, i, err)
					}
				}
			}
			if i%2 == 0 {
				wg.Go(sortOne)
				continue
			}
			wg.Add(1)
			if err := s.Go(func() { defer wg.Done(); sortOne() }); err != nil {
				t.Error(err)
				wg.Done()
			}
		}
		wg.Wait()
	})
}

// TestSortIsSharedByWorkers: another worker takes a part of each sort.
func TestSortIsSharedByWorkers(t *testing.T) {
	for _, f := range sorts {
		s := newScheduler(t, 2)
		keys := pattern("random", 300_000, rand.New(rand.NewPCG(2, 2)))
		for end := time.Now().Add(patience.Limit); s.Stats().Promoted == 0; {
			x := cards(keys)
			f.sort(s, x)
			if err := badCards(x, keys, true, f.stable); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			if time.Now().After(end) {
				t.Fatalf("%s: no worker has taken a fork", f.name)
			}
		}
	}
}

// TestSortRefusesNil: each sort, scan and filter panics when an argument is nil. The panic
// names the function and the argument.
func TestSortRefusesNil(t *testing.T) {
	s := newScheduler(t, 1)
	ctx := context.Background()
	for _, tc := range []struct {
		want string
		call func()
	}{
		{"par: SortFunc: nil cmp", func() { par.SortFunc[[]int](nil, nil, nil) }},
		{"par: SortFuncContext: nil cmp", func() { par.SortFuncContext[[]int](ctx, nil, nil, nil) }},
		{"par: SortStableFunc: nil cmp", func() { par.SortStableFunc[[]int](nil, nil, nil) }},
		{"par: SortStableFuncContext: nil cmp", func() { par.SortStableFuncContext[[]int](ctx, nil, nil, nil) }},
		{"par: nil context", func() { par.SortContext(nil, s, []int{}) }},                             //nolint:staticcheck // the test needs a nil context
		{"par: nil context", func() { par.SortFuncContext(nil, s, []int{}, cmp.Compare[int]) }},       //nolint:staticcheck // the test needs a nil context
		{"par: nil context", func() { par.SortStableFuncContext(nil, s, []int{}, cmp.Compare[int]) }}, //nolint:staticcheck // the test needs a nil context
		{"par: Scan: nil op", func() { par.Scan[int](nil, nil, nil, nil) }},
		{"par: ScanExclusive: nil op", func() { par.ScanExclusive(nil, nil, nil, 0, nil) }},
		{"par: Filter: nil keep", func() { par.Filter[int](nil, nil, nil) }},
	} {
		if got := recovered(tc.call); got != tc.want {
			t.Errorf("got the panic %v, want %v", got, tc.want)
		}
	}
}
