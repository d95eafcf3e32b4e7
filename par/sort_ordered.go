package par

import "cmp"

// lessFirst moves the elements of x that are less than p to the front. It returns their
// number.
//
// Each element is swapped with the first element that is not less than p, or with itself
// as long as there is none. The index of that first element grows by the result of the
// comparison as a number. There is an instruction for that, and no branch.
func lessFirst[E cmp.Ordered](x []E, p E) int {
	m := 0
	for i, v := range x {
		x[i] = x[m]
		x[m] = v
		m += boolInt(v < p)
	}
	return m
}

// equalFirst moves the elements of x that are not greater than p to the front. It returns
// their number.
func equalFirst[E cmp.Ordered](x []E, p E) int {
	m := 0
	for i, v := range x {
		x[i] = x[m]
		x[m] = v
		m += boolInt(v <= p)
	}
	return m
}

// boolInt returns 1 for true and 0 for false.
func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ascending returns the length of the longest sorted prefix of x.
func ascending[E cmp.Ordered](x []E) int {
	i := 1
	for i < len(x) && x[i] >= x[i-1] {
		i++
	}
	return i
}

// descending returns the length of the longest prefix of x in reverse order.
func descending[E cmp.Ordered](x []E) int {
	i := 1
	for i < len(x) && x[i] <= x[i-1] {
		i++
	}
	return i
}

// insertion sorts the short slice x.
func insertion[E cmp.Ordered](x []E) {
	for i := 1; i < len(x); i++ {
		v, j := x[i], i
		for j > 0 && v < x[j-1] {
			x[j] = x[j-1]
			j--
		}
		x[j] = v
	}
}
