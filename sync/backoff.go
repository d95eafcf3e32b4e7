package sync

import (
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/park"
)

// Backoff spaces the attempts of a goroutine that waits for another one to get
// out of the way: first it spins, twice as long each round, then it yields the
// processor, and then it says that it is time to park. The whole lasts some
// microseconds when nobody else wants the processor. The zero Backoff is ready.
// It belongs to one goroutine; usually it is a local variable:
//
//	var b lfsync.Backoff
//	for !try() {
//		if !b.Next() {
//			parker.Park()
//			b.Reset()
//		}
//	}
//
// Where the program has one processor (GOMAXPROCS is 1), there is nobody to spin
// for, and Backoff only yields.
type Backoff struct {
	round uint8 // rounds done, at most spinRounds+yieldRounds
}

// Next waits for one round and returns true, or returns false when all rounds
// are used up: then it is time to park, and Next keeps returning false until
// Reset. It never blocks.
func (b *Backoff) Next() bool {
	switch {
	case b.round < spinRounds && spinPays():
		cpu.Pause(1 << b.round)
		b.round++
		return true
	case b.round < spinRounds+yieldRounds:
		b.round = max(b.round, spinRounds) + 1
		park.Yield()
		return true
	}
	if spinRounds > 0 {
		processors.Store(0) // look again: GOMAXPROCS changes now and then
	}
	return false
}

// Reset starts the rounds anew. Call it after an attempt that succeeded, and
// after the park.
func (b *Backoff) Reset() { b.round = 0 }

// processors is GOMAXPROCS as some goroutine has seen it, or 0. To ask for it
// takes the lock of the Go scheduler, which whoever spins should leave alone.
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
