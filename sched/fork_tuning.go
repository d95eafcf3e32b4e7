//go:build !interleave

package sched

// A worker without work begs for begRounds rounds of begRelax each, some 50 µs,
// before it parks: as long as it takes to wake it again. Each yieldEvery rounds it
// lets other goroutines run, and looks for computations that are old enough.
const (
	requestRounds = 256
	requestRelax  = 4
	yieldEvery    = 16
)

// lingerAfter is how many microseconds a fork has to take for its worker to beg when it
// is the last one. Ten loops of a million indices in a row take 0.60 to 0.66 of the
// time of the plain loop with two workers, and 0.51 to 0.55 when the second lingers.
// Computations of 3 µs back to back suffer from a worker that looks on (1.9 times
// the plain code in place of 1.5), hence the limit.
const requestAfterMicros = 50

// ripe is how many microseconds the looks of a worker are apart, at least, and so how old a
// computation has to be to be asked.
const minAgeMicros = 15
