package pool

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// observers are what learns of the end of a call besides its waiter: the channel of Done, and the
// functions of OnDone. A call has none until the first goroutine asks for them.
//
// Roles:
//
//	observer  a goroutine that asks for them
//	ender     the claimer of the call, if over came after hasDone, and otherwise the observer that
//	          set hasDone
//
// State:
//
//	ch     closed by the ender
//	first  the functions that wait for the end, the last one first. The ender replaces them by
//	       observed
//	waits  how many goroutines wait for the end, and have not given up
//
// Invariants:
//
//	I1  a call has one ender: one observer sets hasDone, and the order of that step and of over
//	    decides. Each observer has seen hasDone when it uses what it has got
//	I2  each function is started once: by the ender, if it was pushed before the ender took the
//	    list, and otherwise by its observer
//	I3  a failure is reported, or a goroutine that waits returns it, unless that goroutine ends in
//	    between. One that gives up and has not seen over has left the count before the ender loads that
//	I4  when a goroutine has found the pool idle, or has closed it, the channel is closed for each call that has
//	    ended. A claimer that sees hasDone when it settles the call is in Pool.telling from before that step until
//	    after the close. Wait and Close look at that count last. An observer that comes later waits for the ender
//
// Happens-before edges:
//
//	E1  set over  ->  close, start of a function   they see the outcome
//	E2  push of a function  ->  swap of the list      the ender sees it
//	E3  subtraction from waits, then load of over  against  set over, then load of waits
//	    needs: sequentially consistent
//
// Progress: an ender is lock-free. An observer of a settled call waits for the ender.
type observers struct {
	ch    chan struct{}
	first atomix.Pointer[observer]
	waits atomix.Int32
}

// observer is a function of OnDone.
type observer struct {
	fn   func()
	next *observer // read by the ender
}

// observed is the list after the end.
var observed = new(observer)

// makeObservers returns the observers of the call, and makes them if there are none.
func (c *call) makeObservers() *observers {
	o := c.observers.Load()
	if o == nil {
		o = &observers{ch: make(chan struct{})}
		if !c.observers.CompareAndSwap(nil, o) {
			o = c.observers.Load()
		}
	}
	return o
}

// observe returns the observers of the call, and makes them if there are none. It sets the bits, which
// include hasDone.
func (c *call) observe(bits callWord) *observers {
	o := c.makeObservers()
	if !c.load().has(bits) {
		w := callWord(c.word.Or(uint64(bits)))
		if w.has(callOver) && !w.has(callHasDone) { // I1
			o.end()
		}
	}
	if c.isSettled() {
		o.await() // I4
	}
	return o
}

// isAwaited reports whether a goroutine learns of the outcome. w is the word with over.
func (c *call) isAwaited(w callWord) bool {
	return !w.isUnobserved() || w.has(callHasDone) && c.observers.Load().waits.Load() != 0 // I3, E3
}

// giveUp says that a goroutine waits for c no more. It reports whether c is over, and the goroutine
// then returns the outcome.
func (o *observers) giveUp(c *call) (over bool) {
	o.waits.Add(-1)
	return c.isOver() // after the subtraction: I3, E3
}

// end closes the channel and starts the functions. The caller is the ender.
func (o *observers) end() {
	close(o.ch)                                             // E1
	for f := o.first.Swap(observed); f != nil; f = f.next { // I2, E2
		spawn(f.fn) // E1
	}
}

// await returns when the ender has closed the channel. The call is settled.
func (o *observers) await() {
	for o.first.Load() != observed { // I4: set after the close
		park.Yield()
	}
}

// add starts fn when the call has ended.
func (o *observers) add(fn func()) {
	f := &observer{fn: fn}
	for {
		f.next = o.first.Load()
		if f.next == observed { // I2
			spawn(fn)
			return
		}
		if o.first.CompareAndSwap(f.next, f) { // E2
			return
		}
	}
}
