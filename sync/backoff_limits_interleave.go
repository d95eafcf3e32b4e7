//go:build interleave

// The values of this file take the place of those in backoff_limits.go in models. The
// order of the rounds is the same: a Backoff yields, and then reports that it is time to
// park.

package sync

const (
	// spinRounds is 0. Each round of an explored thread is a yield, because only another
	// thread can change the awaited state.
	spinRounds = 0

	// yieldRounds is small to keep executions short.
	yieldRounds = 2
)
