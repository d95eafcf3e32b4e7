//go:build (amd64 || arm64) && !purego && !race

package cpu

// Ticks returns a counter that goes up at an even rate, about TicksPerMicrosecond.
// It is for measuring short times roughly: reading it takes some 10 ns, it does not
// wait for the instructions before it, and processors may differ a little.
//
//go:noescape
func Ticks() uint64
