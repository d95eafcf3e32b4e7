package par

import (
	"math"
	"math/bits"

	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// work is what a loop does with its indices. An R is what becomes of a range of them.
type work[R any] interface {
	// body returns the function of the user that the loop calls.
	body() any

	// zero returns the R of an empty range.
	zero() R

	// run does the indices [lo, hi) in order. It returns the R of these and of those
	// before, which acc stands for, and what is to be done of the others.
	run(acc R, lo, hi int) (R, after)

	// join returns the R of two adjacent ranges, of which x is the lower one.
	join(x, y R) R
}

// after says what is to be done after a run of some indices.
type after uint8

const (
	goOn      after = iota
	onlyBelow       // the indices from these on need not be done
	nothing         // no index needs to be done
)

// Times, in ticks of [cpu.Ticks].
var (
	microsecond = cpu.TicksPerMicrosecond()

	sample = max(microsecond/2, 1) // the second step of a loop takes about as much
	small  = 4 * microsecond       // not worth sharing: nobody comes for what lasts less than three times as long
	short  = 2 * microsecond       // a chunk takes from this
	long   = 8 * microsecond       // to this, so that a look around is neither felt nor late
	heavy  = 20 * microsecond      // an index that takes longer is worth a task of its own
	large  = 100 * microsecond     // a loop that takes longer is worth waking a worker at once
)

// many is from how many indices on one look more is not felt.
const many = 1000

// fold does all indices below n.
func fold[R any, W work[R]](s *sched.Scheduler, n int, w W) R {
	s = on(s)
	switch {
	case n <= 0:
		return w.zero()
	case n == 1:
		acc, _ := w.run(w.zero(), 0, 1)
		return acc
	}
	if workers := s.MaxWorkers(); n <= max(few*workers, alone) {
		return foldFew[R](s, n, workers, w)
	}
	return foldMany[R](s, n, w)
}

// foldMany does all indices below n, which are many, or light.
//
// It begins alone: one index, then some, with a look at the clock after each step,
// until it knows that the rest is not worth sharing, or that it may be. Only then it
// enters the scheduler, which costs as much as 100 indices of a small body.
func foldMany[R any, W work[R]](s *sched.Scheduler, n int, w W) R {
	acc := w.zero()
	start := cpu.Ticks()
	last := start
	for lo, step := 0, 1; ; {
		var then after
		acc, then = w.run(acc, lo, lo+step)
		if lo += step; then != goOn || lo == n {
			return acc
		}
		now := cpu.Ticks()
		p := pace{now - last, step}
		last = now
		switch {
		case lo > 1 && !p.exceeds(small, n-lo):
			if step = n - lo; n >= many && lo < n/4 {
				step = n / 4 // and look again: the others may take longer
			}
			continue
		case now-start > small:
			sp := span[W, R]{work: w, acc: acc, lo: lo, hi: n, chunk: p.chunk()}
			if p.exceeds(heavy, 1) {
				recall(w.body()).learn(p)
			}
			if p.exceeds(large, n-lo) {
				sp.parts = min(n-lo, s.MaxWorkers())
			}
			return share(s, sp)
		}
		step = max(1, min((n-lo)/8, p.within(sample)))
	}
}

// share does the rest of a loop as a fork-join computation.
//
//go:noinline
func share[R any, W work[R]](s *sched.Scheduler, sp span[W, R]) R {
	return sched.ForkJoin(s, runSpan[R, W], sp)
}

// pace is how fast some indices were done.
type pace struct {
	ticks uint64
	n     int
}

// exceeds reports whether n indices would take longer than limit.
func (p pace) exceeds(limit uint64, n int) bool {
	hi, lo := bits.Mul64(p.ticks, uint64(n))
	return hi != 0 || lo > limit*uint64(p.n)
}

// within returns how many indices would take limit or somewhat less, without a
// division, but at least as many as before.
func (p pace) within(limit uint64) int {
	return p.n << max(0, bits.Len64(limit)-1-bits.Len64(p.ticks))
}

// chunk returns how many indices to do in one go, after a chunk of p.n.
func (p pace) chunk() int {
	switch {
	case p.ticks < short && p.n <= math.MaxInt/2:
		return 2 * p.n
	case p.ticks > long:
		return max(1, int(float64(p.n)*float64(short)/float64(p.ticks)))
	}
	return p.n
}
