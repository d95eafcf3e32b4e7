//go:build interleave

// The values of this file take the place of those in backoff_limits.go in models. The
// order of the rounds is the same: a Backoff has its rounds that yield, and then reports
// that it is time to park. These rounds are calls of park.Pause, so that the caller may
// park before another thread has taken a step.

package sync

const (
	// spinRounds is 0, because a spin is no step of an exploration.
	spinRounds = 0

	// yieldRounds is small to keep executions short: the caller tries again after each
	// round, and its attempts are steps.
	yieldRounds = 2
)
