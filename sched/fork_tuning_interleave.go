//go:build interleave

package sched

// Models have no clock; fork_tuning.go has the values of a normal build. Every round ends
// in a park.Pause, and every observation requests a fork of each computation that the
// previous one has seen. No worker continues to request forks after a long fork.
// requestRounds is a variable because some models need more rounds.
var requestRounds = 2

const (
	requestRelax = 0
	yieldEvery   = 1

	minAgeMicros       = 0
	requestAfterMicros = 1 << 40
)
