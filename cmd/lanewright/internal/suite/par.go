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

// parBenchmarks returns the benchmarks of the parallel algorithms. The reference with
// goroutines has one for each worker, with an equal share of the work.
func (z sizes) parBenchmarks() []*bench.Benchmark {
	return []*bench.Benchmark{
		{
			Name: "par/for-1M", Unit: bench.NsPerOp,
			About: "one million calls of a small func value; the loop calls the same value",
			Setup: z.forSetup,
		},
		{
			Name: "par/map-10M", Unit: bench.NsPerOp,
			About: "floating-point math over ten million numbers; the reference loop has the math inlined",
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
			About: "ten million random integers; the sequential reference is slices.Sort",
			Setup: z.parSortSetup,
		},
	}
}

// inRanges divides [0, n) into one range for each worker, and runs part for each range
// in a goroutine.
func inRanges(workers, n int, part func(lo, hi int)) {
	var parts sync.WaitGroup
	for w := range workers {
		parts.Go(func() { part(w*n/workers, (w+1)*n/workers) })
	}
	parts.Wait()
}

// loopRounds is the number of loops in a run of par/for-1M, which thus takes some
// milliseconds.
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
		scheduled: func(s *sched.Scheduler) error {
			return rounds(func() { par.For(s, z.loop, body) })
		},
		sequential: func() error {
			return rounds(func() { plainLoop(0, z.loop, body) })
		},
		goroutines: func() error {
			return rounds(func() {
				inRanges(workers, z.loop, func(lo, hi int) { plainLoop(lo, hi, body) })
			})
		},
		goroutineOps: loopRounds * z.loop,
		check: func() error {
			for i, v := range out {
				if v != loopRounds*kernel.Value(i) {
					return errors.New("the body did not run once for each index of a round")
				}
			}
			clear(out)
			return nil
		},
	})
}

// plainLoop calls a func value. It is not inlined, so that the compiler does not know
// that value.
//
//go:noinline
func plainLoop(lo, hi int, body func(i int)) {
	for i := lo; i < hi; i++ {
		body(i)
	}
}

// mapSetup measures fill, which stores kernel.Norm of each number of in to out. plain
// does the same for a range.
func (z sizes) mapSetup(workers int, fill func(s *sched.Scheduler, out, in []float64, plain func(lo, hi int))) (*bench.Instance, error) {
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
		ops:          z.numbers,
		scheduled:    func(s *sched.Scheduler) error { fill(s, out, in, plain); return nil },
		sequential:   func() error { plain(0, z.numbers); return nil },
		goroutines:   func() error { inRanges(workers, z.numbers, plain); return nil },
		goroutineOps: z.numbers,
		check: func() error {
			for i, v := range out {
				if v != kernel.Norm(in[i]) {
					return errors.New("the result for an index is missing")
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
		ops:          z.sort,
		prepare:      func() { copy(a, shuffled) },
		scheduled:    func(s *sched.Scheduler) error { par.Sort(s, a); return nil },
		sequential:   func() error { slices.Sort(a); return nil },
		goroutines:   func() error { workload.GoJoin(a); return nil },
		goroutineOps: z.sort,
		check: func() error {
			if !slices.Equal(a, want) {
				return errors.New("the result is not sorted")
			}
			return nil
		},
	}
	return solve(workers, p)
}
