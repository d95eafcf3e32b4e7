package sync

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// Parker blocks one goroutine until another one unparks it. It holds at most one
// token: Unpark leaves it, Park takes it or waits for it, and so it does not
// matter which comes first. A Parker comes from [NewParker], or is a field that
// Init has prepared.
//
// One goroutine at a time may be in Park, ParkFor or ParkDone. Unpark is for all.
//
// As with all such tokens, an Unpark may belong to an earlier reason: call Park
// in a loop that checks what it waits for.
//
// State:
//
//	state  parkerEmpty, parkerToken, parkerWaiting: CAS by the waiter, swap by all
//	sema   what the waiter blocks on: gets one token from the Unpark that found it waiting
//
// Invariants:
//
//	I1  sema holds a token, or gets one, only while the waiter is past its CAS to waiting and has not taken it
//
// Linearization points: the swap of Unpark; the swap or CAS by which the waiter
// empties the state.
//
// Happens-before edges:
//
//	E1  swap of Unpark  ->  swap of the waiter   the waiter sees what each Unpark since the last token came after, also of those that found the token there
//
// Progress: Unpark is wait-free. A timed wait that ends may find that an Unpark
// is on its way; it then waits for it to come through, and takes the token.
//
// Source: the thread parker of Rust's standard library.
//
// Rejected: a channel of one element alone, since a send that finds it full
// orders nothing (see [WakeTokens]); a load before the swap in Unpark, which would
// leave E1 without the Unparks that find the token there.
type Parker struct {
	_     NoCopy
	state atomix.Uint32
	sema  park.Sema
}

// The states of a Parker.
const (
	parkerEmpty = iota
	parkerToken
	parkerWaiting
)

// NewParker returns a Parker without a token.
func NewParker() *Parker {
	p := new(Parker)
	p.Init()
	return p
}

// Init prepares a Parker that is a field. It must be called once, before first
// use.
func (p *Parker) Init() { p.sema.Init(1) }

// Unpark leaves the token, or does nothing when it is there already. It never
// blocks.
func (p *Parker) Unpark() {
	if p.state.Swap(parkerToken) == parkerWaiting { // E1
		p.sema.Post() // I1: there is room
	}
}

// Park takes the token. It blocks until there is one.
func (p *Parker) Park() { p.ParkDone(nil) }

// ParkDone takes the token and returns true, or returns false when done is
// closed first. A token that is there is taken even if done is closed. nil is
// never closed.
func (p *Parker) ParkDone(done <-chan struct{}) bool {
	if p.ready() {
		return true
	}
	return p.end(p.sema.WaitDone(done))
}

// ParkFor takes the token and returns true, or returns false when d has passed
// first. With d <= 0 it does not block.
func (p *Parker) ParkFor(d time.Duration) bool {
	if d <= 0 {
		return p.state.CompareAndSwap(parkerToken, parkerEmpty) // E1
	}
	if p.ready() {
		return true
	}
	return p.end(p.sema.WaitFor(d))
}

// ready takes the token if there is one; otherwise the caller is now waiting.
func (p *Parker) ready() bool {
	if p.state.CompareAndSwap(parkerEmpty, parkerWaiting) {
		return false
	}
	if !p.state.CompareAndSwap(parkerToken, parkerEmpty) { // E1
		panic("sync: Parker: two goroutines park")
	}
	return true
}

// end ends the waiting that ready has begun. got says whether the token of sema
// was taken.
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
