package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// parBenchmarks are the benchmarks of the parallel algorithms. Their goroutines are
// one for each worker, with an equal share of the work.
func (z sizes) parBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "par/for-1M", Unit: bench.NsPerOp,
			About: "one million calls of a small func value; the loop calls the same",
			Setup: z.forSetup,
		},
		{
			Name: "par/map-10M", Unit: bench.NsPerOp,
			About: "float math over ten million numbers by a func value; the loop calls the same",
			Setup: z.mapSetup,
		},
		{
			Name: "par/sort-10M", Unit: bench.NsPerOp,
			About: "ten million random integers; slices.Sort is the sequential one",
			Setup: z.parSortSetup,
		},
	}
}

// deal runs part for as many ranges of 0 to n as there are workers, each in a
// goroutine.
func deal(workers, n int, part func(lo, hi int)) {
	var parts sync.WaitGroup
	for w := range workers {
		parts.Go(func() { part(w*n/workers, (w+1)*n/workers) })
	}
	parts.Wait()
}

func (z sizes) forSetup(workers int) (*bench.Instance, error) {
	out := make([]uint32, z.loop)
	body := func(i int) { out[i] = uint32(i) * 2654435761 }
	check := func() error {
		for i, v := range out {
			if v != uint32(i)*2654435761 {
				return errors.New("the loop has left an index out")
			}
		}
		clear(out)
		return nil
	}
	return solve(workers, problem{
		ops:        z.loop,
		ours:       func(s *sched.Scheduler) error { par.For(s, z.loop, body); return nil },
		sequential: func() error { plainLoop(z.loop, body); return nil },
		parallel: func() error {
			deal(workers, z.loop, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					body(i)
				}
			})
			return nil
		},
		parallelOps: z.loop,
		check:       check,
	})
}

// plainLoop calls a func value that the compiler does not know.
//
//go:noinline
func plainLoop(n int, body func(i int)) {
	for i := range n {
		body(i)
	}
}

// distance is some nanoseconds of floating point.
func distance(x float64) float64 { return math.Sqrt(x*x+1) / (1 + math.Abs(x)) }

func (z sizes) mapSetup(workers int) (*bench.Instance, error) {
	in, out := make([]float64, z.numbers), make([]float64, z.numbers)
	for i := range in {
		in[i] = float64(i) / 1024
	}
	return solve(workers, problem{
		ops: z.numbers,
		ours: func(s *sched.Scheduler) error {
			par.MapInto(s, out, in, distance)
			return nil
		},
		sequential: func() error { plainMap(out, in, distance); return nil },
		parallel: func() error {
			deal(workers, z.numbers, func(lo, hi int) { plainMap(out[lo:hi], in[lo:hi], distance) })
			return nil
		},
		parallelOps: z.numbers,
		check: func() error {
			for i, v := range out {
				if v != distance(in[i]) {
					return errors.New("the map has left an index out")
				}
			}
			clear(out)
			return nil
		},
	})
}

// plainMap calls a func value that the compiler does not know.
//
//go:noinline
func plainMap(out, in []float64, fn func(float64) float64) {
	for i, x := range in {
		out[i] = fn(x)
	}
}

func (z sizes) parSortSetup(workers int) (*bench.Instance, error) {
	random := rand.New(rand.NewPCG(1, 2))
	shuffled, a := make([]int32, z.sort), make([]int32, z.sort)
	for i := range shuffled {
		shuffled[i] = random.Int32()
	}
	want := slices.Clone(shuffled)
	slices.Sort(want)
	p := problem{
		ops:         z.sort,
		prepare:     func() { copy(a, shuffled) },
		ours:        func(s *sched.Scheduler) error { par.Sort(s, a); return nil },
		sequential:  func() error { slices.Sort(a); return nil },
		parallel:    func() error { goJoin(a); return nil },
		parallelOps: z.sort,
		check: func() error {
			if !slices.Equal(a, want) {
				return errors.New("not sorted")
			}
			return nil
		},
	}
	return solve(workers, p)
}
