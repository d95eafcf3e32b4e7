package par

import "github.com/lanewright/lanewright/sched"

// For calls body for each i below n. The calls may run at the same time, and in any
// order.
func For(s *sched.Scheduler, n int, body func(i int)) {
	if body == nil {
		panic("par: For: nil body")
	}
	fold(s, n, perIndex{fn: body})
}

// ForRange calls body for ranges of indices [lo, hi), which together are those below
// n, each once. The calls may run at the same time, and in any order. How long the
// ranges are depends on how fast the body is. It is the fastest form: the loop over
// the indices is that of the body, and the compiler sees both.
func ForRange(s *sched.Scheduler, n int, body func(lo, hi int)) {
	if body == nil {
		panic("par: ForRange: nil body")
	}
	fold(s, n, perRange{fn: body})
}

// ForEach calls body for each element of slice, with its index. The calls may run at
// the same time, and in any order.
func ForEach[T any](s *sched.Scheduler, slice []T, body func(i int, v *T)) {
	if body == nil {
		panic("par: ForEach: nil body")
	}
	fold(s, len(slice), perElement[T]{slice: slice, fn: body})
}

// none is what becomes of the indices of a loop without a result.
type none = struct{}

type noResult struct{}

func (noResult) zero() none           { return none{} }
func (noResult) join(none, none) none { return none{} }

type perIndex struct {
	noResult
	fn func(int)
}

func (w perIndex) body() any { return w.fn }

func (w perIndex) run(_ none, lo, hi int) (none, after) {
	fn := w.fn
	for i := lo; i < hi; i++ {
		fn(i)
	}
	return none{}, goOn
}

type perRange struct {
	noResult
	fn func(lo, hi int)
}

func (w perRange) body() any { return w.fn }

func (w perRange) run(_ none, lo, hi int) (none, after) {
	w.fn(lo, hi)
	return none{}, goOn
}

type perElement[T any] struct {
	noResult
	slice []T
	fn    func(int, *T)
}

func (w perElement[T]) body() any { return w.fn }

func (w perElement[T]) run(_ none, lo, hi int) (none, after) {
	fn := w.fn
	for i := range w.slice[lo:hi] {
		fn(lo+i, &w.slice[lo+i])
	}
	return none{}, goOn
}
