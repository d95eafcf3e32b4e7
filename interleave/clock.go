package interleave

// A clock is a vector clock: entry i is the number of the last period of
// thread i that its holder has seen. A thread begins a new period when it
// releases: whatever it did before is seen by who acquires, and whatever it
// does later is not.
type clock [maxThreads]uint32

// join takes in what other has seen. n is how many threads there are.
//
//go:norace
func (c *clock) join(other *clock, n int) {
	for i := range other[:n] {
		if c[i] < other[i] {
			c[i] = other[i]
		}
	}
}

//go:norace
func (c *clock) assign(other *clock, n int) {
	for i := range other[:n] {
		c[i] = other[i]
	}
}

//go:norace
func (c *clock) clear(n int) {
	for i := range c[:n] {
		c[i] = 0
	}
}

// extend makes a slice one longer. The new element is zero, or an old one that
// is used again. It copies in a loop, as the runtime shows to the race detector
// what copy and append do.
//
//go:norace
func extend[T any](s []T) []T {
	n := len(s)
	if n == cap(s) {
		grown := make([]T, n, 2*n+16)
		for i := range n {
			grown[i] = s[i]
		}
		s = grown
	}
	return s[:n+1]
}
