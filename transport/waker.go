package transport

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// waker parks one side of a [Link] and wakes the other side. Each side has a waker of its own.
//
// One goroutine at a time calls Park. The other methods are safe for concurrent use, and never block.
type waker interface {
	// Park blocks until WakeOwn, or until WakePeer by the waker of the other side. It returns at once when the
	// doorbell does not have the value seen. It may return at any time, and the caller looks at its condition
	// again. until is a time of the clock of the Link; 0 is no deadline. The result is true when the deadline has
	// passed.
	Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool)
	// WakeOwn ends the Park of this side. Without one it ends the next Park at once.
	WakeOwn()
	// WakePeer ends the Park of the other side on that doorbell. The caller has changed the doorbell.
	WakePeer(bell *atomix.Uint32)
}

// clock returns the time since its origin in nanoseconds. It is never 0 and advances evenly.
type clock func() int64

// newClock returns the clock of a Link within this program. Its origin is now.
func newClock() clock {
	origin := time.Now()
	return func() int64 { return int64(time.Since(origin)) + 1 }
}

// goroutine is the waker of one of two sides that are goroutines of this program. Its doorbell is only compared.
type goroutine struct {
	own, peer *lfsync.Parker
	now       clock
}

// newGoroutines returns the wakers of two sides.
func newGoroutines(now clock) (one, other *goroutine) {
	a, b := lfsync.NewParker(), lfsync.NewParker()
	return &goroutine{a, b, now}, &goroutine{b, a, now}
}

func (g *goroutine) Park(bell *atomix.Uint32, seen uint32, until int64) (timeout bool) {
	if bell.Load() != seen {
		return false
	}
	if until == 0 {
		g.own.Park()
		return false
	}
	return !g.own.ParkFor(time.Duration(until - g.now()))
}

func (g *goroutine) WakeOwn()                { g.own.Unpark() }
func (g *goroutine) WakePeer(*atomix.Uint32) { g.peer.Unpark() }
