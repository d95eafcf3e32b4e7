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
	copyClock(c[:n], other[:n])
}

//go:norace
func copyClock(dst, src []uint32) {
	for i := range dst {
		dst[i] = src[i]
	}
}

//go:norace
func (c *clock) clear(n int) {
	for i := range c[:n] {
		c[i] = 0
	}
}
