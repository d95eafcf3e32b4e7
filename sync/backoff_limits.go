//go:build !interleave

// Models replace the number of rounds of a Backoff. The file
// backoff_limits_interleave.go has their values. In an exploration a spin cannot make
// progress, because only one thread runs at a time, and each round is a step.

package sync

const (
	// spinRounds is the number of rounds of a Backoff that spin. They take 1, 2, 4, ...
	// 64 times cpu.Pause, in all 127 times or some 2 to 6 us. That is less
	// than the time until a goroutine switch on another processor is noticed. It is longer
	// than any critical section of this module, unless the goroutine in the section was
	// preempted.
	spinRounds = 7

	// yieldRounds is the number of rounds that yield the processor to other goroutines.
	// With fewer rounds, the awaited goroutine may not have run yet when it is queued on
	// this processor behind another goroutine.
	yieldRounds = 4
)
