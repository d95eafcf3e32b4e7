package par

import "github.com/lanewright/lanewright/sched"

// Reduce returns in[0] combined with in[1], and so on, in this order. Each call of
// combine gets the results of two adjacent ranges, the lower one first. The result is
// therefore that of a plain loop if combine is associative. combine need not be
// commutative. identity must not change a value that it is combined with from either
// side. It is used several times, and it is the result for an empty slice.
//
// The limits of the ranges differ from run to run. Addition of floating-point numbers is
// not quite associative, so sums may differ in their last digits. Use [ReduceFixed] for a
// result that must not differ.
func Reduce[T any](s *sched.Scheduler, in []T, identity T, combine func(a, b T) T) T {
	if combine == nil {
		panic("par: Reduce: nil function")
	}
	return fold(s, len(in), reduction[T]{in: in, identity: identity, combine: combine})
}

// MapReduce is [Reduce] over the results of fn for the elements of in.
func MapReduce[T, R any](s *sched.Scheduler, in []T, identity R, fn func(T) R, combine func(a, b R) R) R {
	if fn == nil || combine == nil {
		panic("par: MapReduce: nil function")
	}
	return fold(s, len(in), mapReduction[T, R]{in: in, identity: identity, fn: fn, combine: combine})
}

// Fold adds the elements of in to accumulators, in order, and combines the accumulators
// in order. init returns a new accumulator for each range of elements that one worker
// runs. Each call of init must return a new value. No other call then uses that value, so
// unlike in [Reduce] add and combine may change their first argument and return it, for
// example a map. All three functions are called on several workers at the same time. The
// result for an empty slice is that of init.
func Fold[T, R any](s *sched.Scheduler, in []T, init func() R, add func(acc R, v T) R, combine func(a, b R) R) R {
	if init == nil || add == nil || combine == nil {
		panic("par: Fold: nil function")
	}
	return fold(s, len(in), folding[T, R]{in: in, init: init, add: add, combine: combine})
}

// FoldRange is [Fold] over indices. add gets ranges of the indices from 0 to n-1, and
// returns acc with the indices [lo, hi) added. When n is 0 or less, the result is that
// of init. It is the fastest form of all reductions, because the loop over the indices
// is in add and the compiler sees both.
func FoldRange[R any](s *sched.Scheduler, n int, init func() R, add func(acc R, lo, hi int) R, combine func(a, b R) R) R {
	if init == nil || add == nil || combine == nil {
		panic("par: FoldRange: nil function")
	}
	return fold(s, n, rangeFolding[R]{init: init, add: add, combine: combine})
}

// ReduceFixed is [Reduce] with a result that depends on its arguments only, for any
// combine. It reduces each block of block elements in order, beginning with the first
// element of the block, and then the results of the blocks. identity is used only as the
// result for an empty slice. It panics when block is less than 1. Blocks of 1000 elements
// cost nothing for additions.
func ReduceFixed[T any](s *sched.Scheduler, in []T, block int, identity T, combine func(a, b T) T) T {
	if combine == nil {
		panic("par: ReduceFixed: nil function")
	}
	if block < 1 {
		panic("par: ReduceFixed: blocks of less than one element")
	}
	return reduceFixed(s, in, block, identity, func(v T) T { return v }, combine, combine)
}

// MapReduceFixed is [ReduceFixed] over the results of fn for the elements of in.
func MapReduceFixed[T, R any](s *sched.Scheduler, in []T, block int, identity R, fn func(T) R, combine func(a, b R) R) R {
	if fn == nil || combine == nil {
		panic("par: MapReduceFixed: nil function")
	}
	if block < 1 {
		panic("par: MapReduceFixed: blocks of less than one element")
	}
	return reduceFixed(s, in, block, identity, fn, combine, fn)
}

// reduceFixed reduces in by blocks. user is the function of the user by which the loop
// over the blocks is recorded: the closure here is the same for all calls.
func reduceFixed[T, R any](
	s *sched.Scheduler, in []T, block int, identity R, fn func(T) R, combine func(a, b R) R, user any,
) R {
	s = orDefault(s)
	if len(in) == 0 {
		return identity
	}
	results := make([]R, (len(in)-1)/block+1)
	fold(s, len(results), perBlock{user: user, perIndex: perIndex{fn: func(b int) {
		from := in[b*block:]
		from = from[:min(block, len(from))]
		acc := fn(from[0])
		for _, v := range from[1:] {
			acc = combine(acc, fn(v))
		}
		results[b] = acc
	}}})
	acc := results[0]
	for _, r := range results[1:] {
		acc = combine(acc, r)
	}
	return acc
}

type perBlock struct {
	perIndex
	user any
}

func (w perBlock) body() any { return w.user }

type reduction[T any] struct {
	in       []T
	identity T
	combine  func(a, b T) T
}

func (w reduction[T]) body() any     { return w.combine }
func (w reduction[T]) zero() T       { return w.identity }
func (w reduction[T]) join(x, y T) T { return w.combine(x, y) }

func (w reduction[T]) run(acc T, lo, hi int) (T, remaining) {
	combine := w.combine
	for _, v := range w.in[lo:hi] {
		acc = combine(acc, v)
	}
	return acc, remainAll
}

type mapReduction[T, R any] struct {
	in       []T
	identity R
	fn       func(T) R
	combine  func(a, b R) R
}

func (w mapReduction[T, R]) body() any     { return w.fn }
func (w mapReduction[T, R]) zero() R       { return w.identity }
func (w mapReduction[T, R]) join(x, y R) R { return w.combine(x, y) }

func (w mapReduction[T, R]) run(acc R, lo, hi int) (R, remaining) {
	fn, combine := w.fn, w.combine
	for _, v := range w.in[lo:hi] {
		acc = combine(acc, fn(v))
	}
	return acc, remainAll
}

type folding[T, R any] struct {
	in      []T
	init    func() R
	add     func(R, T) R
	combine func(a, b R) R
}

func (w folding[T, R]) body() any     { return w.add }
func (w folding[T, R]) zero() R       { return w.init() }
func (w folding[T, R]) join(x, y R) R { return w.combine(x, y) }

func (w folding[T, R]) run(acc R, lo, hi int) (R, remaining) {
	add := w.add
	for _, v := range w.in[lo:hi] {
		acc = add(acc, v)
	}
	return acc, remainAll
}

type rangeFolding[R any] struct {
	init    func() R
	add     func(acc R, lo, hi int) R
	combine func(a, b R) R
}

func (w rangeFolding[R]) body() any     { return w.add }
func (w rangeFolding[R]) zero() R       { return w.init() }
func (w rangeFolding[R]) join(x, y R) R { return w.combine(x, y) }

func (w rangeFolding[R]) run(acc R, lo, hi int) (R, remaining) { return w.add(acc, lo, hi), remainAll }
