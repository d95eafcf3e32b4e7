package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// A lingerer is what other goroutines access of a worker that lingers.
//
// One of the idle workers may linger: it parks with its place, and is woken before the others.
// It then neither takes a place nor attaches to it, and its caches are warm. A caller that waits
// for each of its tasks is served by this worker alone. The Sync word records whether a worker
// lingers, and counts it as idle, so a notify finds it as it finds any parked worker. A
// goroutine that finds no free place takes that of the lingering worker, which is not woken for
// that.
//
// Roles:
//
//	worker     registers itself, makes the transition linger, and parks until it is taken
//	taker      the goroutine whose transition of the Sync word clears the lingering bit. A
//	           notifier resumes the worker, which is the waking worker from then on. A
//	           closer ends it. The idle timer and the worker itself end the lingering, and
//	           the worker parks as any other one
//	claimant   a goroutine that finds no free place, or waits for the end of the scheduler:
//	           takes the place of the registered worker
//
// State:
//
//	Scheduler.lingerer  that of the worker that is registered, or nil. CAS from nil by
//	                    a worker, store of nil by that worker if it does not linger, swap by
//	                    the taker
//	kept                the place with which the worker lingers. Stored by the registered
//	                    worker, swapped for nil by a claimant and by the worker
//	state               one of the values declared below: stored by the worker before it
//	                    lingers, and by the taker
//	parker              stored once by the worker, before it lingers
//	lingering bit       of the Sync word
//
// Invariants:
//
//	I1  while the bit is set, the worker that lingers is registered. A worker that finds
//	    another one registered does not linger, so the register does not change until the
//	    taker has swapped it
//	I2  a kept place belongs to the goroutine whose swap has returned it
//	I3  no place is kept for long while a goroutine relies on the return of a place, or
//	    while the scheduler drains. The worker stores kept, sets the bit, and then loads
//	    placeAwaited and the phase. The other side stores placeAwaited or the phase and then
//	    swaps kept. Either the worker returns the place itself, or the other side gets
//	    it
//
// Linearization points: the CAS that sets the bit, the CAS that clears it, and the swap of kept.
//
// Happens-before edges:
//
//	E1  store of kept  ->  swap by a claimant           the claimant sees all that the worker did there
//	E2  store of state by the taker  ->  load by the worker   the worker sees how it was taken
//
// Progress: a taker and a claimant are lock-free. A worker that has been taken waits for its taker,
// which stores state a few steps after its CAS. Until a notifier has stored it, no other
// goroutine can continue the wake-up.
//
// Rejected:
//
//   - A register beside the Sync word, which each push loads, and a second look at the queues by
//     the worker. The bit needs neither, because a lingering worker is an idle worker.
//   - A claimant that ends the lingering. Do then wakes the worker, which takes 20 µs on a
//     processor that has to be woken.
//   - A worker that yields before it parks. It delays other goroutines on a busy processor, and
//     costs a call of the Go scheduler on an idle one.
type lingerer struct {
	kept   atomix.Pointer[place]
	state  atomix.Uint32
	parker *lfsync.Parker // the worker also waits for forks here, because it has one reason to park at a time
}

// The values of lingerer.state.
const (
	lingerParked  uint32 = iota // the worker lingers, or a taker has not stored the result yet
	lingerResumed               // the worker is the waking worker
	lingerEnded                 // the worker is idle as any other
	lingerClosed                // the scheduler has ended
)

// mayLinger reports whether the holder of p, which may be nil, may park with it. A place beyond
// MaxWorkers has to be returned. Config.OnIdle runs while the worker has its place, so no claimant
// may take the place.
func (p *place) mayLinger(s *Scheduler) bool {
	return p != nil && p.index < s.max && s.config.OnIdle == nil
}

// register makes l the registered one and reports true, or reports false if there is one.
func (l *lingerer) register(s *Scheduler) bool {
	return s.lingerer.Load() == nil && s.lingerer.CompareAndSwap(nil, l)
}

// keep keeps p and makes the transition linger. l is registered. If the worker does not linger,
// keep ends the registration.
func (l *lingerer) keep(s *Scheduler, p *place, waking bool) (out lfsync.Outcome) {
	l.ownParker()
	l.state.Store(lingerParked)
	l.kept.Store(p) // E1
	if out = s.sync.Linger(waking); out != lfsync.OutcomePark {
		s.lingerer.Store(nil)
	}
	return out
}

// park parks the worker until it is taken. It returns how it was taken, and the kept place unless a
// claimant has taken that. stop ends the lingering.
func (l *lingerer) park(s *Scheduler, stop <-chan struct{}) (state uint32, p *place) {
	s.cold.parks.Add(1)
	if s.needsKeptPlace() {
		if kept := l.claim(s); kept != nil {
			s.returnDetached(kept)
		}
	}
	for {
		if state = l.result(); state != lingerParked {
			return state, l.take()
		}
		if !l.parker.ParkDone(stop) { // the context of a Run has ended
			stop = nil
			s.endLingering() // of another worker if this one was taken; its result follows then
		}
	}
}

// take takes the kept place, or returns nil if another goroutine has taken it.
func (l *lingerer) take() *place { return l.kept.Swap(nil) } // E1, I2

// needsKeptPlace reports whether a worker that has begun to linger returns its place.
func (s *Scheduler) needsKeptPlace() bool {
	return s.placeAwaited.Load() || s.life.phase.Load() != open // I3
}

// result returns how the worker was taken, or lingerParked.
func (l *lingerer) result() uint32 { return l.state.Load() } // E2

// end stores how the taker has taken the worker, and unparks the worker.
func (l *lingerer) end(state uint32) {
	l.state.Store(state) // E2
	l.parker.Unpark()
}

// ownParker returns the parker of the worker, and makes it on first use. Only the worker calls it.
func (l *lingerer) ownParker() *lfsync.Parker {
	if l.parker == nil {
		l.parker = lfsync.NewParker()
	}
	return l.parker
}

// endLingering takes the lingering worker, and reports whether there is one. The worker returns its
// place and parks as any other.
func (s *Scheduler) endLingering() bool {
	if !s.sync.StopLingering() {
		return false
	}
	s.lingerer.Swap(nil).end(lingerEnded) // I1
	return true
}

// takeLingeringPlace claims the place of the registered worker, or returns nil.
func (s *Scheduler) takeLingeringPlace() *place {
	if l := s.lingerer.Load(); l != nil && l.kept.Load() != nil {
		return l.claim(s)
	}
	return nil
}

// claim takes the kept place, which has no holder then, or returns nil. In a scheduler whose list
// of places is closed it returns the place, because no task runs any more.
func (l *lingerer) claim(s *Scheduler) *place {
	p := l.take()
	if p == nil {
		return nil
	}
	p.holder.Store(0)
	p.unmark(s)
	if freeWord(s.places.free.Load()).closed() {
		s.returnDetached(p)
		return nil
	}
	return p
}

// returnLingeringPlace puts the place of the registered worker, if there is one, on the free list.
func (s *Scheduler) returnLingeringPlace() {
	if p := s.takeLingeringPlace(); p != nil {
		s.returnDetached(p)
	}
}

// keptPlace reports whether the registered worker has a place.
func (s *Scheduler) keptPlace() bool {
	l := s.lingerer.Load()
	return l != nil && l.kept.Load() != nil
}
