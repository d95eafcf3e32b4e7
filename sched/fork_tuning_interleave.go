//go:build interleave

package sched

// Models do not know time: every round yields, and every look asks what the last
// one has seen. A model may beg for longer.
var begRounds = 2

const (
	begRelax   = 0
	yieldEvery = 1

	ripe        = 0
	lingerAfter = 1 << 40
)
