//go:build (386 || amd64 || arm64) && !purego && !race

package cpu

// Pause spins for n rounds of about 10 to 60 ns each. Pause(0) returns at once.
//
// A round is one PAUSE on 386 and amd64. It is one ISB on arm64, because YIELD is a
// no-op on common cores.
//
// The goroutine cannot be preempted inside Pause, and the garbage collector waits for
// it, so n should be less than a few hundred.
//
//go:noescape
func Pause(n uint32)
