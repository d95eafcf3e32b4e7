package par

import "sort"

// fewRuns reports whether x consists of a few sorted runs. The first run has n elements.
func (q *quick[E]) fewRuns(x []E, n int) bool {
	for range repairMoves {
		if n == len(x) {
			return true
		}
		n += q.ascending(x[n:])
	}
	return n == len(x)
}

// repair moves a few elements of x to their positions. It reports whether x is then sorted.
// The first n elements are sorted, and the next one is not in order.
//
// It is for slices that were sorted until a few elements were changed, added or swapped.
// Splits would recognize that too late.
func (q *quick[E]) repair(x []E, n int) bool {
	for range repairMoves {
		if n <= repairMoves || !q.less(x[n], x[n-2]) {
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

// moveDown moves x[i] before the greater elements in front of it, which are sorted.
func (q *quick[E]) moveDown(x []E, i int) {
	v := x[i]
	n := sort.Search(i, func(k int) bool { return q.less(v, x[k]) })
	copy(x[n+1:i+1], x[n:i])
	x[n] = v
}
