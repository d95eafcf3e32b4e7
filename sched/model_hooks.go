//go:build !interleave

package sched

import "github.com/lanewright/lanewright/internal/park"

// A model of this package (build tag interleave) replaces the functions of this file, because
// the explorer only controls threads that the model has started. A goroutine that package
// sched starts by itself would run outside the schedule that is explored. Workers need no
// hook: a model starts them as its threads through Config.Spawner.

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
