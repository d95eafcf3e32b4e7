//go:build !interleave

package sched

// fork_tuning.go and fork_tuning_interleave.go are a switch by build tag. They hold the
// durations of the fork protocol as numbers of rounds and microseconds. A model has no
// clock, and each round adds steps that the explorer must order. With the tag interleave
// the rounds are therefore few, and the minimum age is zero.

// Before a worker without work parks, it requests forks for requestRounds rounds of
// requestRelax each. That is some 50 µs, as long as it takes to wake the worker again.
// Every yieldEvery rounds it lets other goroutines run and observes the other places.
const (
	requestRounds = 256
	requestRelax  = 4
	yieldEvery    = 16
)

// requestAfterMicros is the number of microseconds that a fork must have taken for its
// worker to request another one although no computation is open. Ten loops of a million
// indices in a row take 0.60 to 0.66 of the time of the plain loop with two workers. When
// the second worker continues to request forks, they take 0.51 to 0.55. The limit
// protects computations of 3 µs in quick succession: under a worker that continues to
// observe, they take 1.9 times the time of the plain code and not 1.5 times.
const requestAfterMicros = 50

// minAgeMicros is the minimum number of microseconds between two observations of a
// worker. A computation must be that old before a worker requests a fork of it.
const minAgeMicros = 15
