//go:build !interleave

package sync

const (
	// spinRounds is how many rounds of a Backoff spin: 1, 2, 4, ... 64 times
	// cpu.Pause, in all 127 or some 2 to 6 us. That is less than a goroutine
	// switch on another processor takes to be noticed, and more than any critical
	// section of this module lasts unless its goroutine was preempted.
	spinRounds = 7

	// yieldRounds is how many rounds give the processor to other goroutines. With
	// fewer, the one that is waited for may not have had its turn when it waits in
	// the queue of this processor behind another.
	yieldRounds = 4
)
