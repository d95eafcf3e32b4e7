//go:build (386 || amd64 || arm64) && !purego && !race

package cpu

// Pause spins for n rounds, in rounds of some 10 to 60 ns: one PAUSE on 386 and
// amd64, one ISB on arm64, where YIELD is a no-op on the cores that people own.
//
// The goroutine cannot be preempted inside, and the garbage collector waits
// for it, so n should stay below a few hundred. Pause(0) returns at once.
//
//go:noescape
func Pause(n uint32)
