package pool

import (
	"time"

	"github.com/lanewright/lanewright/internal/park"
)

// clock ends calls at their deadlines, one call at a time: for a Timeout, or for the hard limit of a handler.
// Its timer is set only if it would fire after the deadline, or not at all. A clock that is used for one call
// after another with the same time therefore sets its timer once for each such time, and not for each call: the
// timer fires, finds a later deadline or none, and is set for the rest.
//
// Roles:
//
//	owner  the goroutine that makes the call, and later the one that settles it. For a hard limit it is the
//	       goroutine of the handler
//	timer  the goroutine of the timer
//
// State, all of it with mu, but for home, which is the owner's:
//
//	timed  the call, or none
//	at     the deadline of the call
//	fires  when the timer fires; zero: it is not set
//	home   where the owner leaves the clock for another call; nil: it is for one call only. A clock
//	       that no call uses has no home, because its timer would keep the pool in memory
//
// Invariants:
//
//	I1  if timed has a call, the timer is set and fires at or before at, or the timer
//	    goroutine is about to take mu
//	I2  the timer ends a call of the generation that was set, and no later one. It takes a permit from the
//	    handler that was set, and from no later one
type clock struct {
	home      *park.Pool
	mu        park.Mutex
	timer     *time.Timer
	timed     timed
	at, fires time.Time
}

// timed is a call that a clock ends.
type timed struct {
	detachedCall // c is nil: none
	// Of a hard limit:
	limit  bool
	runner *runner // see lane.overtime
	permit uint64
	over   func() // called afterwards, if it is not nil
}

// set ends c with CauseTimedOut at the given time, unless clear comes before.
func (k *clock) set(c *call, at time.Time) {
	k.start(timed{detachedCall: detachedCall{c: c, generation: c.load().generation()}}, at)
}

// start ends the call at the given time, unless clear comes before.
func (k *clock) start(e timed, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timed, k.at = e, at
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
	k.timed = timed{}
	k.mu.Unlock()
}

// fire is the function of the timer.
func (k *clock) fire() {
	k.mu.Lock()
	e := k.timed
	switch {
	case e.c == nil:
		k.fires = time.Time{}
		k.mu.Unlock()
		return
	case time.Now().Before(k.at):
		k.arm() // I1
		k.mu.Unlock()
		return
	}
	k.timed, k.fires = timed{}, time.Time{}
	k.mu.Unlock()
	e.end()
}

// end ends the call, whose time is over.
func (e *timed) end() {
	if !e.limit {
		e.c.endAs(e.generation, CauseTimedOut, errTimeout) // I2
		return
	}
	e.l.executor.overtime(e.detachedCall, e.runner, e.permit) // I2
	if e.over != nil {
		e.over()
	}
}

// clockOf returns a clock for a call. home has those that were left.
func clockOf(home *park.Pool) *clock {
	k, ok := home.Get().(*clock)
	if !ok {
		k = new(clock)
	}
	k.home = home
	return k
}

// release forgets the call, and keeps the clock for another one.
func (k *clock) release() {
	k.clear()
	home := k.home
	if home == nil {
		k.timer.Stop()
		return
	}
	k.home = nil
	home.Put(k)
}
