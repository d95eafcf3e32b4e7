//go:build interleave

// The values of this file take the place of those in capacity.go in models. A ring of
// 4 slots fills, spills and wraps within the few steps that an exploration can afford.
// The algorithm is the same for every power of two from 2 on.

package runqueue

// Capacity is the number of nodes that a [Ring] holds. It is a power of two.
const Capacity = 4
