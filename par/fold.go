package par

import (
	"math"
	"math/bits"

	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// work is what a loop does with its indices and how it combines the results. R is the
// result of a range of indices.
type work[R any] interface {
	// body returns the function of the user that the loop calls.
	body() any

	// zero returns the R of an empty range.
	zero() R

	// run calls the function for the indices [lo, hi) in order. acc is the R of the
	// indices before lo. run returns the R of all indices below hi, and which of the
	// other indices remain to be done.
	run(acc R, lo, hi int) (R, remaining)

	// join returns the R of two adjacent ranges, of which x is the lower one.
	join(x, y R) R
}

// remaining is the part of a loop that remains to be done after a run.
type remaining uint8

const (
	remainAll   remaining = iota
	remainBelow           // the indices below those of the run; the later ones are skipped
	remainNone            // no index
)

// Times in ticks of [cpu.Ticks].
var (
	microsecond = cpu.TicksPerMicrosecond()

	sampleTicks   = max(microsecond/2, 1) // the target for the second step of a loop
	minShareTicks = 4 * microsecond       // a shorter rest is not shared: a worker arrives only for one that lasts three times as long
	minChunkTicks = 2 * microsecond       // chunks below it are made longer: the check for a request would cost time
	maxChunkTicks = 8 * microsecond       // chunks above it are made shorter: the check for a request would come late
	heavyTicks    = 20 * microsecond      // a longer index is worth a task of its own
	largeTicks    = 100 * microsecond     // for a longer loop a worker is woken at once
)

// manyIndices is the number of indices from which on the cost of one more reading of
// the clock cannot be measured.
const manyIndices = 1000

// fold runs the loop w over all indices below n.
func fold[R any, W work[R]](s *sched.Scheduler, n int, w W) R {
	s = orDefault(s)
	switch {
	case n <= 0:
		return w.zero()
	case n == 1:
		acc, _ := w.run(w.zero(), 0, 1)
		return acc
	}
	if workers := s.MaxWorkers(); n <= max(fewPerWorker*workers, lightMax) {
		return foldFew[R](s, n, workers, w)
	}
	return foldMany[R](s, n, w)
}

// foldMany runs a loop over many indices, or over light ones.
//
// It begins on the caller alone: one index, then some more, with a reading of the clock
// after each step. It continues until it knows whether the rest is worth sharing. Only
// then it enters the scheduler, because that costs as much as 100 indices of a small
// body.
func foldMany[R any, W work[R]](s *sched.Scheduler, n int, w W) R {
	acc := w.zero()
	start := cpu.Ticks()
	last := start
	for lo, step := 0, 1; ; {
		var then remaining
		acc, then = w.run(acc, lo, lo+step)
		if lo += step; then != remainAll || lo == n {
			return acc
		}
		now := cpu.Ticks()
		p := pace{now - last, step}
		last = now
		switch {
		case lo > 1 && !p.exceeds(minShareTicks, n-lo):
			if step = n - lo; n >= manyIndices && lo < n/4 {
				step = n / 4 // read the clock again: the other indices may take longer
			}
			continue
		case now-start > minShareTicks:
			sp := span[W, R]{work: w, acc: acc, lo: lo, hi: n, chunk: p.chunk()}
			if p.exceeds(heavyTicks, 1) {
				recordOf(w.body()).update(p)
			}
			if p.exceeds(largeTicks, n-lo) {
				sp.parts = min(n-lo, s.MaxWorkers())
			}
			return share(s, sp)
		}
		step = max(1, min((n-lo)/8, p.within(sampleTicks)))
	}
}

// share runs the rest of a loop as a fork-join computation.
//
//go:noinline
func share[R any, W work[R]](s *sched.Scheduler, sp span[W, R]) R {
	return sched.ForkJoin(s, runSpan[R, W], sp)
}

// pace is the time that some indices took.
type pace struct {
	ticks uint64
	n     int
}

// exceeds reports whether n indices would take longer than limit.
func (p pace) exceeds(limit uint64, n int) bool {
	hi, lo := bits.Mul64(p.ticks, uint64(n))
	return hi != 0 || lo > limit*uint64(p.n)
}

// within returns the number of indices that would take limit or somewhat less. The
// result is at least p.n. There is no division.
func (p pace) within(limit uint64) int {
	return p.n << max(0, bits.Len64(limit)-1-bits.Len64(p.ticks))
}

// chunk returns the length of the next chunk after one of p.n indices.
func (p pace) chunk() int {
	switch {
	case p.ticks < minChunkTicks && p.n <= math.MaxInt/2:
		return 2 * p.n
	case p.ticks > maxChunkTicks:
		return max(1, int(float64(p.n)*float64(minChunkTicks)/float64(p.ticks)))
	}
	return p.n
}
