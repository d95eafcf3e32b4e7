package sched

import (
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// DefaultIdleTimeout is the IdleTimeout of the zero [Config].
const DefaultIdleTimeout = 10 * time.Second

// idleEnd ends the workers of a scheduler in which no worker has parked for one IdleTimeout, and
// all are parked. A scheduler that its program has forgotten then has no goroutine, and the
// garbage collector frees it. The next task starts a worker.
//
// A worker that parks after a search starts the timer unless it runs. The path of a task has no
// operation of the timer: while the timer runs, the worker pays for one load. When the timer
// ends and a worker has parked since it was started, it starts again. So the workers end
// after one to two times IdleTimeout without a task.
//
// Roles:
//
//	starter  a goroutine whose transition of the Sync word may leave only idle workers in the
//	         count: a worker that is about to park, a worker that leaves, and a spawner that
//	         has failed. It starts the timer. The stall monitor wakes a worker instead
//	timer    the call of the timer: starts the timer again, or ends the workers
//	parked   an idle worker: ends if it finds a wake token without a notification, or if the
//	         timer has ended its lingering, and it may
//
// State:
//
//	armed   the timer runs, or its call does: CAS by a starter, store of false by the timer
//	timer   made by the first starter: used by the goroutine that has set armed, and
//	        stopped at the end of the scheduler
//	parks   the number of parks when the timer was started: accessed by that goroutine
//	ending  the number of workers that may end: stored by the timer, decremented by parked workers
//	runs    the callers of Run, whose workers do not end: each adds itself before it enters the
//	        count, and subtracts itself after it has left
//
// Invariants:
//
//	I1  while all counted workers are idle and one of them is not that of a Run, the timer
//	    runs, or it has posted a wake token for each. A starter makes its transition, or
//	    changes runs, and then loads armed. The timer clears armed and then loads the Sync
//	    word and runs. Either the starter starts the timer again, or the timer finds all
//	    workers idle. The worker of a Run may take the wake token of another worker, so it
//	    is a starter when it has taken one
//	I2  a parked worker that ends passes on what the Sync word relies on it for: see leave
//	I3  no timer runs for long after the end. A starter starts the timer and then loads the
//	    state of the Sync word. The end sets the state shutdown and then stops the timer.
//	    Either the starter stops it, or the end does
//
// A parked worker that finds a task instead leaves its share in ending. A later superfluous wake
// token may then end a worker early, which costs a spawn.
//
// Progress: wait-free, but for the transitions of the Sync word.
type idleEnd struct {
	armed  atomix.Bool
	timer  atomix.Pointer[time.Timer]
	parks  uint64
	ending atomix.Int32
	runs   atomix.Int32
}

// armIdleEnd starts the timer unless it runs.
func (s *Scheduler) armIdleEnd() {
	if e := &s.idleEnd; s.config.IdleTimeout > 0 && !e.armed.Load() && hasIdleTimer() && e.armed.CompareAndSwap(false, true) { // I1
		s.startIdleTimer()
	}
}

// subtracted starts the timer if the transition that has stored w, and has subtracted a worker that
// was not idle from the count, leaves idle workers only.
func (s *Scheduler) subtracted(w lfsync.Word) {
	if allIdle(w) {
		s.armIdleEnd()
	}
}

// startIdleTimer starts the timer. The caller has set armed.
func (s *Scheduler) startIdleTimer() {
	e := &s.idleEnd
	e.parks = s.cold.parks.Load()
	switch t := e.timer.Load(); {
	case modelIdleTimer(s.idleTimedOut):
	case t != nil:
		t.Reset(s.config.IdleTimeout)
	default:
		e.timer.Store(time.AfterFunc(s.config.IdleTimeout, s.idleTimedOut))
	}
	if s.sync.Load().State() == lfsync.StateShutdown { // I3
		s.stopIdleTimer()
	}
}

// idleTimedOut is the call of the timer.
func (s *Scheduler) idleTimedOut() {
	e := &s.idleEnd
	if s.idleWorkers() > 0 {
		if s.cold.parks.Load() != e.parks {
			s.startIdleTimer()
			return
		}
		e.armed.Store(false) // I1
		s.endIdle()
		return
	}
	e.armed.Store(false) // I1
	if s.idleWorkers() > 0 {
		s.armIdleEnd()
	}
}

// allIdle reports whether w counts workers and all of them are idle.
func allIdle(w lfsync.Word) bool { return w.Idle() > 0 && w.Idle() == w.Spawned() }

// idleWorkers returns the number of workers that the timer may end. It is not positive if a worker
// is not idle.
func (s *Scheduler) idleWorkers() int {
	if w := s.sync.Load(); allIdle(w) {
		return w.Idle() - int(s.idleEnd.runs.Load())
	}
	return 0
}

// endIdle lets the parked workers end.
func (s *Scheduler) endIdle() {
	s.idleEnd.ending.Store(int32(s.idleWorkers()))
	n := s.sync.Load().Idle() // I1
	// The worker that lingers ends without a wake token.
	if s.endLingering() {
		n--
	}
	for range n {
		s.idle.Post()
	}
}

// mayEnd reports whether a worker with the role r, which is parked and has found no notification,
// ends.
func (s *Scheduler) mayEnd(r role) bool {
	e := &s.idleEnd
	if e.ending.Load() <= 0 {
		return false
	}
	if r == runWorker {
		s.armIdleEnd() // I1
		return false
	}
	return e.ending.Add(-1) >= 0
}

// stopIdleTimer stops the timer at the end of the scheduler.
func (s *Scheduler) stopIdleTimer() {
	if t := s.idleEnd.timer.Load(); t != nil {
		t.Stop()
	}
}
