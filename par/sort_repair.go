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
		if n <= mendMoves || !q.less(x[n], x[n-2]) {
			q.moveUp(x, n-1)
			n = max(n-1, 1)
		} else {
			q.moveDown(x, n)
			n++
		}
		if n += q.ascending(x[n-1:]) - 1; n == len(x) {
			return true
		}
	}
	return false
}

// moveUp moves x[i] behind the lesser elements that follow it.
func (q *quick[E]) moveUp(x []E, i int) {
	v, n := x[i], i+1
	for n < len(x) && q.less(x[n], v) {
		n++
	}
	copy(x[i:], x[i+1:n])
	x[n-1] = v
}

// moveDown moves x[i] before the greater ones of the elements in front, which are in
// order.
func (q *quick[E]) moveDown(x []E, i int) {
	v := x[i]
	n := sort.Search(i, func(k int) bool { return q.less(v, x[k]) })
	copy(x[n+1:i+1], x[n:i])
	x[n] = v
}
