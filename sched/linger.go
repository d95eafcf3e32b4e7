package sched

import lfsync "github.com/lanewright/lanewright/sync"

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
//	robber     a goroutine that finds no free place, or waits for the end of the scheduler:
//	           takes the place of the registered worker
//
// State:
//
//	lingerer       of the scheduler: the worker that is registered, or nil. CAS from nil by
//	               a worker, store of nil by that worker if it does not linger, swap by the taker
//	kept           of a worker: the place with which it lingers. Stored by the registered
//	               worker, swapped for nil by a robber and by the worker
//	lingerState    of a worker, with the values declared below: stored by the worker before
//	               it lingers, and by the taker
//	lingering bit  of the Sync word
//
// Invariants:
//
//	I1  while the bit is set, lingerer is the worker that lingers. A worker that finds
//	    another one registered does not linger, so lingerer does not change until the
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
//	E1  store of kept  ->  swap by a robber             the robber sees all that the worker did there
//	E2  store of lingerState by the taker  ->  load by the worker   the worker sees how it was taken
//
// Progress: a taker and a robber are lock-free. A worker that has been taken waits for its taker,
// which stores lingerState a few steps after its CAS. Until a notifier has stored it, no other
// goroutine can continue the wake-up.
//
// Rejected:
//
//   - A register beside the Sync word, which each push loads, and a second look at the queues by
//     the worker. The bit needs neither, because a lingering worker is an idle worker.
//   - A robber that ends the lingering. Do then wakes the worker, which takes 20 µs on a
//     processor that has to be woken.
//   - A worker that yields before it parks. It delays other goroutines on a busy processor, and
//     costs a call of the Go scheduler on an idle one.

// The values of lingerState.
const (
	lingerParked  uint32 = iota // the worker lingers, or a taker has not stored the result yet
	lingerResumed               // the worker is the waking worker
	lingerEnded                 // the worker is idle as any other
	lingerClosed                // the scheduler has ended
)

// beginWait makes the transition wait or linger for a worker that has found no task. It reports
// whether the worker lingers. If the worker searches again, a robber may have taken its place.
func (w *Worker) beginWait(waking bool) (out lfsync.Outcome, lingers bool) {
	s := w.s
	if !w.mayLinger() || s.sync.Load().Notified() || s.lingerer.Load() != nil || !s.lingerer.CompareAndSwap(nil, w) {
		return s.sync.Wait(waking, false), false
	}
	if w.parker == nil {
		w.parker = lfsync.NewParker()
	}
	w.lingerState.Store(lingerParked)
	p := w.place
	w.place = nil
	w.kept.Store(p) // E1
	if out = s.sync.Linger(waking); out != lfsync.OutcomePark {
		s.lingerer.Store(nil)
		w.place = w.kept.Swap(nil) // I2
		return out, false
	}
	return out, true
}

// mayLinger reports whether w may park with its place. A place beyond MaxWorkers has to be
// returned. Config.OnIdle runs while the worker has its place, so no robber may take the place.
func (w *Worker) mayLinger() bool {
	return w.place != nil && w.place.index < w.s.max && w.s.config.OnIdle == nil
}

// linger parks w until it is taken, and returns how it was taken. w has its place again then
// unless a robber has taken it.
func (w *Worker) linger() (state uint32) {
	s := w.s
	s.cold.parks.Add(1)
	if s.placeAwaited.Load() || s.life.phase.Load() != open { // I3
		if w.place = w.kept.Swap(nil); w.place != nil { // I2
			s.returnPlace(w)
		}
	}
	for stop := w.stop; ; {
		if state = w.lingerState.Load(); state != lingerParked { // E2
			break
		}
		if !w.parker.ParkDone(stop) { // the context of a Run has ended
			stop = nil
			s.endLingering() // of another worker if w was taken; its result follows then
		}
	}
	w.place = w.kept.Swap(nil) // I2
	return state
}

// endLingering takes the lingering worker, and reports whether there is one. The worker returns its
// place and parks as any other.
func (s *Scheduler) endLingering() bool {
	if !s.sync.StopLingering() {
		return false
	}
	s.lingerer.Swap(nil).endLinger(lingerEnded) // I1
	return true
}

// takeLingeringPlace takes the place of the registered worker, or returns nil. In a scheduler
// whose list of places is closed it returns the place, because no task runs any more.
func (s *Scheduler) takeLingeringPlace() *place {
	w := s.lingerer.Load()
	if w == nil || w.kept.Load() == nil {
		return nil
	}
	p := w.kept.Swap(nil) // E1, I2
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
	w := s.lingerer.Load()
	return w != nil && w.kept.Load() != nil
}

// endLinger stores how its taker has taken w, and unparks w.
func (w *Worker) endLinger(state uint32) {
	w.lingerState.Store(state) // E2
	w.parker.Unpark()
}
