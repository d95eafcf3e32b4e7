package interleave

import (
	"math/rand/v2"
	"runtime"
)

// delayAtomics delays one in about flagDelay operations of model types outside of
// explorations, so that ordinary tests meet orders that a machine at rest seldom shows. It
// yields, up to some 16,000 times, which takes milliseconds. It does not sleep: that would
// move the clock of a synctest bubble.
func delayAtomics() {
	if flagDelay == 0 || rand.UintN(flagDelay) != 0 {
		return
	}
	for range 1 << rand.IntN(15) {
		runtime.Gosched()
	}
}
