package par

import (
	"context"
	"slices"

	"github.com/lanewright/lanewright/sched"
)

// quick is a quicksort with the functions for one type of elements. Each function works on
// a whole part, so that the call costs little and its loop is compiled for the type.
//
// The partition has no branch that depends on an element. In other sorts, wrong guesses of
// the branch predictor take most of the time.
//
// Against bad inputs:
//
//   - the pivot is a median of up to 81 elements
//   - elements equal to the pivot are put aside at once when there are many of them
//   - a part that is sorted, or in reverse order, is recognized by a few comparisons
//   - a part that several bad splits have led to is sorted by package slices, which is
//     O(n log n) always
//
// One worker makes the first split, which is 3 % of sorting 10M elements.
//
// Source: pdqsort (Peters, 2021) for equal elements and bad splits. The partition is that
// of Lomuto without a branch (Alexandrescu, 2020).
//
// Rejected, in ns of processor time per element, for 2M random int32 on a busy machine
// where slices.Sort takes 106 and this sort 27:
//
//	30  a partition that carries one element along in place of swaps
//	35  blocks of offsets, as in BlockQuicksort
//	73  merging with a buffer, also without a branch
type quick[E any] struct {
	less       func(a, b E) bool
	lessFirst  func(x []E, p E) int // moves the elements less than p to the front, returns their number
	equalFirst func(x []E, p E) int // moves the elements not greater than p to the front, returns their number
	ascending  func(x []E) int      // the length of the sorted prefix
	descending func(x []E) int      // the length of the prefix in reverse order
	smallLen   int                  // the length up to which smallSort sorts a part
	smallSort  func(x []E)
	fallback   func(x []E) // O(n log n) for each input
}

const (
	sortTiny     = 32   // the length up to which package slices sorts: it needs no set-up
	sortLeaf     = 2048 // the length up to which one worker sorts alone
	maxBadSplits = 1    // after more, fallback sorts
	repairMin    = 512  // the length from which on repair is tried
	repairMoves  = 6    // the maximum of moves by repair
)

// part is a part of the slice to sort.
type part[E any] struct {
	x        []E
	bad      int  // the number of bad splits that led to this part
	noRepair bool // repair has failed
}

// parallel sorts x on s.
func (q *quick[E]) parallel(s *sched.Scheduler, x []E) {
	sched.ForkJoin(s, q.fork, part[E]{x: x})
}

// parallelContext sorts x on s until ctx ends.
func (q *quick[E]) parallelContext(ctx context.Context, s *sched.Scheduler, x []E) error {
	if ctx == nil {
		panic("par: nil context")
	}
	_, err := sched.ForkJoinContext(ctx, s, q.fork, part[E]{x: x})
	return err
}

// fork sorts p and forks one half of each split.
func (q *quick[E]) fork(f *sched.Forks[part[E], struct{}], p part[E]) (none struct{}) {
	for len(p.x) > sortLeaf {
		if f.Cancelled() || q.finish(&p) {
			return
		}
		var left part[E]
		if left, p = q.split(p); len(left.x) == 0 {
			continue
		}
		f.Fork(p)
		q.fork(f, left)
		if !f.TakeBackPointer() {
			return f.Await()
		}
	}
	if !f.Cancelled() {
		q.sort(p)
	}
	return
}

// sort sorts p on the caller.
func (q *quick[E]) sort(p part[E]) {
	for len(p.x) > q.smallLen {
		if q.finish(&p) {
			return
		}
		left, right := q.split(p)
		if len(left.x) < len(right.x) {
			q.sort(left)
			p = right
		} else {
			q.sort(right)
			p = left
		}
	}
	q.smallSort(p.x)
}

// finish sorts p if that needs no split. It reports whether p is sorted.
func (q *quick[E]) finish(p *part[E]) bool {
	x := p.x
	if p.bad > maxBadSplits {
		q.fallback(x)
		return true
	}
	switch e := len(x) / 8; {
	case q.inOrder(x[e], x[3*e], x[5*e], x[7*e]):
		n := q.ascending(x)
		if n == len(x) {
			return true
		}
		if !p.noRepair && len(x) >= repairMin && q.fewRuns(x, n) {
			p.noRepair = !q.repair(x, n)
			return !p.noRepair
		}
	case q.inOrder(x[7*e], x[5*e], x[3*e], x[e]):
		if q.descending(x) == len(x) {
			slices.Reverse(x)
			return true
		}
	}
	return false
}

// inOrder reports whether four elements are in ascending order.
func (q *quick[E]) inOrder(a, b, c, d E) bool {
	return !q.less(b, a) && !q.less(c, b) && !q.less(d, c)
}

// split moves the lesser elements of p to the front. It returns both parts. The first one
// may be empty.
func (q *quick[E]) split(p part[E]) (left, right part[E]) {
	n := len(p.x)
	pivot := p.x[q.pivot(p.x, 0, n, pivotDepth(n))]
	m := q.lessFirst(p.x, pivot)
	left, right = p, p
	left.x, right.x = p.x[:m], p.x[m:]
	if m <= n/16 { // perhaps because many elements equal the pivot
		right.x = right.x[q.equalFirst(right.x, pivot):]
	}
	if max(m, len(right.x)) >= n-n/16 {
		left.bad++
		right.bad++
	}
	return left, right
}

// pivot returns the index of an element near the median of x[lo:lo+n]. It is the median of
// three such elements, to the given depth.
func (q *quick[E]) pivot(x []E, lo, n, depth int) int {
	if depth == 0 {
		return lo + n/2
	}
	third := n / 3
	a := q.pivot(x, lo, third, depth-1)
	b := q.pivot(x, lo+third, third, depth-1)
	c := q.pivot(x, lo+2*third, third, depth-1)
	if q.less(x[b], x[a]) {
		a, b = b, a
	}
	switch {
	case !q.less(x[c], x[b]):
		return b
	case q.less(x[c], x[a]):
		return a
	}
	return c
}

// pivotDepth returns the depth of pivot for n elements. pivot looks at 3^depth of them.
func pivotDepth(n int) int {
	switch {
	case n < 128:
		return 1
	case n < 4096:
		return 2
	case n < 1<<17:
		return 3
	}
	return 4
}
