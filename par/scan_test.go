package par_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// affine is the map x -> ax + b. The composition of such maps is not commutative.
type affine struct{ a, b uint64 }

// then returns the map that applies f and then g.
func then(f, g affine) affine { return affine{f.a * g.a, f.b*g.a + g.b} }

// affines returns n random maps.
func affines(n int, r *rand.Rand) []affine {
	x := make([]affine, n)
	for i := range x {
		x[i] = affine{r.Uint64() | 1, r.Uint64()}
	}
	return x
}

// checkScans compares both scans of src with a loop, into another slice and in place. op
// returns the result of then.
func checkScans(s *sched.Scheduler, src []affine, op func(f, g affine) affine) error {
	first := affine{3, 5}
	inclusive, exclusive := make([]affine, len(src)), make([]affine, len(src))
	fold, fromFirst := affine{1, 0}, first
	for i, f := range src {
		exclusive[i] = fromFirst
		fold, fromFirst = then(fold, f), then(fromFirst, f)
		inclusive[i] = fold
	}
	for _, inPlace := range []bool{false, true} {
		in, dst := slices.Clone(src), make([]affine, len(src))
		if inPlace {
			dst = in
		}
		par.Scan(s, dst, in, op)
		if !slices.Equal(dst, inclusive) {
			return errors.New("Scan differs from a loop")
		}
		if !inPlace && !slices.Equal(in, src) {
			return errors.New("Scan has changed src")
		}
		if copy(in, src); !inPlace {
			clear(dst)
		}
		if total := par.ScanExclusive(s, dst, in, first, op); total != fromFirst {
			return errors.New("ScanExclusive returned another total")
		}
		if !slices.Equal(dst, exclusive) {
			return errors.New("ScanExclusive differs from a loop")
		}
	}
	return nil
}

// TestScanMatchesLoop: the scans have the results of a loop, for lengths near the limits of
// their parts.
func TestScanMatchesLoop(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, n := range []int{0, 1, 2, 3, 511, 512, 513, 514, 1023, 1024, 1025, 1026, 5000, 100_000} {
			if err := checkScans(s, affines(n, rand.New(rand.NewPCG(uint64(n), 4))), then); err != nil {
				t.Errorf("%d elements: %v", n, err)
			}
		}
	})
}

// TestScanMatchesLoopOnRandomInput: the scans of random inputs have the results of a loop.
func TestScanMatchesLoopOnRandomInput(t *testing.T) {
	schedulersOfSizes := []*sched.Scheduler{newScheduler(t, 1), newScheduler(t, 2), newScheduler(t, 3)}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(schedulersOfSizes).Draw(rt, "scheduler")
		n := rapid.OneOf(rapid.IntRange(0, 2000), rapid.IntRange(0, 20_000)).Draw(rt, "n")
		rounds := rapid.SampledFrom([]int{0, 10, 100}).Draw(rt, "rounds")
		src := affines(n, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)))
		if err := checkScans(s, src, func(f, g affine) affine { spin(rounds); return then(f, g) }); err != nil {
			rt.Fatal(err)
		}
	})
}

// TestSharedScanMatchesLoop: the scans have the results of a loop when other workers take
// parts of them, and parts of such parts.
func TestSharedScanMatchesLoop(t *testing.T) {
	want := uint64(100)
	if runtime.GOMAXPROCS(0) == 1 { // the runtime switches to the thief every 10 ms only
		want = 10
	}
	for _, workers := range []int{2, 3} {
		s := newScheduler(t, workers)
		src := affines(40_000, rand.New(rand.NewPCG(5, 5)))
		for end := time.Now().Add(patience.Limit); s.Stats().Promoted < want; {
			if err := checkScans(s, src, func(f, g affine) affine { spin(20); return then(f, g) }); err != nil {
				t.Fatalf("%d workers: %v", workers, err)
			}
			if time.Now().After(end) {
				t.Fatalf("%d workers: got %d shared forks, want %d", workers, s.Stats().Promoted, want)
			}
		}
	}
}

// TestScanOnOneWorkerCallsOpOnce: one worker calls op no more often than a loop does.
func TestScanOnOneWorkerCallsOpOnce(t *testing.T) {
	s := newScheduler(t, 1)
	src, dst := make([]int, 10_000), make([]int, 10_000)
	calls := 0
	add := func(a, b int) int { calls++; return a + b }
	if par.Scan(s, dst, src, add); calls != len(src)-1 {
		t.Errorf("Scan of %d called op %d times", len(src), calls)
	}
	calls = 0
	if par.ScanExclusive(s, dst, src, 0, add); calls != len(src) {
		t.Errorf("ScanExclusive of %d called op %d times", len(src), calls)
	}
}

// TestScanRefusesDifferentLengths: the scans panic when dst and src differ in length.
func TestScanRefusesDifferentLengths(t *testing.T) {
	add := func(a, b int) int { return a + b }
	two, s := []int{1, 2}, newScheduler(t, 1)
	for want, call := range map[string]func(){
		"par: Scan: dst and src differ in length":          func() { par.Scan(s, two[:1], two, add) },
		"par: ScanExclusive: dst and src differ in length": func() { par.ScanExclusive(s, two, two[:1], 0, add) },
	} {
		if got := recovered(call); got != want {
			t.Errorf("got the panic %v, want %v", got, want)
		}
	}
}

// TestScanPanicReachesCaller: a panic of op is raised again on the caller, and a later scan
// on the same scheduler is right.
func TestScanPanicReachesCaller(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		src := make([]int, 50_000)
		for last := int64(1); last < 50_000; last += 4999 {
			var calls atomic.Int64
			got := recovered(func() {
				par.Scan(s, make([]int, len(src)), src, func(a, b int) int {
					if calls.Add(1) == last {
						panic("enough")
					}
					return a + b
				})
			})
			if got != "enough" {
				t.Fatalf("call %d: got the panic %v", last, got)
			}
		}
		if err := checkScans(s, affines(5000, rand.New(rand.NewPCG(1, 1))), then); err != nil {
			t.Fatal(err)
		}
	})
}
