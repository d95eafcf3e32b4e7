//go:build !interleave

// Models replace one number of this package, the capacity of a ring. The file
// capacity_interleave.go has their value. To fill 256 slots takes hundreds of steps, and
// the time of an exhaustive exploration grows exponentially with the steps.

package runqueue

// Capacity is the number of nodes that a [Ring] holds. It is a power of two. The Go
// runtime and zap also use 256.
const Capacity = 256
