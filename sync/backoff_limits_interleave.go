//go:build interleave

package sync

const (
	// spinRounds is 0: to an explored thread each round is a yield, since what it
	// waits for can only be done by another thread.
	spinRounds = 0

	// yieldRounds is small, to keep executions short.
	yieldRounds = 2
)
