package par

import "github.com/lanewright/lanewright/sched"

// Any reports whether match returns true for some element of in. It calls match for the
// elements in any order, also at the same time, and, when it has returned true, for
// no more than the chunks that others are at.
func Any[T any](s *sched.Scheduler, in []T, match func(T) bool) bool {
	if match == nil {
		panic("par: Any: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: true, then: nothing}) >= 0
}

// All reports whether match returns true for all elements of in. It calls match for the
// elements in any order, also at the same time, and, when it has returned false, for
// no more than the chunks that others are at.
func All[T any](s *sched.Scheduler, in []T, match func(T) bool) bool {
	if match == nil {
		panic("par: All: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: false, then: nothing}) < 0
}

// FindIndex returns the lowest index of an element of in for which match returns true,
// or -1. It calls match for all elements below that one, and for some of the others,
// in any order, also at the same time; when it has returned true, for no more of
// these than the chunks that others are at.
func FindIndex[T any](s *sched.Scheduler, in []T, match func(T) bool) int {
	if match == nil {
		panic("par: FindIndex: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: true, then: onlyBelow})
}

// Find returns the first element of in for which match returns true, and whether
// there is one. It is [FindIndex] otherwise.
func Find[T any](s *sched.Scheduler, in []T, match func(T) bool) (v T, ok bool) {
	if match == nil {
		panic("par: Find: nil function")
	}
	i := fold(s, len(in), search[T]{in: in, match: match, want: true, then: onlyBelow})
	if i < 0 {
		return v, false
	}
	return in[i], true
}

// search looks for an index. What becomes of a range is the index found there, or -1.
type search[T any] struct {
	in    []T
	match func(T) bool
	want  bool
	then  after // an index was found
}

func (w search[T]) body() any { return w.match }
func (w search[T]) zero() int { return -1 }

func (w search[T]) join(x, y int) int {
	if x >= 0 {
		return x
	}
	return y
}

func (w search[T]) run(_, lo, hi int) (int, after) {
	match, want := w.match, w.want
	for i, v := range w.in[lo:hi] {
		if match(v) == want {
			return lo + i, w.then
		}
	}
	return -1, goOn
}
