package par

// The functions of sort_ordered.go for elements that cmp compares. cmp may panic.
// Therefore it is called only while x holds all its elements.

// cheapMove is the size in bytes of the largest element that the partition moves at each
// step. A larger element is moved only when it is on the wrong side.
const cheapMove = 16

func lessFirstFunc[E any](x []E, p E, cmp func(a, b E) int) int {
	m := 0
	for i, v := range x {
		less := boolInt(cmp(v, p) < 0)
		x[i] = x[m]
		x[m] = v
		m += less
	}
	return m
}

func equalFirstFunc[E any](x []E, p E, cmp func(a, b E) int) int {
	m := 0
	for i, v := range x {
		equal := boolInt(cmp(v, p) <= 0)
		x[i] = x[m]
		x[m] = v
		m += equal
	}
	return m
}

// lessFirstHoare is lessFirstFunc for large elements. It moves only the elements that are
// on the wrong side. (Hoare's partition.)
func lessFirstHoare[E any](x []E, p E, cmp func(a, b E) int) int {
	i, j := 0, len(x)-1
	for {
		for i <= j && cmp(x[i], p) < 0 {
			i++
		}
		for i < j && cmp(x[j], p) >= 0 {
			j--
		}
		if i >= j {
			return i
		}
		x[i], x[j] = x[j], x[i]
		i++
		j--
	}
}

func ascendingFunc[E any](x []E, cmp func(a, b E) int) int {
	i := 1
	for i < len(x) && cmp(x[i], x[i-1]) >= 0 {
		i++
	}
	return i
}

func descendingFunc[E any](x []E, cmp func(a, b E) int) int {
	i := 1
	for i < len(x) && cmp(x[i], x[i-1]) <= 0 {
		i++
	}
	return i
}
