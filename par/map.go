package par

import (
	"fmt"

	"github.com/lanewright/lanewright/sched"
)

// Map returns the results of fn for the elements of in, in the order of in. The calls may
// run at the same time and in any order. For an empty or nil slice the result is empty and
// not nil.
func Map[T, U any](s *sched.Scheduler, in []T, fn func(T) U) []U {
	if fn == nil {
		panic("par: Map: nil function")
	}
	out := make([]U, len(in))
	fold(s, len(in), mapping[T, U]{in: in, out: out, fn: fn})
	return out
}

// MapInto is Map with the results stored in out. It panics when out is shorter than in.
// out may be in itself, because each element is read before its result is stored, and is
// read only for that result. out must not overlap in in any other way.
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

func (w mapping[T, U]) run(_ none, lo, hi int) (none, remaining) {
	fn, in := w.fn, w.in[lo:hi]
	out := w.out[lo:][:len(in)]
	for i, v := range in {
		out[i] = fn(v)
	}
	return none{}, remainAll
}
