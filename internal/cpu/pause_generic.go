//go:build !(386 || amd64 || arm64) || purego || race

package cpu

// Pause spins for n rounds, in rounds of a few ns. Pause(0) returns at once.
func Pause(n uint32) {
	for range n {
		relax()
	}
}

// relax is a call that the compiler may not remove, so that a round lasts.
//
//go:noinline
func relax() {}
