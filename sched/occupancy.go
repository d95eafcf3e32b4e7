package sched

import (
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
	lfsync "github.com/lanewright/lanewright/sync"
)

// The occupancy of a worker consists of at most two things: a place, and a unit of the worker
// count of the Sync word. A worker is in one of these states:
//
//	state      it has                       begins with
//	searching  no place, counted            spawn, Run, rejoin, rejoinAfterStall, the end of parked
//	holding    a place, counted             attach, settle, the end of lingering
//	in hook    a place, counted             beforePark: Config.OnIdle runs
//	lingering  its place is kept, counted   beginWait
//	parked     no place, counted            beforePark, a claimant of the kept place (see linger.go)
//	placeless  no place, not counted        releasePlace: a callback continues; unplaced
//	left       no place, not counted        leave, endDo, a rejoin that fails: its goroutine runs
//	                                        no task for s any more
//
// The field state of a Worker distinguishes in hook, placeless and all others. A worker that holds a
// place runs tasks or searches for one. A callback becomes placeless in withoutPlace only, and takes a
// place again in settle only. Meanwhile life counts it, for Stats and for the end of the scheduler.
// When it has returned without a place, rejoin makes its worker a searching one, or the worker
// leaves. The worker of a computation that runs without its scheduler (unplaced) is placeless from
// its beginning to its end, and counted nowhere.
//
// Two kinds of workers hold a place without being counted. A caller worker is never counted: its
// states are holding, placeless and left. The stall monitor subtracts a worker that it marks, and
// rejoinAfterStall adds it again (see stall.go). A worker beyond MaxWorkers (beyondMax) is counted,
// and leaves when it finds no task.
//
// A worker that leaves the count, or returns its place, may be the one that a push has relied on.
// The order in leave is therefore: the count, the place, and then a look at all queues (see
// protocol/wake.md).

// attach makes w the worker of p, and p the place of w.
func (w *Worker) attach(p *place) {
	w.place = p
	p.beginOccupancy(w.s, w.unit.counted) // before holder is set: no worker can be marked as stalled there yet
	if invariant.Enabled {
		w.goroutine = park.Self()
	}
	p.holder.Store(addressOf(w))
	if w.forks != nil {
		w.forks.show()
	}
}

// detach separates w from its place and returns the place, to be put back.
func (w *Worker) detach() *place {
	p := w.place
	if w.forks != nil {
		p.forks.hide()
	}
	p.counts.publish(&p.published)
	p.holder.Store(0)
	p.unmark(w.s) // after w has stopped being the holder: see inspect.go
	w.place = nil
	return p
}

// withoutPlace calls fn while the calling goroutine, which may be in a callback of s,
// holds no place of s. Each operation that blocks a callback ends here.
func (s *Scheduler) withoutPlace(fn func()) {
	s.init()
	w := s.innermost()
	if w == nil {
		fn()
		return
	}
	w.waits++ // before the release: a Spawner may call Blocking
	defer func() {
		w.waits--
		w.settle()
	}()
	if w.place != nil {
		w.releasePlace()
	}
	fn()
}

// withoutPlace is [Scheduler.withoutPlace] for an operation on w. The innermost worker of the
// goroutine is another one if the callback of w has released its place and has called Do since.
// There is none if w runs a computation of a scheduler that was shut down.
func (w *Worker) withoutPlace(fn func()) {
	if w.holds(); w.frame.IsElsewhere() {
		panic(otherGoroutine)
	}
	w.s.withoutPlace(fn)
}

// settle takes a place for a fork-join body that holds none, if one is free. It is called at the end
// of each withoutPlace and at each look of a join that waits. It takes none inside a withoutPlace of
// w, because the goroutine may block again before that returns. It takes none while the goroutine runs a
// Do, which has a worker of its own: a goroutine holds at most one place.
func (w *Worker) settle() {
	if w.forks != nil && w.state == placeless && w.waits == 0 && w.s.innermost() == w {
		w.retakePlace()
	}
}

// releasePlace gives the place of w to other workers in the middle of a callback.
func (w *Worker) releasePlace() {
	if w.state == inHook {
		panic("sched: Blocking, Wait, or Do called from Config.OnIdle")
	}
	w.flush(w.place)
	if w.forks != nil {
		w.forks.promoteAll()
	}
	w.s.life.block(w)
	if w.role == callerWorker {
		w.place.callerWorker = nil // the next Do on this place gets a worker of its own
	}
	w.leave(false, false)
}

// block records that the callback of w, on the calling goroutine, runs without a place from now on.
func (l *life) block(w *Worker) {
	w.state = placeless
	if w.role == callerWorker {
		l.callers.Add(1)
	}
	l.blocked.Add(1)
}

// unblock removes the record that block made, because the callback has a place again or has ended.
func (l *life) unblock(w *Worker) {
	w.state = atWork
	l.blocked.Add(-1)
	if w.role == callerWorker {
		l.callers.Add(-1)
	}
	l.changed()
}

// retakePlace takes a place for a callback that has released its own, if one is free.
func (w *Worker) retakePlace() {
	// Beyond MaxWorkers, if need be: the places limit the number of callbacks that
	// run, and the worker that replaced this one may be parked.
	if w.role != callerWorker && !w.unit.enter(w.s, w.role, runLimit) {
		return
	}
	p := w.s.takePlace()
	if p == nil {
		w.leave(false, false)
		return
	}
	w.attach(p)
	w.s.life.unblock(w)
}

// A countUnit is the unit of the worker count that a worker may have.
type countUnit struct {
	counted   bool // the Sync word counts the worker, or the stall monitor has subtracted it
	beyondMax bool // the worker has entered beyond MaxWorkers, and ends when it finds no task
}

// enter enters the worker count for a worker with the role r unless limit workers exist. It reports
// whether it has. A spawned worker that has entered beyond MaxWorkers is beyondMax until it enters
// again.
func (u *countUnit) enter(s *Scheduler, r role, limit int) bool {
	word, ok := s.sync.Enter(limit)
	u.counted = ok
	u.beyondMax = ok && r == spawnedWorker && word.Spawned() > s.max
	return ok
}

// leave leaves the worker count if the worker is counted, so that another worker can be spawned.
func (u *countUnit) leave(s *Scheduler, waking, idle bool) {
	if !u.counted {
		return
	}
	u.counted = false
	word, action := s.sync.Leave(waking, idle, s.max)
	s.act(action, false)
	if !idle {
		s.subtracted(word)
	}
}

// beginWait makes the transition wait or linger for a worker that has found no task. It reports
// whether the worker lingers. If the worker searches again, a claimant may have taken its place.
func (w *Worker) beginWait(waking bool) (out lfsync.Outcome, lingers bool) {
	s, p := w.s, w.place
	if !p.mayLinger(s) || s.sync.Load().Notified() || !w.lingerer.register(s) {
		return s.sync.Wait(waking, false), false
	}
	w.place = nil
	if out = w.lingerer.keep(s, p, waking); out != lfsync.OutcomePark {
		w.place = w.lingerer.take()
		return out, false
	}
	return out, true
}

// beforePark calls the idle hook and returns the place.
//
//go:noinline
func (w *Worker) beforePark() {
	if w.place == nil {
		return
	}
	if hook := w.s.config.OnIdle; hook != nil {
		w.state = inHook
		hook(w)
		w.state = atWork
	}
	w.s.returnPlace(w)
}

// leave gives up what w has: its unit of the worker count and its place. It passes on the waking state, or a signal that may have been meant for
// w. It returns the place last, when the word allows another worker to be spawned. A worker
// without a place looks at all queues, too, because a push may have relied on it while it was
// counted.
func (w *Worker) leave(waking, idle bool) {
	w.flush(w.place)
	w.endOccupancy()
	w.unit.leave(w.s, waking, idle)
	if w.place != nil {
		w.s.returnPlace(w)
	}
	w.s.notifyAvailable()
}

// endOccupancy ends the occupancy of w, so that the monitor cannot mark w as stalled any
// more. It reports whether the monitor has marked w. In that case the place becomes a spare
// one when it is returned.
func (w *Worker) endOccupancy() (stalled bool) {
	if w.place == nil || !w.place.endOccupancy(w.s) {
		return false
	}
	w.unit.counted = false // the monitor has subtracted w, or is about to
	return true
}

// endWorker ends a worker in the middle of a callback.
func (w *Worker) endWorker() {
	w.leave(false, false)
	if w.state == placeless {
		w.s.life.unblock(w)
	}
}

// rejoin enters the worker count again after a callback that has blocked. It reports
// false when the count is full, because other workers have been spawned: w then ends.
func (w *Worker) rejoin() bool {
	w.flush(nil)
	ok := w.unit.enter(w.s, w.role, w.role.limit(w.s.max))
	w.s.life.unblock(w)
	return ok
}

// rejoinAfterStall makes w a worker again after its stalled occupancy has ended. It
// reports false when enough workers exist: w ends then. A push may have relied on w while w was
// counted. rejoinAfterStall need not look for its task, because the monitor notifies after it
// has subtracted w from the count. A later push relies on w only in the waking state, which
// is passed on here.
//
// The order of its last two steps does not matter. Enter before returnPlace would let a push rely on
// w while w returns the place, and w searches after that. In this order the return of the place may
// start a worker for a queued task, and Enter then fails.
func (w *Worker) rejoinAfterStall(waking bool) bool {
	if waking { // it was marked while it searched
		w.s.notify(true)
	}
	w.s.returnPlace(w)
	return w.unit.enter(w.s, w.role, w.role.limit(w.s.max))
}

// endDo returns the place that Do has taken, also when a task panicked or called Goexit.
func (w *Worker) endDo() {
	w.frame.Leave() // before the next caller on this place uses w
	w.flush(w.place)
	w.leaveGroup(nil, nil)
	if w.place != nil {
		w.place.pace.end()
		w.s.returnPlace(w)
	} else if w.state == placeless {
		w.s.life.unblock(w)
	}
}
