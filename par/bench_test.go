package par_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/par"
)

// plain is the loop with which For is compared.
//
//go:noinline
func plain(n int, body func(int)) {
	for i := 0; i < n; i++ {
		body(i)
	}
}

// BenchmarkLoop compares loops over a small body with plain loops.
func BenchmarkLoop(b *testing.B) {
	x := make([]float64, 1_000_000)
	index := func(i int) { x[i] = x[i]*0.5 + 1 }
	inlined := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x[i] = x[i]*0.5 + 1
		}
	}
	for _, n := range []int{1, 10, 100, 1000, 1_000_000} {
		run := func(name string, loop func()) {
			b.Run(fmt.Sprintf("n=%d/impl=%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				clear(x)
				runs := 0
				for b.Loop() {
					loop()
					runs++
				}
				if want := 2 - 2*math.Pow(0.5, float64(runs)); x[0] != want || x[n-1] != want {
					b.Fatalf("got %v and %v after %d runs, want %v", x[0], x[n-1], runs, want)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(runs)/float64(n), "ns/index")
			})
		}
		run("plain", func() { plain(n, index) })
		run("inlined", func() { inlined(0, n) })
		for _, workers := range []int{1, 2} {
			s := newScheduler(b, workers)
			run(fmt.Sprintf("for/workers=%d", workers), func() { par.For(s, n, index) })
			run(fmt.Sprintf("range/workers=%d", workers), func() { par.ForRange(s, n, inlined) })
		}
	}
}

// BenchmarkMap compares Map and Reduce over a million numbers with plain loops.
func BenchmarkMap(b *testing.B) {
	in := make([]float64, 1_000_000)
	for i := range in {
		in[i] = float64(i % 1000)
	}
	out := make([]float64, len(in))
	fn := func(v float64) float64 { return math.Sqrt(v*v + 1) }
	want := make([]float64, len(in))
	for i, v := range in {
		want[i] = fn(v)
	}
	run := func(name string, loop func()) {
		b.Run("op=map/impl="+name, func(b *testing.B) {
			b.ReportAllocs()
			clear(out)
			for b.Loop() {
				loop()
			}
			if !slices.Equal(out, want) {
				b.Fatal("the results differ")
			}
		})
	}
	run("plain", func() {
		for i, v := range in {
			out[i] = math.Sqrt(v*v + 1)
		}
	})
	sum := func(name string, loop func() float64) {
		b.Run("op=sum/impl="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := loop(); got != 499_500_000 { // exact: whole numbers
					b.Fatalf("got %v", got)
				}
			}
		})
	}
	add := func(a, b float64) float64 { return a + b }
	sum("plain", func() (total float64) {
		for _, v := range in {
			total += v
		}
		return total
	})
	for _, workers := range []int{1, 2} {
		s := newScheduler(b, workers)
		run(fmt.Sprintf("map/workers=%d", workers), func() { par.MapInto(s, out, in, fn) })
		sum(fmt.Sprintf("reduce/workers=%d", workers), func() float64 { return par.Reduce(s, in, 0, add) })
		sum(fmt.Sprintf("fixed/workers=%d", workers), func() float64 { return par.ReduceFixed(s, in, 1000, 0, add) })
	}
}

// BenchmarkMapSeq measures the cost of a value in MapSeq.
func BenchmarkMapSeq(b *testing.B) {
	const n = 20_000
	for _, workers := range []int{1, 2} {
		s := newScheduler(b, workers)
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sum := 0
				for v := range par.MapSeq(s, slices.Values(numbers(n)), func(i int) int { return i }) {
					sum += v
				}
				if want := n * (n - 1) / 2; sum != want {
					b.Fatalf("got %d, want %d", sum, want)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}
