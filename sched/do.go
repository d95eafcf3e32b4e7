package sched

import (
	"context"
	"errors"
)

// Do runs the tasks and returns when all have finished: the first on the
// caller's goroutine when a place is free, without any hand-off, the others on
// whichever worker is quicker. When no place is free, it schedules all and
// waits, and so does one call of 31 while other tasks are queued, which would not
// get the place otherwise. Inside a callback it does so as the worker of that
// callback.
//
// A task that calls runtime.Goexit on the caller's goroutine ends that, and the
// others may be running still.
//
// It returns the first error of a task that Close cancelled or that called
// Goexit. A panic is raised again: as it is when the only task ran on a place that was
// free, else as a [*PanicError]. When Config.OnPanic is set it is returned as a
// [*PanicError]. Without running anything Do returns [ErrNilTask],
// [ErrAlreadyScheduled], [ErrShutdown] or [ErrClosed].
func (s *Scheduler) Do(tasks ...*Task) error {
	if len(tasks) == 0 {
		return nil
	}
	if ran, err := s.doHere(tasks); ran || err != nil {
		return err
	}
	return s.doElsewhere(tasks)
}

// TryDo is Do of one task that runs on the caller's goroutine, or not at all. It reports
// whether t ran; if so the error is that of t, as with Do. If not, t is not scheduled:
// without an error no place is free or it is the turn of what is queued, with one t was
// refused, as Do refuses it.
func (s *Scheduler) TryDo(t *Task) (ran bool, err error) { return s.doHere([]*Task{t}) }

// doHere is Do if the caller holds a place, or gets one. Else it reports false, and so it
// does, with an error, if it refuses the tasks.
func (s *Scheduler) doHere(tasks []*Task) (ran bool, err error) {
	s.init()
	if s.life.phase.Load() != open && !s.inside() {
		return false, s.refusal()
	}
	if w := s.self(); w != nil {
		return w.doAll(tasks) // a goroutine holds one place at most
	}
	w := s.enterAsCaller()
	if w == nil {
		return false, nil
	}
	defer w.endDo()
	if len(tasks) == 1 && !s.instrumented {
		return w.doOne(tasks[0])
	}
	return w.doAll(tasks)
}

// enterGuest takes a place for the caller's goroutine, which endDo gives back. It
// returns nil when none is free, or it is the turn of others.
func (s *Scheduler) enterAsCaller() *Worker {
	p := s.takePlace()
	if p == nil {
		return nil
	}
	w := p.callerWorker
	if w == nil {
		w = &Worker{s: s, callerWorker: true}
		p.callerWorker = w
	}
	w.attach(p)
	if p.doCalls++; p.doCalls == doYieldEvery {
		p.doCalls = 0
		if s.anyAvailable() {
			s.returnPlace(w)
			return nil
		}
	}
	return w
}

// doTurns is how many calls of Do hold a place between two that give way to what
// is queued: with one place, calls back to back would keep it from the workers,
// which find it taken again whenever they come.
const doYieldEvery = 31

// doOne runs t as the whole Do. It reports false, and why, when it refuses t.
func (w *Worker) doOne(t *Task) (ran bool, err error) {
	if err := t.claim(ungrouped); err != nil {
		return false, err
	}
	w.enter(t)
	w.place.counts.executed++
	t.Fn(w, t)
	return true, nil
}

// doAll runs several tasks as a worker. It reports false, and why, when it refuses them.
func (w *Worker) doAll(tasks []*Task) (ran bool, err error) {
	if w.inHook {
		panic("sched: Do: called from Config.OnIdle")
	}
	if w.s.closing.Load() {
		return false, ErrClosed
	}
	g := w.doGroup
	if g == nil {
		g = new(Group)
		g.s.Store(w.s)
	}
	w.doGroup = nil
	if err := claimAll(tasks, g); err != nil {
		return false, err
	}
	g.addScheduled(w.place, uint64(len(tasks)))
	if w.place.queue.PushAll(nodesOf(tasks[1:])) {
		w.place.counts.spilled++
	}
	if len(tasks) > 1 {
		w.s.notify(false)
	}
	err = w.finish(g, tasks[0], nil)
	if err == nil {
		w.doGroup = g // nothing of it is left
	}
	return true, err
}

// endDo gives back what Do took, also when a task panicked or called Goexit.
func (w *Worker) endDo() {
	w.flush()
	w.cur, w.task = nil, nil
	if w.place != nil {
		w.s.returnPlace(w)
	} else if w.blocked {
		w.endBlocking()
	}
}

// doElsewhere is Do without a free place.
func (s *Scheduler) doElsewhere(tasks []*Task) error {
	g := new(Group)
	g.s.Store(s)
	if err := claimAll(tasks, g); err != nil {
		return err
	}
	g.addScheduled(nil, uint64(len(tasks)))
	if err := s.inject(tasks); err != nil && !errors.Is(err, ErrQueued) {
		return err
	}
	return g.waitOutside(context.Background())
}
