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
// other place that it picks at random, every 31st call on the place does so, too. The calls of
// TryDo and [ForkJoin] count as well. So does a Do that finds tasks queued there or in the injection
// queue, if a worker that looked for them has found no place for about a millisecond. Otherwise the
// queued tasks would not get the place. A caller that has called without a pause for about a millisecond
// yields the processor before its next call, while it holds no place. If yields take long, it does
// so after about 8 ms. Inside a callback that holds its place Do runs as the worker of that callback.
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
	if p != nil && p.pace.count() && p.pace.begin(s.milli) {
		s.returnDetached(p)
		began := cpu.Ticks()
		park.Pause()
		if p = s.takePlace(); p != nil {
			p.pace.resume(began, cpu.Ticks(), s.milli)
		}
	}
	if p == nil {
		return nil
	}
	w := p.callerWorker
	if w == nil {
		w = newWorker(s, callerWorker)
		p.callerWorker = w
	}
	w.attach(p)
	if p.callerYields(s) {
		s.returnPlace(w)
		return nil
	}
	w.frame.Enter()
	return w
}

// newCaller returns a new caller worker that holds p.
func (s *Scheduler) newCaller(p *place) *Worker {
	w := newWorker(s, callerWorker)
	w.attach(p)
	return w
}

// Each doYieldEvery-th call of Do on a place leaves it to queued tasks. So does a call that
// finds tasks queued doYieldMillis after a worker has found no place. Calls in quick succession
// would otherwise keep the places from the workers, which would find them taken each time. The
// number is for short callbacks and the time for long ones: with the number alone, a task from
// outside waited for 28 calls of 10 ms. The worker notes the time, and not a call, so that the
// next call on any place yields: with a time for each place, noted by its calls, the task waited
// for two calls of one place.
const (
	doYieldEvery  = 31
	doYieldMillis = 1
)

// callerYields reports whether a caller that has taken p leaves it to queued tasks.
func (p *place) callerYields(s *Scheduler) bool {
	if p.pace.calls == 0 {
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
	case int64(cpu.Ticks()-since) < doYieldMillis*s.milli: // signed, because the counters of two processors may differ
		return false
	}
	s.refusedSince.Store(0)
	return true
}

// callPace measures the calls of callers on a place. Times are in ticks. Only the holder of the
// place uses it.
//
// The Go runtime preempts a goroutine after 10 ms. A caller without pauses would lose the processor in
// the middle of a call, where it holds its place. A goroutine that gets the processor then and
// schedules a task would wait for the end of that call, too. So the caller yields the processor between
// two calls, where it has no place.
//
// While doYieldEvery calls take less than a millisecond, only the last of them reads the clock.
type callPace struct {
	calls uint32 // begun since the last look at the queues
	short bool   // the last doYieldEvery calls have taken less than a millisecond
	long  bool   // the last yield has taken a millisecond or more
	look  uint64 // when the last of these looks was
	run   uint64 // when the calls without a pause between them began
	ended uint64 // when the last call ended, if calls are not short
}

// A caller yields once it has had the processor for a slice of sliceMillis. The slice is short, because a
// task from outside waits for its end. After a yield that took long the slice is longSlice. Such a yield
// was behind a goroutine that computes for its time slice of 10 ms, and with short slices the caller would
// get a tenth of the time of that goroutine. A caller that was away for a pause has a new slice.
const (
	sliceMillis   = 1
	longSlice     = 8 // milliseconds
	pausesInMilli = 10
)

// count counts a call, and reports whether it reads the clock.
func (c *callPace) count() bool {
	if c.calls++; c.calls == doYieldEvery {
		c.calls = 0
	}
	return !c.short || c.calls == 0
}

// begin begins a call that reads the clock. It reports whether the caller yields the processor before
// the call. milli is a millisecond in ticks.
func (c *callPace) begin(milli int64) (yields bool) {
	return !park.Explored() && c.beginAt(cpu.Ticks(), milli) // a model has no clock
}

// beginAt is begin at that time.
func (c *callPace) beginAt(now uint64, milli int64) (yields bool) {
	if !c.short && int64(now-c.ended) > milli/pausesInMilli { // signed, because the counters of two processors may differ
		c.run = now
	}
	if c.calls == 0 {
		c.short = int64(now-c.look) < milli
		c.look = now
	}
	slice := sliceMillis * milli
	if c.long {
		slice = longSlice * milli
	}
	return int64(now-c.run) >= slice
}

// resume begins a new slice after a yield.
func (c *callPace) resume(began, now uint64, milli int64) {
	c.long = int64(now-began) >= milli
	c.run = now
}

// end notes the end of a call.
func (c *callPace) end() {
	if !c.short && !park.Explored() {
		c.ended = cpu.Ticks()
	}
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
	err = g.finishAs(w, tasks[0], nil)
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
