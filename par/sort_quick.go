package par

import (
	"context"
	"slices"

	"github.com/lanewright/lanewright/sched"
)

// quick is a quicksort, given what it has to know about the elements. Its
// functions work on whole parts, so that calling them costs nothing, and the loops
// behind them are made for the kind of elements.
//
// The partition has no branch that depends on an element: what a wrong guess of the
// branch predictor costs is most of the time that other sorts take. Against bad
// inputs: the pivot is a median of up to 81 elements; elements equal to a pivot are
// put aside at once when they are many; parts in order, or in reverse, are found by
// a look; and what has been split badly a few times goes to package slices, which
// is O(n log n) always.
//
// Source: pdqsort (Peters, 2021) for equal elements and bad splits; the
// partition is that of Lomuto, without a branch (Alexandrescu, 2020).
//
// One worker makes the first split, which is 3 % of sorting 10M elements.
//
// Rejected, in ns of processor time an element, for 2M random int32 on a busy machine
// where slices.Sort takes 106 and this 27:
//
//	30  a partition that carries one element along instead of swapping
//	35  blocks of offsets, as BlockQuicksort has them
//	73  merging, without a branch as well, with a buffer
type quick[E any] struct {
	less       func(a, b E) bool
	lessFirst  func(x []E, p E) int // moves those less than p to the front, returns how many
	equalFirst func(x []E, p E) int // moves those not greater than p to the front, returns how many
	ascending  func(x []E) int      // how many are in order, from the front
	descending func(x []E) int      // how many are in reverse order, from the front
	few        int                  // a part up to so long is sorted by small
	small      func(x []E)
	fallback   func(x []E) // sorts, O(n log n) whatever comes
}

const (
	sortFew   = 32   // up to so many are left to package slices: no set-up
	sortLeaf  = 2048 // up to so many are sorted by one worker
	badSplits = 1    // more are too many
	mendFrom  = 512  // so many at least are mended
	mendMoves = 6    // with so many moves
)

// part is a part to sort.
type part[E any] struct {
	x     []E
	bad   int  // splits that led here and were bad
	rough bool // not worth mending
}

// parallel sorts x on s.
func (q *quick[E]) parallel(s *sched.Scheduler, x []E) {
	sched.ForkJoin(s, q.fork, part[E]{x: x})
}

func (q *quick[E]) parallelContext(ctx context.Context, s *sched.Scheduler, x []E) error {
	if ctx == nil {
		panic("par: nil context")
	}
	_, err := sched.ForkJoinContext(ctx, s, q.fork, part[E]{x: x})
	return err
}

// fork sorts p, and forks a half of each split.
func (q *quick[E]) fork(f *sched.Forks[part[E], struct{}], p part[E]) (none struct{}) {
	for len(p.x) > sortLeaf {
		if f.Cancelled() || q.done(&p) {
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
	for len(p.x) > q.few {
		if q.done(&p) {
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
	q.small(p.x)
}

// done sorts what needs no split, and reports whether it did.
func (q *quick[E]) done(p *part[E]) bool {
	x := p.x
	if p.bad > badSplits {
		q.fallback(x)
		return true
	}
	switch e := len(x) / 8; {
	case q.inOrder(x[e], x[3*e], x[5*e], x[7*e]):
		n := q.ascending(x)
		if n == len(x) {
			return true
		}
		if !p.rough && len(x) >= mendFrom && q.fewRuns(x, n) {
			p.rough = !q.mend(x, n)
			return !p.rough
		}
	case q.inOrder(x[7*e], x[5*e], x[3*e], x[e]):
		if q.descending(x) == len(x) {
			slices.Reverse(x)
			return true
		}
	}
	return false
}

func (q *quick[E]) inOrder(a, b, c, d E) bool {
	return !q.less(b, a) && !q.less(c, b) && !q.less(d, c)
}

// split moves the lesser elements of p to the front, and returns both parts, of which
// the first may be empty.
func (q *quick[E]) split(p part[E]) (left, right part[E]) {
	n := len(p.x)
	pivot := p.x[q.guess(p.x, 0, n, guessDepth(n))]
	m := q.lessFirst(p.x, pivot)
	left, right = p, p
	left.x, right.x = p.x[:m], p.x[m:]
	if m <= n/16 { // because many are equal?
		right.x = right.x[q.equalFirst(right.x, pivot):]
	}
	if max(m, len(right.x)) >= n-n/16 {
		left.bad++
		right.bad++
	}
	return left, right
}

// guess returns the index of about the median of x[lo:lo+n]: the median of three
// such guesses, depth levels deep.
func (q *quick[E]) guess(x []E, lo, n, depth int) int {
	if depth == 0 {
		return lo + n/2
	}
	third := n / 3
	a := q.guess(x, lo, third, depth-1)
	b := q.guess(x, lo+third, third, depth-1)
	c := q.guess(x, lo+2*third, third, depth-1)
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

// guessDepth returns how many elements to look at, as a power of three, for the
// pivot of n.
func guessDepth(n int) int {
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
