package par

import (
	"fmt"

	"github.com/lanewright/lanewright/sched"
)

// Map returns what fn returns for each element of in, in the order of in. The calls
// may run at the same time, and in any order.
func Map[T, U any](s *sched.Scheduler, in []T, fn func(T) U) []U {
	if fn == nil {
		panic("par: Map: nil function")
	}
	out := make([]U, len(in))
	fold(s, len(in), mapping[T, U]{in: in, out: out, fn: fn})
	return out
}

// MapInto is Map that stores the results in out, which must be as long as in, or
// longer. It may be in: each element is read before its result is stored, and only
// for that. It may not overlap in otherwise.
func MapInto[T, U any](s *sched.Scheduler, out []U, in []T, fn func(T) U) {
	if fn == nil {
		panic("par: MapInto: nil function")
	}
	if len(out) < len(in) {
		panic(fmt.Sprintf("par: MapInto: %d elements do not fit into %d", len(in), len(out)))
	}
	fold(s, len(in), mapping[T, U]{in: in, out: out, fn: fn})
}

type mapping[T, U any] struct {
	noResult
	in  []T
	out []U
	fn  func(T) U
}

func (w mapping[T, U]) body() any { return w.fn }

func (w mapping[T, U]) run(_ none, lo, hi int) (none, after) {
	fn, in := w.fn, w.in[lo:hi]
	out := w.out[lo:][:len(in)]
	for i, v := range in {
		out[i] = fn(v)
	}
	return none{}, goOn
}
