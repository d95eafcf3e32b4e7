package pool

import (
	"time"

	"github.com/lanewright/lanewright/internal/park"
)

// clock ends calls at their deadlines, one call at a time. Its timer is set only if it would fire
// after the deadline, or not at all. A clock that is used for one call after another with the same
// Timeout therefore sets its timer once for each Timeout, and not for each call: the timer fires,
// finds a later deadline or none, and is set for the rest.
//
// Roles:
//
//	owner  the goroutine that makes the call, and later the one that settles it
//	timer  the goroutine of the timer
//
// State, all of it with mu:
//
//	call   the call, or nil
//	at     the deadline of the call
//	fires  when the timer fires; zero: it is not set
//
// Invariants:
//
//	I1  if call is not nil, the timer is set and fires at or before at, or the timer
//	    goroutine is about to take mu
//	I2  the timer ends a call of the generation that was set, and no later one
type clock struct {
	p          *Pool
	once       bool // it is for one call only
	mu         park.Mutex
	timer      *time.Timer
	call       *call
	generation callWord
	at, fires  time.Time
}

// set ends c with CauseTimedOut at the given time, unless clear comes before.
func (k *clock) set(c *call, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.call, k.generation, k.at = c, c.load().generation(), at
	if k.fires.IsZero() || at.Before(k.fires) {
		k.arm() // I1
	}
}

// arm sets the timer for the deadline of the call. The caller has mu.
func (k *clock) arm() {
	k.fires = k.at
	d := time.Until(k.at)
	if k.timer == nil {
		k.timer = time.AfterFunc(d, k.fire)
	} else {
		k.timer.Reset(d)
	}
}

// clear forgets the call.
func (k *clock) clear() {
	k.mu.Lock()
	k.call = nil
	k.mu.Unlock()
}

// fire is the function of the timer.
func (k *clock) fire() {
	k.mu.Lock()
	c, generation := k.call, k.generation
	switch {
	case c == nil:
		k.fires = time.Time{}
		k.mu.Unlock()
		return
	case time.Now().Before(k.at):
		k.arm() // I1
		k.mu.Unlock()
		return
	}
	k.call, k.fires = nil, time.Time{}
	k.mu.Unlock()
	c.endAs(generation, CauseTimedOut, errTimeout) // I2
}

// clock returns a clock for a call.
func (p *Pool) clock() *clock {
	if k, ok := p.clocks.Get().(*clock); ok {
		return k
	}
	return &clock{p: p}
}

// release forgets the call, and keeps the clock for another one.
func (k *clock) release() {
	k.clear()
	if k.once {
		k.timer.Stop()
		return
	}
	k.p.clocks.Put(k)
}
