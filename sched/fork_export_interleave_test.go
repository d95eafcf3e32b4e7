//go:build interleave

package sched

// What the models of fork-join do beside its public part.

// SetDemand raises the flag of the place that runs the caller, as a searcher does that
// finds it: the next Promote promotes a fork.
func (h *forkHead) SetDemand() {
	if p := h.w.place; p != nil {
		p.forks.setDemand()
	}
}

// Group returns the group that the promoted forks are counted in.
func (h *forkHead) Group() *Group { return &h.root.group }

// Promoted returns how many of the open forks are promoted.
func (h *forkHead) Promoted() int { return int(h.prom) }

// Observer is the memory of an observer, and Observe makes one observation. It reports whether a
// computation is open.
type Observer struct{ observer observer }

// Look is described there.
func (o *Observer) Observe(s *Scheduler) (open bool) { return o.observer.observe(s, nil, true).open }

// SetRequestRounds makes workers beg for so many rounds, until restore is called.
func SetRequestRounds(rounds int) (restore func()) {
	was := requestRounds
	requestRounds = rounds
	return func() { requestRounds = was }
}

// RequestForkOnce takes a place if one is free, begs, and runs what it gets, as a worker does that is not the
// waking one, and has found nothing.
func (s *Scheduler) RequestForkOnce() {
	w := s.enterAsCaller()
	if w == nil {
		return
	}
	defer w.endDo()
	if n, pushed := w.requestFork(); n != nil {
		if pushed {
			s.notify(false)
		}
		w.runNested(taskOf(n))
	}
}

// Idle returns how many workers are parked.
func (s *Scheduler) Idle() int { return s.sync.Load().Idle() }

// MissesDemand reports whether somebody asks the place of w for a fork, and the stack in use
// does not know.
func (w *Worker) MissesDemand() bool {
	return w.place.forks.demand.Load() && w.forks.limit.Load() != limitDemanded
}

// Cancel is a context that ends without a goroutine.
type Cancel struct{ root forkRoot }

// End ends it.
func (c *Cancel) End() { c.root.cancelled.Store(true) }

// ForkJoinCancel is ForkJoinContext with c.
func ForkJoinCancel[A, R any](c *Cancel, s *Scheduler, body func(*Forks[A, R], A) R, arg A) R {
	return forkJoin(s, &c.root, body, arg)
}

// Raise asks the place with that index for a fork, once, as a searcher does that
// finds a computation open there. It returns the epoch in which it was, or 0.
func (s *Scheduler) SetDemand(index int) (epoch uint32) {
	p := s.places.all[index].Load()
	if epoch = p.forks.epoch.Load(); epoch&1 == 0 {
		return 0
	}
	p.forks.setDemand()
	return epoch
}

// Epoch returns the epoch of the place that runs the caller, and PromotedEver how
// many forks were promoted there, by all its holders.
func (w *Worker) Epoch() uint32 { return w.place.forks.epoch.Load() }

// PromotedEver is described there.
func (w *Worker) PromotedEver() uint64 { return w.place.counts.promoted }
