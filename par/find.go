package par

import "github.com/lanewright/lanewright/sched"

// Any reports whether match returns true for an element of in. It calls match for the
// elements in any order, also at the same time. After a call has returned true, only
// the chunks that other workers have begun are completed. Any returns false for an
// empty slice.
func Any[T any](s *sched.Scheduler, in []T, match func(T) bool) bool {
	if match == nil {
		panic("par: Any: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: true, then: remainNone}) >= 0
}

// All reports whether match returns true for all elements of in. It calls match for the
// elements in any order, also at the same time. After a call has returned false, only
// the chunks that other workers have begun are completed. All returns true for an empty
// slice.
func All[T any](s *sched.Scheduler, in []T, match func(T) bool) bool {
	if match == nil {
		panic("par: All: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: false, then: remainNone}) < 0
}

// FindIndex returns the lowest index of an element of in for which match returns true,
// or -1. It calls match for all elements below that one and for some of the others, in
// any order, also at the same time. After a call has returned true, the elements above
// it are skipped, except in the chunks that other workers have begun.
func FindIndex[T any](s *sched.Scheduler, in []T, match func(T) bool) int {
	if match == nil {
		panic("par: FindIndex: nil function")
	}
	return fold(s, len(in), search[T]{in: in, match: match, want: true, then: remainBelow})
}

// Find returns the first element of in for which match returns true. ok is false when
// there is none. It calls match as [FindIndex] does.
func Find[T any](s *sched.Scheduler, in []T, match func(T) bool) (v T, ok bool) {
	if match == nil {
		panic("par: Find: nil function")
	}
	i := fold(s, len(in), search[T]{in: in, match: match, want: true, then: remainBelow})
	if i < 0 {
		return v, false
	}
	return in[i], true
}

// search is a loop that looks for an index. The result of a range is the index found in
// it, or -1.
type search[T any] struct {
	in    []T
	match func(T) bool
	want  bool
	then  remaining // when an index was found
}

func (w search[T]) body() any { return w.match }
func (w search[T]) zero() int { return -1 }

func (w search[T]) join(x, y int) int {
	if x >= 0 {
		return x
	}
	return y
}

func (w search[T]) run(_, lo, hi int) (int, remaining) {
	match, want := w.match, w.want
	for i, v := range w.in[lo:hi] {
		if match(v) == want {
			return lo + i, w.then
		}
	}
	return -1, remainAll
}
