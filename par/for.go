package par

import "github.com/lanewright/lanewright/sched"

// For calls body for each i from 0 to n-1. The calls may run at the same time and in any
// order. For does nothing when n is 0 or less.
func For(s *sched.Scheduler, n int, body func(i int)) {
	if body == nil {
		panic("par: For: nil body")
	}
	fold(s, n, perIndex{fn: body})
}

// ForRange calls body for ranges of indices [lo, hi). Each index from 0 to n-1 is in one
// range. The calls may run at the same time and in any order. The length of the ranges
// depends on the speed of the body. ForRange is the fastest form, because the loop over
// the indices is in the body and the compiler sees both. ForRange does nothing when n is
// 0 or less.
func ForRange(s *sched.Scheduler, n int, body func(lo, hi int)) {
	if body == nil {
		panic("par: ForRange: nil body")
	}
	fold(s, n, perRange{fn: body})
}

// ForEach calls body for each element of slice, with its index. The calls may run at the
// same time and in any order. ForEach does nothing when slice is empty or nil.
func ForEach[T any](s *sched.Scheduler, slice []T, body func(i int, v *T)) {
	if body == nil {
		panic("par: ForEach: nil body")
	}
	fold(s, len(slice), perElement[T]{slice: slice, fn: body})
}

// none is the result of a range in a loop without a result.
type none = struct{}

// noResult is the part of a work that has no result.
type noResult struct{}

func (noResult) zero() none           { return none{} }
func (noResult) join(none, none) none { return none{} }

type perIndex struct {
	noResult
	fn func(int)
}

func (w perIndex) body() any { return w.fn }

func (w perIndex) run(_ none, lo, hi int) (none, remaining) {
	fn := w.fn
	for i := lo; i < hi; i++ {
		fn(i)
	}
	return none{}, remainAll
}

type perRange struct {
	noResult
	fn func(lo, hi int)
}

func (w perRange) body() any { return w.fn }

func (w perRange) run(_ none, lo, hi int) (none, remaining) {
	w.fn(lo, hi)
	return none{}, remainAll
}

type perElement[T any] struct {
	noResult
	slice []T
	fn    func(int, *T)
}

func (w perElement[T]) body() any { return w.fn }

func (w perElement[T]) run(_ none, lo, hi int) (none, remaining) {
	fn := w.fn
	for i := range w.slice[lo:hi] {
		fn(lo+i, &w.slice[lo+i])
	}
	return none{}, remainAll
}
