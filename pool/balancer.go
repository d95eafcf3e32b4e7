package pool

import (
	"fmt"
	"math/rand/v2"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// Balancer picks lanes. Implementations are safe for concurrent use.
type Balancer interface {
	// Pick returns the number of the lane, in [0, v.Len()), that a call goes to. When that lane may
	// not run one more call, such as one that is reserved for a lease, the call goes to the next one
	// that may. When none may, the call waits for any. While calls wait, Pick is called in a pool with
	// an inline lane, while a lane is leased, and for a call that CallerRuns has its caller run.
	Pick(v View) int
}

// View is what a [Balancer] knows of the lanes of a pool: they are numbered from 0, in
// the order of the pool, the inline lane first or last. Its answers may be out of
// date at once.
type View struct{ r *roster }

// Len returns how many lanes there are.
func (v View) Len() int { return len(v.r.lanes) }

// InFlight returns how many calls run on a lane, or are about to.
func (v View) InFlight(lane int) int {
	_, n := v.r.lanes[lane].load()
	return n
}

// Backlog returns how many calls through its lease wait at a lane.
func (v View) Backlog(lane int) int {
	n, _ := v.r.lanes[lane].load()
	return n
}

// Free reports whether no call occupies a lane, as [Pool.Acquire] defines it, and the lane takes a call.
func (v View) Free(lane int) bool {
	l := v.r.lanes[lane]
	return l.executor.isFree() && v.r.takes(l)
}

// IsInline reports whether a lane is that of the callers.
func (v View) IsInline(lane int) bool { return v.r.p.isInline(v.r.lanes[lane]) }

// RoundRobin returns the balancer that goes through the lanes in turn. It is the
// default.
func RoundRobin() Balancer { return new(roundRobin) }

type roundRobin struct{ turn atomix.Uint32 }

func (b *roundRobin) Pick(v View) int { return int((b.turn.Add(1) - 1) % uint32(v.Len())) }

// FirstFree returns the balancer that picks the first free lane, see [View.Free], and goes
// through the lanes in turn when there is none.
func FirstFree() Balancer { return &firstFree{other: RoundRobin()} }

// Random returns the balancer that picks lanes at random. source may be nil; the
// balancer serialises its use.
func Random(source rand.Source) Balancer { return newRandom(source) }

// FirstFreeOrRandom returns the balancer that picks the first free lane, see [View.Free],
// and one at random when there is none. source is as in Random.
func FirstFreeOrRandom(source rand.Source) Balancer { return &firstFree{other: newRandom(source)} }

type firstFree struct{ other Balancer }

func (b *firstFree) Pick(v View) int {
	if i := v.firstFree(); i >= 0 {
		return i
	}
	return b.other.Pick(v)
}

// firstFree returns the first free lane, or -1. Few lanes are quicker to look at than the bits.
func (v View) firstFree() int {
	free, open := &v.r.p.free, v.r.open
	if v.Len() <= free.kept {
		for i := range v.Len() {
			if v.Free(i) {
				return i
			}
		}
		return -1
	}
	if v.Free(0) { // as in the common case
		return 0
	}
	before := 0
	if v.IsInline(0) {
		before = 1
	}
	walk := free.walk(open)
	if i := walk.next(0); i >= 0 {
		return before + i
	}
	if last := v.Len() - 1; last >= before+len(open) && v.Free(last) {
		return last // the inline lane
	}
	return -1
}

type random struct {
	mu  park.Mutex
	rng *rand.Rand // nil: the generator of the runtime, which needs no lock
}

func newRandom(source rand.Source) *random {
	if source == nil {
		return new(random)
	}
	return &random{rng: rand.New(source)}
}

func (b *random) Pick(v View) int {
	if b.rng == nil {
		return rand.IntN(v.Len())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rng.IntN(v.Len())
}

// ParseBalancer returns the balancer with that name, as configuration files give
// it: "roundRobin" or "robinRound", "firstFree" or "firstIdle", "random" or
// "randomLane", "firstFreeOrRandom" or "firstIdleOrRandom".
func ParseBalancer(name string) (Balancer, error) {
	switch name {
	case "roundRobin", "robinRound":
		return RoundRobin(), nil
	case "firstFree", "firstIdle":
		return FirstFree(), nil
	case "random", "randomLane":
		return Random(nil), nil
	case "firstFreeOrRandom", "firstIdleOrRandom":
		return FirstFreeOrRandom(nil), nil
	}
	return nil, fmt.Errorf("pool: unknown balancer %q", name)
}
