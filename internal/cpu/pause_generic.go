//go:build !(386 || amd64 || arm64) || purego || race

package cpu

// Pause spins for n rounds of a few ns each. Pause(0) returns at once.
func Pause(n uint32) {
	for range n {
		relax()
	}
}

// relax is a call that the compiler may not remove. Without it a round takes no time.
//
//go:noinline
func relax() {}
