package interleave

import (
	"math/rand/v2"
	"runtime"
)

// delayAtomics delays one in about flagDelay operations of model types outside of
// explorations. Ordinary tests then meet orders that are rare on an idle machine.
// It yields up to some 16,000 times, which takes milliseconds. It does not sleep,
// because that would advance the clock of a synctest bubble.
func delayAtomics() {
	if flagDelay == 0 || rand.UintN(flagDelay) != 0 {
		return
	}
	for range 1 << rand.IntN(15) {
		runtime.Gosched()
	}
}
