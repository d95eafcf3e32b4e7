package par

import (
	"math"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// span is a range of a loop: what is left of it when it enters the scheduler, or a
// fork.
type span[W work[R], R any] struct {
	work   W
	acc    R // of the indices before lo, if the same goroutine has done them
	lo, hi int
	chunk  int // how many indices to begin with
	parts  int // for how many workers it is, unless it is for whoever asks
	end    *end
}

// end says from which index on nothing needs to be done any more. The spans of a
// loop share it. It is made with the first fork.
type end struct{ at atomix.Int64 }

func newEnd() *end {
	e := new(end)
	e.at.Store(math.MaxInt64)
	return e
}

// before reports whether the indices from i on need not be done.
func (e *end) before(i int) bool { return e != nil && e.at.Load() <= int64(i) }

// lower moves the end down to i.
func (e *end) lower(i int) {
	if e == nil {
		return
	}
	for at := e.at.Load(); int64(i) < at; at = e.at.Load() {
		if e.at.CompareAndSwap(at, int64(i)) {
			return
		}
	}
}

// runner is who runs a span.
type runner[W work[R], R any] struct {
	span[W, R]
	forks []int // the upper ends of those that are open, the newest last
}

// runSpan is the body of all loops. It does its range in chunks. When another worker
// is hungry between two of them, it forks the upper half of what is left. In the
// end it joins these forks, the newest first, which is the order of their indices.
func runSpan[R any, W work[R]](f *sched.Forks[span[W, R], R], sp span[W, R]) R {
	r := runner[W, R]{span: sp}
	ended := false
	defer func() {
		if !ended { // by a panic or Goexit: the other workers stop as well
			r.end.lower(0)
		}
	}()
	for r.parts > 1 {
		n, upper := r.hi-r.lo, r.parts/2
		r.fork(f, n/r.parts*upper+n%r.parts*upper/r.parts, upper)
		r.parts -= upper
		f.PromoteNow()
	}
	r.run(f)
	for len(r.forks) > 0 {
		last := len(r.forks) - 1
		hi := r.forks[last]
		r.forks = r.forks[:last]
		if f.TakeBackPointer() {
			r.hi = hi
			r.run(f)
		} else {
			r.acc = r.work.join(r.acc, f.Await())
			r.lo = hi
		}
	}
	ended = true
	return r.acc
}

// run does the indices [lo, hi), or the lower part of them when it forks the others
// or the loop ends.
func (r *runner[W, R]) run(f *sched.Forks[span[W, R], R]) {
	for last := cpu.Ticks(); r.lo < r.hi && !r.end.before(r.lo); {
		n := min(r.chunk, r.hi-r.lo)
		var then after
		r.acc, then = r.work.run(r.acc, r.lo, r.lo+n)
		switch then {
		case onlyBelow:
			r.end.lower(r.lo)
			return
		case nothing:
			r.end.lower(0)
			return
		}
		r.lo += n
		now := cpu.Ticks()
		p := pace{now - last, n}
		last = now
		r.chunk = p.chunk()
		if rest := r.hi - r.lo; f.Wanted() && rest > 1 && p.exceeds(small, rest) {
			r.fork(f, rest/2, 1)
		}
	}
}

// fork forks the upper n indices of [lo, hi), for so many workers.
func (r *runner[W, R]) fork(f *sched.Forks[span[W, R], R], n, parts int) {
	if r.end == nil {
		r.end = newEnd()
	}
	mid := r.hi - n
	f.Fork(span[W, R]{work: r.work, acc: r.work.zero(), lo: mid, hi: r.hi, chunk: r.chunk, parts: parts, end: r.end})
	r.forks = append(r.forks, r.hi)
	r.hi = mid
}
