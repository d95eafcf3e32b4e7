package sched

// Blocking releases the place of w and calls fn, so that another worker can run tasks
// in the meantime. Use it for system calls, locks, channels, and other operations that
// may take long without computing.
//
// After fn has returned, the callback continues without a place. Tasks that it schedules
// through w go to the injection queue, and it may run in addition to MaxWorkers
// callbacks until it returns. It is therefore best to block late in a callback, or in a
// task of its own.
//
// A body of [ForkJoin] that holds a place is different. Its open forks become tasks first, so
// that other workers can run them. When fn has returned, the body takes a place again if one
// is free.
func (w *Worker) Blocking(fn func()) {
	if fn == nil {
		panic("sched: Blocking: nil function")
	}
	w.withoutPlace(fn)
}

// Blocking calls fn as [Worker.Blocking] does. It is for callers without a reference to
// their worker. To find the worker takes a few nanoseconds. Outside callbacks of s Blocking
// only calls fn.
func (s *Scheduler) Blocking(fn func()) {
	if fn == nil {
		panic("sched: Scheduler.Blocking: nil function")
	}
	s.withoutPlace(fn)
}

// withoutPlace calls fn while the calling goroutine, which may be in a callback of s,
// holds no place of s.
func (s *Scheduler) withoutPlace(fn func()) {
	s.init()
	if w := s.innermost(); w != nil {
		w.withoutPlace(fn)
		return
	}
	fn()
}

// withoutPlace calls fn while the calling goroutine holds no place of the scheduler. Each
// operation that blocks a callback calls it. A worker with open forks takes a place again
// afterwards, if one is free. A call of withoutPlace inside fn takes none, because the
// goroutine may block again before the outer fn returns.
func (w *Worker) withoutPlace(fn func()) {
	switch inner := w.s.self(); {
	case w.holds() != nil && inner != w:
		panic(otherGoroutine)
	case inner == w:
		w.releasePlace()
	case inner != nil:
		// The callback has released its place before, and has called Do since.
		inner.withoutPlace(func() { w.withoutPlace(fn) })
		return
	}
	w.waits++
	defer func() {
		w.waits--
		if w.forks != nil {
			w.retakePlace()
		}
	}()
	fn()
}

// releasePlace gives the place of w to other workers in the middle of a callback.
func (w *Worker) releasePlace() {
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
	s.returnPlace(w)
	s.notifyAvailable()
}

// retakePlace takes a place for a callback that has released its own, if one is free. It
// takes none inside withoutPlace, and none for a goroutine that has called Do since: a
// goroutine holds at most one place.
func (w *Worker) retakePlace() {
	if w.place != nil || !w.blocked || w.waits != 0 || w.s.innermost() != w {
		return
	}
	if !w.callerWorker {
		// Beyond MaxWorkers, if need be: the places limit the number of callbacks that
		// run, and the worker that replaced this one may be parked.
		if w.counted = w.s.sync.Enter(runLimit); !w.counted {
			return
		}
		w.beyondMax = !w.runWorker && w.s.sync.Load().Spawned() > w.s.max
	}
	p := w.s.takePlace()
	if p == nil {
		w.leaveCount(false, false)
		w.s.notifyAvailable()
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

// endBlocking removes w from the callbacks that run without a place.
func (w *Worker) endBlocking() {
	w.blocked = false
	w.s.life.unblock(w)
}

// rejoin enters the worker count again after a callback that has blocked. It reports
// false when the count is full, because other workers have been spawned: w then ends.
func (w *Worker) rejoin() bool {
	w.flush()
	w.counted = w.s.sync.Enter(w.limit())
	w.endBlocking()
	return w.counted
}
