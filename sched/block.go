package sched

// Blocking calls fn, during which the place of w is somebody else's: use it for
// system calls, locks, channels, and whatever else may take long without
// computing. The callback goes on without a place afterwards: what it schedules
// through w goes to the injection queue, and it may run beyond MaxWorkers until
// it returns. So block late in a callback, or in a task of its own.
//
// In a body of [ForkJoin] that has a place every open fork becomes a task first, for
// others to run, and the body takes a place again if one is free when fn has returned.
func (w *Worker) Blocking(fn func()) {
	if fn == nil {
		panic("sched: Blocking: nil function")
	}
	w.releasePlace()
	fn()
	if w.forks != nil {
		w.retakePlace()
	}
}

// Blocking calls fn as [Worker.Blocking] does, for a caller that does not have its
// worker at hand: it finds out whether its goroutine runs a callback of s, which
// takes a load for each place. Outside of callbacks it just calls fn.
func (s *Scheduler) Blocking(fn func()) {
	s.init()
	if w := s.self(); w != nil {
		w.Blocking(fn)
		return
	}
	fn()
}

// giveAway puts the place back in the middle of a callback.
func (w *Worker) releasePlace() {
	if w.place == nil {
		// The callback has blocked before, and may have called Do since.
		if w = w.s.self(); w == nil {
			return
		}
	}
	if w.inHook {
		panic("sched: Blocking, Wait, or Do called from Config.OnIdle")
	}
	w.flush()
	w.promoteAll()
	s := w.s
	s.life.block(w)
	w.blocked = true
	if w.callerWorker {
		w.place.callerWorker = nil // the next Do on this place gets a worker of its own
	}
	w.leaveCount(false, false)
	s.returnPlace(w) // last: it looks at what is queued
}

// comeBack takes a place again, if one is free, for a callback that has given its
// own away.
func (w *Worker) retakePlace() {
	if w.place != nil || !w.blocked {
		return
	}
	if !w.callerWorker {
		// Beyond MaxWorkers, if need be: who runs is limited by the places, and the
		// worker that came instead of this one may be parked.
		if w.counted = w.s.sync.Enter(runLimit); !w.counted {
			return
		}
		w.beyondMax = !w.runWorker && w.s.sync.Load().Spawned() > w.s.max
	}
	p := w.s.takePlace()
	if p == nil {
		w.leaveCount(false, false)
		if w.s.anyAvailable() { // while it was counted, a push may have relied on it
			w.s.notify(false)
		}
		return
	}
	w.attach(p)
	w.endBlocking()
}

// limit is how many workers may exist when w becomes one again.
func (w *Worker) limit() int {
	if w.runWorker {
		return runLimit
	}
	return w.s.max
}

// unblock ends what giveAway began.
func (w *Worker) endBlocking() {
	w.blocked = false
	w.s.life.unblock(w)
}

// rejoin makes a worker whose callback has blocked a worker again, unless
// another has taken its place.
func (w *Worker) rejoin() bool {
	w.flush()
	w.counted = w.s.sync.Enter(w.limit())
	w.endBlocking()
	return w.counted
}
