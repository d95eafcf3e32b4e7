//go:build interleave

package runqueue

// Capacity is how many nodes a [Ring] holds. It is a power of two, and small so
// that models reach the full ring in a few steps.
const Capacity = 4
