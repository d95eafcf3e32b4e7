package suite

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/workload"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/kernel"
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
			About: "float math over ten million numbers; the loop has the math inlined",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.mapSetup(workers, func(s *sched.Scheduler, out, in []float64, _ func(lo, hi int)) {
					par.MapInto(s, out, in, kernel.Norm)
				})
			},
		},
		{
			Name: "par/range-10M", Unit: bench.NsPerOp,
			About: "the same as a loop over ranges, with the math inlined",
			Setup: func(workers int) (*bench.Instance, error) {
				return z.mapSetup(workers, func(s *sched.Scheduler, out, _ []float64, plain func(lo, hi int)) {
					par.ForRange(s, len(out), plain)
				})
			},
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

// loopRounds is how often a run of par/for-1M goes over its indices, so that it takes
// some milliseconds.
const loopRounds = 10

func (z sizes) forSetup(workers int) (*bench.Instance, error) {
	out := make([]uint32, z.loop)
	body := func(i int) { out[i] += kernel.Value(i) }
	rounds := func(loop func()) error {
		for range loopRounds {
			loop()
		}
		return nil
	}
	return solve(workers, problem{
		ops: loopRounds * z.loop,
		ours: func(s *sched.Scheduler) error {
			return rounds(func() { par.For(s, z.loop, body) })
		},
		sequential: func() error {
			return rounds(func() { plainLoop(0, z.loop, body) })
		},
		parallel: func() error {
			return rounds(func() {
				deal(workers, z.loop, func(lo, hi int) { plainLoop(lo, hi, body) })
			})
		},
		parallelOps: loopRounds * z.loop,
		check: func() error {
			for i, v := range out {
				if v != loopRounds*kernel.Value(i) {
					return errors.New("an index was not met once a round")
				}
			}
			clear(out)
			return nil
		},
	})
}

// plainLoop calls a func value that the compiler does not know.
//
//go:noinline
func plainLoop(lo, hi int, body func(i int)) {
	for i := lo; i < hi; i++ {
		body(i)
	}
}

func (z sizes) mapSetup(workers int, ours func(s *sched.Scheduler, out, in []float64, plain func(lo, hi int))) (*bench.Instance, error) {
	in, out := make([]float64, z.numbers), make([]float64, z.numbers)
	for i := range in {
		in[i] = float64(i)
	}
	plain := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = kernel.Norm(in[i])
		}
	}
	return solve(workers, problem{
		ops:         z.numbers,
		ours:        func(s *sched.Scheduler) error { ours(s, out, in, plain); return nil },
		sequential:  func() error { plain(0, z.numbers); return nil },
		parallel:    func() error { deal(workers, z.numbers, plain); return nil },
		parallelOps: z.numbers,
		check: func() error {
			for i, v := range out {
				if v != kernel.Norm(in[i]) {
					return errors.New("an index was left out")
				}
			}
			clear(out)
			return nil
		},
	})
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
		parallel:    func() error { workload.GoJoin(a); return nil },
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
