package par_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/par"
)

// goroutineSort is a usual parallel quicksort, with a goroutine for one half of each part
// above a length.
func goroutineSort(x []int32) {
	if len(x) <= 2048 {
		slices.Sort(x)
		return
	}
	pivot, i, j := x[len(x)/2], 0, len(x)-1
	for i <= j {
		for x[i] < pivot {
			i++
		}
		for x[j] > pivot {
			j--
		}
		if i <= j {
			x[i], x[j] = x[j], x[i]
			i++
			j--
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { goroutineSort(x[:j+1]) })
	goroutineSort(x[i:])
	wg.Wait()
}

// BenchmarkSort sorts random elements and checks each result.
func BenchmarkSort(b *testing.B) {
	compare := func(a, b int32) int { return cmp.Compare(a, b) }
	lengths := []int{1000, 100_000, 10_000_000}
	if testing.Short() {
		lengths[2] = 1_000_000
	}
	one, two := newScheduler(b, 1), newScheduler(b, 2)
	for _, n := range lengths {
		r := rand.New(rand.NewPCG(uint64(n), 0))
		// Several inputs, so that the branch predictor cannot learn one of them.
		in, want := make([][]int32, max(1, 200_000/n)), make([][]int32, max(1, 200_000/n))
		for k := range in {
			in[k] = make([]int32, n)
			for i := range in[k] {
				in[k][i] = int32(r.Uint32())
			}
			want[k] = slices.Sorted(slices.Values(in[k]))
		}
		x := make([]int32, n)
		for _, impl := range []struct {
			name string
			sort func()
		}{
			{"slices.Sort", func() { slices.Sort(x) }},
			{"goroutines", func() { goroutineSort(x) }},
			{"Sort/workers=1", func() { par.Sort(one, x) }},
			{"Sort/workers=2", func() { par.Sort(two, x) }},
			{"slices.SortFunc", func() { slices.SortFunc(x, compare) }},
			{"SortFunc/workers=1", func() { par.SortFunc(one, x, compare) }},
			{"SortFunc/workers=2", func() { par.SortFunc(two, x, compare) }},
			{"slices.SortStableFunc", func() { slices.SortStableFunc(x, compare) }},
			{"SortStableFunc/workers=1", func() { par.SortStableFunc(one, x, compare) }},
			{"SortStableFunc/workers=2", func() { par.SortStableFunc(two, x, compare) }},
		} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, impl.name), func(b *testing.B) {
				b.ReportAllocs()
				for k := 0; b.Loop(); k = (k + 1) % len(in) {
					b.StopTimer()
					copy(x, in[k])
					b.StartTimer()
					impl.sort()
					b.StopTimer()
					if !slices.Equal(x, want[k]) {
						b.Fatal("not sorted")
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/element")
			})
		}
	}
}

// The scans and filters, and the loops with which they are compared, call these functions
// through variables.
var (
	addInt64         = func(a, b int64) int64 { return a + b }
	underFiveHundred = func(v int64) bool { return v < 500 }
)

// BenchmarkScan computes running sums and checks each result.
func BenchmarkScan(b *testing.B) {
	one, two := newScheduler(b, 1), newScheduler(b, 2)
	for _, n := range []int{1000, 1_000_000} {
		src, dst, want := make([]int64, n), make([]int64, n), make([]int64, n)
		for i := range src {
			src[i] = int64(i) * 7919 % 1001
		}
		loop := func(dst []int64) {
			sum := src[0]
			dst[0] = sum
			for i := 1; i < n; i++ {
				sum = addInt64(sum, src[i])
				dst[i] = sum
			}
		}
		loop(want)
		for _, impl := range []struct {
			name string
			scan func()
		}{
			{"loop", func() { loop(dst) }},
			{"Scan/workers=1", func() { par.Scan(one, dst, src, addInt64) }},
			{"Scan/workers=2", func() { par.Scan(two, dst, src, addInt64) }},
		} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, impl.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					impl.scan()
				}
				if !slices.Equal(dst, want) {
					b.Fatal("wrong sums")
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/element")
			})
		}
	}
}

// BenchmarkFilter keeps half of the elements and checks each result.
func BenchmarkFilter(b *testing.B) {
	one, two := newScheduler(b, 1), newScheduler(b, 2)
	for _, n := range []int{1000, 1_000_000} {
		r := rand.New(rand.NewPCG(uint64(n), 0))
		in := make([]int64, n)
		for i := range in {
			in[i] = r.Int64N(1000)
		}
		want := filtered(in, underFiveHundred)
		for _, impl := range []struct {
			name   string
			filter func() []int64
		}{
			{"loop", func() []int64 { return filtered(in, underFiveHundred) }},
			{"Filter/workers=1", func() []int64 { return par.Filter(one, in, underFiveHundred) }},
			{"Filter/workers=2", func() []int64 { return par.Filter(two, in, underFiveHundred) }},
		} {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, impl.name), func(b *testing.B) {
				b.ReportAllocs()
				var got []int64
				for b.Loop() {
					got = impl.filter()
				}
				if !slices.Equal(got, want) {
					b.Fatal("wrong elements")
				}
				b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/element")
			})
		}
	}
}
