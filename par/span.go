package par

import (
	"math"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/sched"
)

// span is a range of a loop: the rest of the loop when it enters the scheduler, or a fork.
type span[W work[R], R any] struct {
	work   W
	acc    R // the result of the indices before lo, if the same goroutine has run them
	lo, hi int
	chunk  int // the length of the first chunk
	parts  int // the number of workers among which to divide it at once; below 2: on request
	end    *end
}

// end is the lowest index from which on nothing needs to be done. The spans of a loop
// share it. The first fork makes it.
type end struct{ at atomix.Int64 }

func newEnd() *end {
	e := new(end)
	e.at.Store(math.MaxInt64)
	return e
}

// excludes reports whether the indices from i on need not be done.
func (e *end) excludes(i int) bool { return e != nil && e.at.Load() <= int64(i) }

// lower lowers the end to i.
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

// runner is the state of a worker that runs a span.
type runner[W work[R], R any] struct {
	span[W, R]
	forks []int // the upper ends of the open forks, the newest last
}

// runSpan is the function of all loops on the scheduler. It runs its range in chunks. When
// another worker has requested a fork, it forks the upper half of the rest between two
// chunks. After its last chunk it joins its forks. It joins the newest one first, which is
// the order of their indices.
func runSpan[R any, W work[R]](f *sched.Forks[span[W, R], R], sp span[W, R]) R {
	r := runner[W, R]{span: sp}
	ended := false
	defer func() {
		if !ended { // a panic or Goexit: the other workers stop as well
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

// run runs the indices [lo, hi). It stops early when the loop ends, and it leaves out the
// indices that it forks.
func (r *runner[W, R]) run(f *sched.Forks[span[W, R], R]) {
	for last := cpu.Ticks(); r.lo < r.hi && !r.end.excludes(r.lo); {
		n := min(r.chunk, r.hi-r.lo)
		var then remaining
		r.acc, then = r.work.run(r.acc, r.lo, r.lo+n)
		switch then {
		case remainBelow:
			r.end.lower(r.lo)
			return
		case remainNone:
			r.end.lower(0)
			return
		}
		r.lo += n
		now := cpu.Ticks()
		p := pace{now - last, n}
		last = now
		r.chunk = p.chunk()
		if rest := r.hi - r.lo; f.Wanted() && rest > 1 && p.exceeds(minShareTicks, rest) {
			r.fork(f, rest/2, 1)
		}
	}
}

// fork forks the upper n indices of [lo, hi), to be divided among parts workers.
func (r *runner[W, R]) fork(f *sched.Forks[span[W, R], R], n, parts int) {
	if r.end == nil {
		r.end = newEnd()
	}
	mid := r.hi - n
	f.Fork(span[W, R]{work: r.work, acc: r.work.zero(), lo: mid, hi: r.hi, chunk: r.chunk, parts: parts, end: r.end})
	r.forks = append(r.forks, r.hi)
	r.hi = mid
}
