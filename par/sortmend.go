package par

import "sort"

// fewRuns reports whether x, whose first n elements are in order, consists of a few runs
// that are in order.
func (q *quick[E]) fewRuns(x []E, n int) bool {
	for range mendMoves {
		if n == len(x) {
			return true
		}
		n += q.ascending(x[n:])
	}
	return n == len(x)
}

// mend moves a few elements of x to where they belong, and reports whether x is in
// order then. The first n are in order, the next is not.
//
// It is for what was in order until somebody changed, added or swapped a few
// elements. Splits would find that out too late.
func (q *quick[E]) mend(x []E, n int) bool {
	for range mendMoves {
		if n == 1 || !q.less(x[n], x[n-2]) {
			q.moveUp(x, n-1)
		} else {
			q.moveDown(x, n)
		}
		if n += q.ascending(x[n-1:]) - 1; n == len(x) {
			return true
		}
	}
	return false
}

// moveUp moves x[i] behind the lesser elements of the run that follows it.
func (q *quick[E]) moveUp(x []E, i int) {
	v, rest := x[i], x[i+1:]
	run := q.ascending(rest)
	n := sort.Search(run, func(k int) bool { return !q.less(rest[k], v) })
	copy(x[i:], rest[:n])
	x[i+n] = v
}

// moveDown moves x[i] before the greater ones of the elements in front, which are in
// order.
func (q *quick[E]) moveDown(x []E, i int) {
	v := x[i]
	n := sort.Search(i, func(k int) bool { return q.less(v, x[k]) })
	copy(x[n+1:i+1], x[n:i])
	x[n] = v
}
