package par

import "cmp"

// lessFirst moves the elements of x that are less than p to the front, and returns
// how many they are.
//
// Each element changes places with the first one that is not less, which is itself
// so long as there is none. That one moves on by what the comparison gives,
// as a number, for which there is an instruction: no branch.
func lessFirst[E cmp.Ordered](x []E, p E) int {
	m := 0
	for i, v := range x {
		x[i] = x[m]
		x[m] = v
		m += one(v < p)
	}
	return m
}

// equalFirst moves the elements of x that are not greater than p to the front, and
// returns how many they are.
func equalFirst[E cmp.Ordered](x []E, p E) int {
	m := 0
	for i, v := range x {
		x[i] = x[m]
		x[m] = v
		m += one(v <= p)
	}
	return m
}

// one returns 1 for true and 0 for false.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ascending returns how many elements are in order, from the front of x.
func ascending[E cmp.Ordered](x []E) int {
	i := 1
	for i < len(x) && x[i] >= x[i-1] {
		i++
	}
	return i
}

// descending returns how many elements are in reverse order, from the front of x.
func descending[E cmp.Ordered](x []E) int {
	i := 1
	for i < len(x) && x[i] <= x[i-1] {
		i++
	}
	return i
}

// insertion sorts x, which is short.
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
