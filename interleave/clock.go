package interleave

// A clock is a vector clock. Entry i of the clock of a thread is the last period
// of thread i that happens before its next action. A release ends a period of the
// releasing thread: a thread that acquires sees the actions of that period and of
// earlier ones, and none of later ones.
type clock [maxThreads]uint32

// join raises each entry to that of other. n is the number of threads.
//
//go:norace
func (c *clock) join(other *clock, n int) {
	for i := range other[:n] {
		if c[i] < other[i] {
			c[i] = other[i]
		}
	}
}

// assign copies the entries of n threads from other.
//
//go:norace
func (c *clock) assign(other *clock, n int) {
	for i := range other[:n] {
		c[i] = other[i]
	}
}

// clear sets the entries of n threads to 0.
//
//go:norace
func (c *clock) clear(n int) {
	for i := range c[:n] {
		c[i] = 0
	}
}

// extend makes a slice longer by one element. The new element is zero or an old
// element that is used again. extend is small enough to be inlined, because each step
// calls it several times.
//
//go:norace
func extend[T any](s []T) []T {
	if len(s) == cap(s) {
		s = grow(s)
	}
	return s[:len(s)+1]
}

// grow returns a copy of a slice with a larger capacity. It copies in a loop, because the
// runtime reports the accesses of copy and append to the race detector.
//
//go:norace
func grow[T any](s []T) []T {
	n := len(s)
	grown := make([]T, n, 2*n+16)
	for i := range n {
		grown[i] = s[i]
	}
	return grown
}

// clone returns a copy of a slice. It copies in a loop as extend does.
//
//go:norace
func clone[T any](s []T) []T {
	n := len(s)
	c := make([]T, n)
	for i := range n {
		c[i] = s[i]
	}
	return c
}
