package sync

import (
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/park"
)

// Backoff spaces the attempts of a goroutine that waits for another goroutine to finish
// a short operation. It first spins, twice as long each round. It then yields the
// processor. After that it reports that the caller should park. All rounds together last
// some microseconds when no other goroutine wants the processor. The zero Backoff is
// ready. It belongs to one goroutine and is usually a local variable:
//
//	var b lfsync.Backoff
//	for !try() {
//		if !b.Next() {
//			parker.Park()
//			b.Reset()
//		}
//	}
//
// When the program has one processor (GOMAXPROCS is 1), no other goroutine runs while
// this one spins. Backoff then only yields.
type Backoff struct {
	round uint8 // rounds done, at most spinRounds+yieldRounds
}

// Next waits for one round and returns true, or returns false when all rounds are used
// up. The caller should then park. Next returns false until Reset. It never blocks.
func (b *Backoff) Next() bool {
	switch {
	case b.round < spinRounds && spinPays():
		cpu.Pause(1 << b.round)
		b.round++
		return true
	case b.round < spinRounds+yieldRounds:
		b.round = max(b.round, spinRounds) + 1
		park.Pause() // not Yield: the caller may park when no other goroutine has done anything
		return true
	}
	if spinRounds > 0 {
		processors.Store(0) // load GOMAXPROCS again next time, because it may change
	}
	return false
}

// Reset starts the rounds again. Call it after an attempt that succeeded and after a
// park.
func (b *Backoff) Reset() { b.round = 0 }

// processors is the last loaded value of GOMAXPROCS, or 0. runtime.GOMAXPROCS takes the
// lock of the Go scheduler, so a spinning goroutine must not call it each time.
var processors atomix.Int32

// spinPays reports whether another goroutine may run while this one spins.
func spinPays() bool {
	n := processors.Load()
	if n == 0 {
		n = int32(runtime.GOMAXPROCS(0))
		processors.Store(n)
	}
	return n > 1
}
