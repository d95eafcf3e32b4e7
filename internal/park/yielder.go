package park

import "github.com/lanewright/lanewright/internal/cpu"

// Yielder yields for a loop that does better when others run before it goes on, but that
// can go on without. [Yield] comes after all that is ready to run: beside goroutines that
// compute, after a time slice of theirs, of 10 ms, while whoever parks for a channel and is
// woken by the goroutine that runs then goes on at once. So a Yielder stops for a while when
// a yield has taken long, for longer each time that the next one takes long, too. A lane made
// 100 calls a second beside such a goroutine without that, 140,000 to 320,000 with it, and
// 280,000 to 450,000 when it did not yield at all.
//
// The zero Yielder is ready. It is for one goroutine at a time.
type Yielder struct {
	turns int // > 0: yields until the next one that is timed; < 0: calls until the next yield
	skip  int // how many calls did without after the last timed yield, if that took long
}

const (
	longYield  = 1000 // microseconds
	timedYield = 4    // one in so many: looking at the clock twice takes 30 ns, a yield 160
	minSkip    = 1 << 12
	maxSkip    = 1 << 16
)

// Yield lets others run, unless that has taken long of late, and reports whether it did. In
// an exploration it always does.
func (y *Yielder) Yield() bool {
	switch {
	case Explored():
		Yield()
	case y.turns < 0:
		y.turns++
		return false
	case y.turns > 0:
		y.turns--
		Yield()
	default:
		began := cpu.Ticks()
		Yield()
		y.learn(int64(cpu.Ticks() - began)) // negative on another processor, perhaps
	}
	return true
}

// learn decides about the next calls after a yield of so many ticks.
func (y *Yielder) learn(ticks int64) {
	if ticks < int64(longYield*cpu.TicksPerMicrosecond()) {
		y.turns, y.skip = timedYield-1, 0
		return
	}
	y.skip = min(max(2*y.skip, minSkip), maxSkip)
	y.turns = -y.skip
}
