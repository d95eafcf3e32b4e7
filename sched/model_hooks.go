//go:build !interleave

package sched

import "github.com/lanewright/lanewright/internal/park"

// model_hooks.go and model_hooks_interleave.go are a switch by build tag.
//
// A model of this package (build tag interleave) replaces the functions of this file, because
// the explorer only controls threads that the model has started. A goroutine that package
// sched starts by itself would run outside the schedule that is explored. Workers need no
// hook: a model starts them as its threads through Config.Spawner.
//
// The constants are the durations of the fork protocol as numbers of rounds and microseconds. A
// model has no clock, and each round adds steps that the explorer must order. In a model the
// rounds are therefore few, and the minimum age is zero.

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

// endRound lets other goroutines run after a round of a worker that requests forks. It is
// no park.Yield: the worker parks after its last round, also when no other goroutine has
// done anything.
func endRound() { park.Pause() }

// goStallMonitor starts the stall monitor, whose function is run. A model replaces it.
func goStallMonitor(run func()) { go run() }

// hasForkMonitor reports whether computations start the fork monitor. In most models a
// thread of the model observes instead.
func hasForkMonitor() bool { return true }

// hasIdleTimer reports whether a worker that parks starts the timer of the IdleTimeout. In most
// models no timer runs.
func hasIdleTimer() bool { return true }

// modelIdleTimer reports whether it has started the call of that timer as a thread of a model.
func modelIdleTimer(func()) bool { return false }

// modelForkMonitor reports whether it has started the fork monitor as a thread of a model.
func modelForkMonitor(*Scheduler) bool { return false }
