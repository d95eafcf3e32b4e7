//go:build interleave

package sched

import "github.com/lanewright/lanewright/interleave"

// Operations of the models of fork-join that are not exported.

// SetDemand requests a fork of the place that runs the caller, as a searcher does. The
// next Promote promotes a fork.
func (h *forkHead) SetDemand() {
	if p := h.w.place; p != nil {
		p.forks.setDemand()
	}
}

// DoElsewhere is Do for a callback that has no place, and finds none.
func (w *Worker) DoElsewhere(tasks ...*Task) error {
	w.releasePlace()
	return w.s.doElsewhere(tasks)
}

// Group returns the group that counts the promoted forks.
func (h *forkHead) Group() *Group { return &h.root.group }

// Promoted returns how many of the open forks are promoted.
func (h *forkHead) Promoted() int { return int(h.prom) }

// Observer is the memory of an observer.
type Observer struct{ observer observer }

// Observe makes one observation and reports whether a computation is open.
func (o *Observer) Observe(s *Scheduler) (open bool) { return o.observer.observe(s, nil, true).open }

// SetRequestRounds makes workers request forks for the given number of rounds, until
// restore is called.
func SetRequestRounds(rounds int) (restore func()) {
	was := requestRounds
	requestRounds = rounds
	return func() { requestRounds = was }
}

// YieldAfterRounds makes a round of a worker that requests forks end in a yield, until
// restore is called. The switch after a round is then no preemption. The executions in
// which the rounds end before another thread has taken a step remain if Options.Rounds is
// at least the number of rounds.
func YieldAfterRounds() (restore func()) {
	was := endRound
	endRound = interleave.Yield
	return func() { endRound = was }
}

// RequestForkOnce takes a place if one is free, requests a fork, and runs the task that it
// finds. It behaves as a worker that has found no task and is not the waking worker.
func (s *Scheduler) RequestForkOnce() {
	w := s.enterAsCaller()
	if w == nil {
		return
	}
	defer w.endDo()
	if n, pushed := w.place.requestFork(s, w); n != nil {
		if pushed {
			s.notify(false)
		}
		w.runNested(taskOf(n))
	}
}

// Idle returns the number of parked workers.
func (s *Scheduler) Idle() int { return s.sync.Load().Idle() }

// MissesDemand reports whether the demand flag of the place of w is set and the limit of
// the stack in use is not lowered.
func (w *Worker) MissesDemand() bool {
	return w.place.forks.demand.Load() && w.forks.limit.Load() != limitDemanded
}

// Cancel stands for a context. It ends without a goroutine.
type Cancel struct{ root forkRoot }

// End ends the context.
func (c *Cancel) End() { c.root.cancelled.Store(true) }

// ForkJoinCancel is ForkJoinContext with c.
func ForkJoinCancel[A, R any](c *Cancel, s *Scheduler, body func(*Forks[A, R], A) R, arg A) R {
	return forkJoin(s, &c.root, body, arg)
}

// SetDemand requests a fork of the place with that index, once, as a searcher does that
// finds a computation open there. It returns the epoch of the computation, or 0 when none
// is open.
func (s *Scheduler) SetDemand(index int) (epoch uint32) {
	p := s.places.all[index].Load()
	if epoch = p.forks.epoch.Load(); epoch&1 == 0 {
		return 0
	}
	p.forks.setDemand()
	return epoch
}

// Epoch returns the epoch of the place that runs the caller.
func (w *Worker) Epoch() uint32 { return w.place.forks.epoch.Load() }
