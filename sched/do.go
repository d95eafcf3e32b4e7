package sched

import (
	"context"
	"errors"
	"runtime"

	"github.com/lanewright/lanewright/internal/cpu"
	"github.com/lanewright/lanewright/internal/park"
)

// Do runs the tasks and returns when all have finished. When a place is free, the caller
// takes it and runs the first task on its own goroutine, without a hand-off. The caller
// and the workers run the others. When no place is free, Do schedules all tasks and
// waits. While other tasks are queued on that place, in the injection queue, or on one
// other place that it picks at random, every 31st Do on the place does so, too. So does a
// Do that finds tasks queued there or in the injection queue, if a worker that looked for them
// has found no place for about a millisecond. Otherwise the queued tasks would not get the
// place. Inside a callback that holds its place Do runs as the worker of that callback.
//
// A task that calls runtime.Goexit on the goroutine of the caller ends that goroutine.
// The other tasks may still be running then.
//
// Do returns the first error of a task that Close has cancelled or that called Goexit. It
// raises a panic again. The value is unchanged if Do had one task, ran it on a free place,
// and Config.Trace is not set. Otherwise it is a [*PanicError]. With Config.OnPanic Do
// returns the *PanicError instead. Do returns [ErrNilTask], [ErrAlreadyScheduled],
// [ErrShutdown] or [ErrClosed] when it has run none of the tasks.
func (s *Scheduler) Do(tasks ...*Task) error {
	if len(tasks) == 0 {
		return nil
	}
	if ran, err := s.doHere(tasks); ran || err != nil {
		return err
	}
	return s.doElsewhere(tasks)
}

// TryDo runs t on the goroutine of the caller, or not at all. It reports whether t ran. If
// t ran, the error is that of Do. If t did not run, it is not scheduled either. The error
// is nil then if no place is free or queued tasks have precedence, and otherwise it is the
// error with which Do refuses t.
func (s *Scheduler) TryDo(t *Task) (ran bool, err error) { return s.doHere([]*Task{t}) }

// doHere is Do for a caller that holds a place, or gets one. It reports false if there is
// none, and false with an error if it refuses the tasks.
func (s *Scheduler) doHere(tasks []*Task) (ran bool, err error) {
	s.init()
	if s.life.phase.Load() != open && !s.inside() {
		return false, s.refusal()
	}
	if w := s.self(); w != nil {
		return w.doAll(tasks) // a goroutine holds at most one place
	}
	w := s.enterAsCaller()
	if w == nil {
		return false, nil
	}
	defer w.endDo()
	if len(tasks) == 1 && !s.observed {
		return w.doOne(tasks[0])
	}
	return w.doAll(tasks)
}

// enterAsCaller takes a place for the goroutine of the caller, which endDo returns. It
// returns nil when no place is free, or when queued tasks have precedence.
func (s *Scheduler) enterAsCaller() *Worker {
	p := s.takePlace()
	if p == nil {
		return nil
	}
	w := p.callerWorker
	if w == nil {
		w = &Worker{s: s, role: callerWorker}
		p.callerWorker = w
	}
	w.attach(p)
	if p.callerYields(s) {
		s.returnPlace(w)
		return nil
	}
	w.enterFrame()
	return w
}

// newCaller returns a new caller worker that holds p.
func (s *Scheduler) newCaller(p *place) *Worker {
	w := &Worker{s: s, role: callerWorker}
	w.attach(p)
	return w
}

// Each doYieldEvery-th call of Do on a place leaves it to queued tasks. So does a call that
// finds tasks queued doYieldMicros after a worker has found no place. Calls in quick succession
// would otherwise keep the places from the workers, which would find them taken each time. The
// number is for short callbacks and the time for long ones: with the number alone, a task from
// outside waited for 28 calls of 10 ms. The worker notes the time, and not a call, so that the
// next call on any place yields: with a time for each place, noted by its calls, the task waited
// for two calls of one place.
const (
	doYieldEvery  = 31
	doYieldMicros = 1000
)

// callerYields reports whether a caller that has taken p leaves it to queued tasks.
func (p *place) callerYields(s *Scheduler) bool {
	if p.doCalls++; p.doCalls == doYieldEvery {
		p.doCalls = 0
		return p.queue.Available() || s.injection.Available() || p.otherAvailable(s)
	}
	if park.Explored() { // a model has no clock
		return false
	}
	since := s.refusedSince.Load()
	switch {
	case since == 0:
		return false
	case !s.injection.Available() && (!p.listed || !p.queue.Available()):
		s.refusedSince.Store(0)
		return false
	case int64(cpu.Ticks()-since) < s.doYieldTicks: // signed, because the counters of two processors may differ
		return false
	}
	s.refusedSince.Store(0)
	return true
}

// noteRefusal notes the time at which a worker has found no place.
func (s *Scheduler) noteRefusal() {
	if !park.Explored() && s.refusedSince.Load() == 0 {
		s.refusedSince.Store(cpu.Ticks())
	}
}

// doOne runs the only task of a Do. It reports false, with the reason, when it refuses t.
//
//go:noinline
func (w *Worker) doOne(t *Task) (ran bool, err error) {
	if err := t.claim(ungrouped); err != nil {
		return false, err
	}
	p := w.place
	w.enter(t, p) // an ungrouped task runs
	p.counts.executed++
	t.Fn(w, t)
	runtime.KeepAlive(w) // exact in a stack trace: see callbacksIn
	return true, nil
}

// doAll runs several tasks as a worker. It reports false, with the reason, when it
// refuses them.
func (w *Worker) doAll(tasks []*Task) (ran bool, err error) {
	if w.state == inHook {
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
	if len(tasks) > 1 {
		w.place.list(w.s)
		if w.place.queue.PushAll(nodesOf(tasks[1:])) {
			w.place.counts.spilled++
		}
		w.s.notify(false)
	}
	err = w.finish(g, tasks[0], nil)
	if err == nil {
		w.doGroup = g // for the next Do: nothing of this one is left in it
	}
	return true, err
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
	return g.waitWithoutPlace(context.Background())
}
