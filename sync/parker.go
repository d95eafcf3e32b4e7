package sync

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// Parker blocks one goroutine until another goroutine unparks it. A Parker comes from
// [NewParker], or is a field that Init has prepared.
//
// A Parker stores at most one notification. Unpark stores it. Park takes it, or blocks
// until it is stored. The order of Unpark and Park therefore does not matter. A
// notification may belong to an earlier event, so Park is called in a loop that checks
// the awaited condition:
//
//	for !ready.Load() {
//		p.Park()
//	}
//
// At most one goroutine at a time may be in Park, ParkFor or ParkDone. Any goroutine
// may call Unpark.
type Parker struct {
	_     NoCopy
	state atomix.Uint32
	sema  park.Sema
}

// Algorithm of Parker: one word, and a semaphore for a waiter that has to block.
//
// Roles:
//
//	waiter    the one goroutine at a time in Park, ParkFor or ParkDone
//	unparker  any goroutine in Unpark
//
// State:
//
//	state  parkerEmpty, parkerNotified, parkerWaiting: CAS by the waiter, swap by both
//	       roles
//	sema   the waiter blocks on it; posted once by the Unpark that found the waiter
//	       waiting
//
// Invariants:
//
//	I1  sema is posted to, or holds a post, only while the waiter is past its CAS to
//	    parkerWaiting and has not taken the post
//
// Linearization points: the swap of Unpark, and the swap or CAS by which the waiter
// empties the state.
//
// Happens-before edges:
//
//	E1  swap of Unpark  ->  swap of the waiter   the waiter sees all writes before each
//	    Unpark since it last took the notification, also before an Unpark that found the
//	    Parker notified
//
// Progress: Unpark is wait-free. A timed wait that ends may find that an Unpark is in
// flight. It then blocks until that Unpark has posted, and takes the notification.
//
// Source: the thread parker of Rust's standard library.
//
// Rejected: a channel of one element alone, because a send that finds the channel full
// orders nothing (see [WakeTokens]). Also rejected: a load before the swap in Unpark. E1
// would then not hold for an Unpark that finds the Parker notified.

// The states of a Parker.
const (
	parkerEmpty = iota
	parkerNotified
	parkerWaiting
)

// NewParker returns a Parker without a notification.
func NewParker() *Parker {
	p := new(Parker)
	p.Init()
	return p
}

// Init prepares a Parker that is a field. It must be called once, before first use.
func (p *Parker) Init() { p.sema.Init(1) }

// Unpark stores the notification and wakes a parked goroutine. It has no further effect
// when the notification is already stored. Any goroutine may call it. It never blocks.
func (p *Parker) Unpark() {
	if p.state.Swap(parkerNotified) == parkerWaiting { // E1
		p.sema.Post() // I1: sema is not full
	}
}

// Park takes the notification. It blocks until the notification is stored.
func (p *Parker) Park() { p.ParkDone(nil) }

// ParkDone takes the notification and returns true, or returns false when done is closed
// first. It takes a stored notification even if done is closed. A nil done never ends
// the wait.
func (p *Parker) ParkDone(done <-chan struct{}) bool {
	if p.ready() {
		return true
	}
	return p.end(p.sema.WaitDone(done))
}

// ParkFor takes the notification and returns true, or returns false when d has passed
// first. With d <= 0 it does not block.
func (p *Parker) ParkFor(d time.Duration) bool {
	if d <= 0 {
		return p.state.CompareAndSwap(parkerNotified, parkerEmpty) // E1
	}
	if p.ready() {
		return true
	}
	return p.end(p.sema.WaitFor(d))
}

// ready takes the notification if it is stored. Otherwise it marks the caller as waiting
// and returns false.
func (p *Parker) ready() bool {
	if p.state.CompareAndSwap(parkerEmpty, parkerWaiting) {
		return false
	}
	if !p.state.CompareAndSwap(parkerNotified, parkerEmpty) { // E1
		panic("sync: Parker: two goroutines park")
	}
	return true
}

// end ends the wait that ready has begun. got states whether the caller has taken the
// post of sema.
func (p *Parker) end(got bool) bool {
	if !got {
		if p.state.CompareAndSwap(parkerWaiting, parkerEmpty) {
			return false
		}
		p.sema.Wait() // I1: an Unpark found the caller waiting
	}
	p.state.Swap(parkerEmpty) // E1
	return true
}
