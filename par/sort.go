package par

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"unsafe"

	"github.com/lanewright/lanewright/sched"
)

// Sort sorts x in ascending order. The order and the result are those of [slices.Sort]:
// NaNs come first.
//
// It sorts in place and is not stable. It takes O(n log n) for every input. The caller
// sorts a short slice alone.
func Sort[S ~[]E, E cmp.Ordered](s *sched.Scheduler, x S) {
	s = orDefault(s)
	if len(x) <= sortTiny {
		slices.Sort(x)
		return
	}
	q := ordered[E]()
	x = nansFirst(x)
	if len(x) <= sortLeaf {
		q.sort(part[E]{x: x})
		return
	}
	q.parallel(s, x)
}

// SortContext is [Sort] with a context. When ctx ends before x is sorted, it returns the
// cause of ctx. x then holds all its elements, in some order. A worker completes the part
// that it has begun: a partition of the whole slice, or the sort of some thousand elements.
// If ctx has ended before the call, SortContext returns the cause of ctx for every x, also
// for an empty one. It panics if ctx is nil.
func SortContext[S ~[]E, E cmp.Ordered](ctx context.Context, s *sched.Scheduler, x S) error {
	return ordered[E]().parallelContext(ctx, orDefault(s), nansFirst(x))
}

// SortFunc sorts x in the order of cmp, as [slices.SortFunc] does: cmp(a, b) is negative
// when a comes before b. cmp must be a strict weak ordering. Several workers call cmp at
// once.
//
// It sorts in place and is not stable. A panic of cmp on any worker is raised again on the
// goroutine of the caller, as a [*sched.PanicError] if that was another worker. x then holds
// all its elements, in some order.
func SortFunc[S ~[]E, E any](s *sched.Scheduler, x S, cmp func(a, b E) int) {
	if cmp == nil {
		panic("par: SortFunc: nil cmp")
	}
	s = orDefault(s)
	if len(x) <= sortLeaf {
		slices.SortFunc(x, cmp)
		return
	}
	compared(cmp).parallel(s, x)
}

// SortFuncContext is [SortFunc] with a context, in the same way as [SortContext].
func SortFuncContext[S ~[]E, E any](ctx context.Context, s *sched.Scheduler, x S, cmp func(a, b E) int) error {
	if cmp == nil {
		panic("par: SortFuncContext: nil cmp")
	}
	return compared(cmp).parallelContext(ctx, orDefault(s), x)
}

// ordered returns the quicksort for elements that < compares. None of them is a NaN.
func ordered[E cmp.Ordered]() *quick[E] {
	return &quick[E]{
		less:       func(a, b E) bool { return a < b },
		lessFirst:  lessFirst[E],
		equalFirst: equalFirst[E],
		ascending:  ascending[E],
		descending: descending[E],
		smallLen:   20,
		smallSort:  insertion[E],
		fallback:   slices.Sort[[]E],
	}
}

// compared returns the quicksort for elements that cmp compares.
func compared[E any](cmp func(a, b E) int) *quick[E] {
	q := &quick[E]{
		less:       func(a, b E) bool { return cmp(a, b) < 0 },
		lessFirst:  func(x []E, p E) int { return lessFirstFunc(x, p, cmp) },
		equalFirst: func(x []E, p E) int { return equalFirstFunc(x, p, cmp) },
		ascending:  func(x []E) int { return ascendingFunc(x, cmp) },
		descending: func(x []E) int { return descendingFunc(x, cmp) },
		smallLen:   sortLeaf,
		smallSort:  func(x []E) { slices.SortFunc(x, cmp) },
		fallback:   func(x []E) { slices.SortFunc(x, cmp) },
	}
	var e E
	if unsafe.Sizeof(e) > cheapMove {
		q.lessFirst = func(x []E, p E) int { return lessFirstHoare(x, p, cmp) }
	}
	return q
}

// nansFirst moves the NaNs of x to the front and returns the rest of x.
func nansFirst[E cmp.Ordered](x []E) []E {
	switch reflect.TypeFor[E]().Kind() {
	case reflect.Float32, reflect.Float64:
	default:
		return x
	}
	n := 0
	for i, v := range x {
		if isNaN(v) {
			x[i], x[n] = x[n], x[i]
			n++
		}
	}
	return x[n:]
}

// isNaN reports whether v is a NaN. Only a NaN differs from itself.
func isNaN[E cmp.Ordered](v E) bool { return v != v }
