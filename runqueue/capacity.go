//go:build !interleave

package runqueue

// Capacity is how many nodes a [Ring] holds. It is a power of two; 256 is what
// the Go runtime and zap use.
const Capacity = 256
