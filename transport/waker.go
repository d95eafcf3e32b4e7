package transport

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Waker parks one side of a [Link] and wakes the other side. It has the clock that both sides read. Each side has
// a Waker of its own. [NewLink] makes those of two goroutines.
//
// One goroutine at a time calls Park. The other methods are safe for concurrent use, and never block.
type Waker interface {
	// Park blocks until WakeOwn, or until WakePeer by the Waker of the other side. It returns at once when the
	// doorbell does not have the value seen. It may return at any time, and the caller looks at its condition
	// again. until is a time of Now; 0 is no deadline. The result is true when the deadline has passed.
	Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool)
	// WakeOwn ends the Park of this side. Without one it ends the next Park at once.
	WakeOwn()
	// WakePeer ends the Park of the other side on that doorbell. The caller has changed the doorbell.
	WakePeer(bell *atomix.Uint32)
	// Now returns the time in nanoseconds. It is more than 0 and never goes back, and both sides read the same
	// clock.
	Now() int64
}

// goroutine is the Waker of one of two sides that are goroutines of this program. It compares the doorbell, and
// parks on a Parker.
type goroutine struct {
	own, peer *lfsync.Parker
	origin    time.Time // 1 ns after the origin of Now
}

// newGoroutines returns the Wakers of two sides.
func newGoroutines() (one, other *goroutine) {
	a, b, origin := lfsync.NewParker(), lfsync.NewParker(), time.Now()
	return &goroutine{a, b, origin}, &goroutine{b, a, origin}
}

func (g *goroutine) Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	if bell.Load() != seen {
		return false
	}
	if until == 0 {
		g.own.Park()
		return false
	}
	return !g.own.ParkFor(time.Duration(until - g.Now()))
}

func (g *goroutine) WakeOwn()                { g.own.Unpark() }
func (g *goroutine) WakePeer(*atomix.Uint32) { g.peer.Unpark() }
func (g *goroutine) Now() int64              { return int64(time.Since(g.origin)) + 1 }
