//go:build !interleave

package sched

// watches says that computations are watched.
const watches = true

// A worker without work begs for begRounds rounds of begRelax each, some 50 µs,
// before it parks: as long as it takes to wake it again. Each yieldEvery rounds it
// lets other goroutines run, and looks for computations that are old enough.
const (
	begRounds  = 256
	begRelax   = 4
	yieldEvery = 16
)

// ripe is how many microseconds the looks of a worker are apart, at least, and so how old a
// computation has to be to be asked.
const ripe = 15
