package sync

import "github.com/lanewright/lanewright/internal/cpu"

// Relax spins for n rounds of some 10 to 60 ns each. It returns at once when the program
// has one processor (GOMAXPROCS is 1). It is for a consumer that is faster than its
// producer. If such a consumer polled again at once, the cache line would move between
// the two for each single task. n should stay below a hundred.
func Relax(n uint32) {
	if spinRounds > 0 && spinPays() {
		cpu.Pause(n)
	}
}
