//go:build interleave

package sched

// Models do not know time: every round yields, and every look asks what the last
// one has seen. A model may beg for longer.
var requestRounds = 2

const (
	requestRelax = 0
	yieldEvery   = 1

	minAgeMicros       = 0
	requestAfterMicros = 1 << 40
)
