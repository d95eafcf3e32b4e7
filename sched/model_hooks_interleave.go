//go:build interleave

package sched

import "github.com/lanewright/lanewright/internal/park"

// The functions of model_hooks.go are variables in this build. The tests set them in
// model_hooks_interleave_test.go, so that this package does not import the explorer.

// Every round ends in a park.Pause, and every observation requests a fork of each computation
// that the previous one has seen. No worker continues to request forks after a long fork.
// requestRounds is a variable because some models need more rounds.
var requestRounds = 2

const (
	requestRelax = 0
	yieldEvery   = 1

	minAgeMicros       = 0
	requestAfterMicros = 1 << 40
)

// endRound lets other threads run after a round of a worker that requests forks. A model
// may replace it by a yield, which makes the switch after a round free: no preemption.
var endRound = park.Pause

// goStallMonitor starts the stall monitor, whose function is run. In a model it starts the
// monitor as a thread of the model.
var goStallMonitor = func(run func()) { go run() }

// hasForkMonitor reports whether computations start the fork monitor. In a model they do not,
// unless the model replaces hasForkMonitor.
var hasForkMonitor = func() bool { return !park.Explored() }

// hasIdleTimer reports whether a worker that parks starts the timer of the IdleTimeout. In a
// model it does not, unless the model replaces hasIdleTimer.
var hasIdleTimer = func() bool { return !park.Explored() }

// modelIdleTimer reports whether it has started the call of that timer as a thread of a model.
var modelIdleTimer = func(func()) bool { return false }

// modelForkMonitor reports whether it has started the fork monitor as a thread of a model.
var modelForkMonitor = func(*Scheduler) bool { return false }
