package pool

// initPermits makes n free permits.
func (l *lane) initPermits(n int) {
	l.runners = l.one[:]
	if n > 1 {
		l.runners = make([]runner, n)
	}
	for i := range l.runners {
		r := &l.runners[i]
		r.l, r.index = l, uint32(i)
		r.below.Store(uint32(i))
	}
	l.permits.Store(uint64(permitWord(0).withTop(uint32(n))))
}

// loadPermits returns the word.
func (l *lane) loadPermits() permitWord { return permitWord(l.permits.Load()) }

// swapPermits replaces the word if it is w.
func (l *lane) swapPermits(w, next permitWord) bool {
	return l.permits.CompareAndSwap(uint64(w), uint64(next))
}

// take takes the pick for a drain, with a permit, if both are free.
func (l *lane) take() (ok bool) {
	_, ok = l.takeFrom()
	return ok
}

// takeFrom is take. It returns the word from which it took them.
func (l *lane) takeFrom() (w permitWord, ok bool) {
	for {
		if w = l.loadPermits(); !w.canTake() {
			return w, false
		}
		r := &l.runners[w.top()-1]
		if l.swapPermits(w, w.take(r.below.Load())) {
			return w, true
		}
	}
}

// hold makes the caller the holder if the pick is in that state.
func (l *lane) hold(from permitWord) bool {
	for {
		w := l.loadPermits()
		next, ok := w.hold(from)
		if !ok || l.swapPermits(w, next) {
			return ok
		}
	}
}

// picker returns the runner of the holder of the pick, who is the caller.
func (l *lane) picker() *runner { return &l.runners[l.loadPermits().picker()-1] }

// give gives the pick up, and says in which state it is then. The caller is the holder. It reports
// whether a permit is free.
func (l *lane) give(to permitWord) (more bool) {
	left := l.next.Get() < l.turns
	for {
		w := l.loadPermits()
		if next := w.give(to, left); l.swapPermits(w, next) {
			return next.top() != 0
		}
	}
}

// giveAll gives up the pick and the permit of r. The caller is the holder.
func (l *lane) giveAll(r *runner) {
	left := l.next.Get() < l.turns
	for {
		w := l.loadPermits()
		r.below.Store(w.top())
		if l.swapPermits(w, w.give(pickFree, left).put(r.index)) {
			return
		}
	}
}
