package sync

import "github.com/lanewright/lanewright/internal/cpu"

// Relax spins for n rounds of some 10 to 60 ns each, and returns at once where
// the program has one processor (GOMAXPROCS is 1). It is for a consumer that has
// caught up with a producer: to look again at once would cost both the cache
// line, each time, for one item. n should stay below a hundred.
func Relax(n uint32) {
	if spinRounds > 0 && spinPays() {
		cpu.Pause(n)
	}
}
