package par

// merge merges a and b, which are sorted, into dst, which is as long as both together. Of
// equal elements, those of a come first. Except for the end of the loop, no branch depends
// on a result of cmp.
func merge[E any](dst, a, b []E, cmp func(a, b E) int) {
	if len(a) == 0 || len(b) == 0 || cmp(b[0], a[len(a)-1]) >= 0 {
		copy(dst[copy(dst, a):], b)
		return
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		v, second := a[i], boolInt(cmp(b[j], a[i]) < 0)
		if second != 0 {
			v = b[j]
		}
		dst[i+j] = v
		j += second
		i += 1 - second
	}
	n := i + j
	n += copy(dst[n:], a[i:])
	copy(dst[n:], b[j:])
}

// corank returns the number of elements of a among the first n elements of a and b merged.
//
// Source: Siebert and Träff, "Perfectly load-balanced, optimal, stable, parallel
// merge", 2013.
func corank[E any](n int, a, b []E, cmp func(a, b E) int) int {
	lo, hi := max(0, n-len(b)), min(n, len(a))
	for lo < hi {
		i := int(uint(lo+hi) / 2)
		if cmp(b[n-i-1], a[i]) < 0 {
			hi = i
		} else { // a[i] comes before b[n-i-1], so it is among the first n
			lo = i + 1
		}
	}
	return lo
}

// insertionFunc sorts the short slice x. It is stable. x holds all its elements at each
// call of cmp.
func insertionFunc[E any](x []E, cmp func(a, b E) int) {
	for i := 1; i < len(x); i++ {
		for j := i; j > 0 && cmp(x[j], x[j-1]) < 0; j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
}
