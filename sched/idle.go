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
//	parker   a worker that is counted as idle and is about to park: starts the timer
//	timer    the call of the timer, one at a time: starts the timer again, or ends the workers
//	sleeper  a parked worker: ends if it finds a wake token without a notification, and may
//
// State:
//
//	armed   the timer runs, or its call does: CAS by a parker, store of false by the timer
//	timer   made by the first parker: used by the goroutine that has set armed, and
//	        stopped by the end of the scheduler
//	parks   the number of parks when the timer was started: accessed by that goroutine
//	ending  the number of workers that may end: stored by the timer, decremented by sleepers
//
// Invariants:
//
//	I1  while a worker is parked and no callback runs, the timer runs, or the timer has posted
//	    a wake token for that worker. A parker counts itself as idle and then loads
//	    armed. The timer clears armed and then loads the Sync word. Either the
//	    parker starts the timer again, or the timer finds it counted
//	I2  a sleeper that ends passes on what the Sync word relies on it for: see leave
//
// A sleeper that finds a task instead leaves its share in ending. A later superfluous wake token
// may then end a worker early, which costs a spawn. A caller of Run does not end.
//
// Progress: wait-free, but for the transitions of the Sync word.
type idleEnd struct {
	armed  atomix.Bool
	timer  atomix.Pointer[time.Timer]
	parks  uint64
	ending atomix.Int32
}

// armIdleEnd starts the timer unless it runs. A worker that is about to park calls it.
func (s *Scheduler) armIdleEnd() {
	if e := &s.idleEnd; s.config.IdleTimeout > 0 && !e.armed.Load() && hasIdleTimer() && e.armed.CompareAndSwap(false, true) { // I1
		s.startIdleTimer()
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
}

// idleTimedOut is the call of the timer.
func (s *Scheduler) idleTimedOut() {
	e := &s.idleEnd
	if allIdle(s.sync.Load()) {
		if s.cold.parks.Load() != e.parks {
			s.startIdleTimer()
			return
		}
		e.armed.Store(false) // I1
		s.endIdle()
		return
	}
	e.armed.Store(false) // I1
	if allIdle(s.sync.Load()) {
		s.armIdleEnd()
	}
}

// allIdle reports whether w counts workers and all of them are idle.
func allIdle(w lfsync.Word) bool { return w.Idle() > 0 && w.Idle() == w.Spawned() }

// endIdle lets the parked workers end.
func (s *Scheduler) endIdle() {
	n := s.sync.Load().Idle() // I1
	s.idleEnd.ending.Store(int32(n))
	if s.endLingering() { // that worker ends without a wake token
		n--
	}
	for range n {
		s.idle.Post()
	}
}

// mayEnd reports whether w, which is parked and has found no notification, ends.
func (w *Worker) mayEnd() bool {
	e := &w.s.idleEnd
	return e.ending.Load() > 0 && !w.runWorker && e.ending.Add(-1) >= 0
}

// stopIdleTimer stops the timer at the end of the scheduler.
func (s *Scheduler) stopIdleTimer() {
	if t := s.idleEnd.timer.Load(); t != nil {
		t.Stop()
	}
}
