package sched

import (
	"context"
	"fmt"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/self"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Phases of a scheduler. The phase only grows.
const (
	open     uint32 = iota
	draining        // Shutdown was called: tasks of external callers are refused
	closed          // Close was called, or Shutdown has drained
)

// life is the state that Shutdown, Close and Join use.
type life struct {
	phase atomix.Uint32

	// alive counts the worker goroutines, from before their start to their end, and
	// the callers of Run. Any other goroutine that runs a callback holds a place or
	// is in blocked.
	alive atomix.Int64

	// drainers counts the calls of drain: they may hold tasks outside any queue.
	drainers atomix.Int64

	waiters waitList // Shutdown and Join
	unused  unusedWaiters
	starved waitSet // waits that rely on a worker, in a scheduler whose Spawner may fail

	orphans mpsc.Queue // tasks that no worker ran, for Join to return

	// closing ends with Close. A goroutine that waits for a permit that a cancelled
	// task would have released waits for closing as well.
	closing context.Context
	close   context.CancelFunc

	blocked atomix.Int64 // workers in callbacks that have released their place
	callers atomix.Int64 // caller workers among these
}

func (l *life) init() {
	l.closing, l.close = context.WithCancel(context.Background())
}

// workerEnded records that a worker goroutine has ended.
func (l *life) workerEnded() {
	l.alive.Add(-1)
	l.changed()
}

// changed wakes the goroutines that wait for the scheduler to end, to check again.
func (l *life) changed() {
	if !l.waiters.empty() {
		l.waiters.wakeAll()
	}
}

// innermost returns the worker of the callback of s that the calling goroutine runs, or nil.
// That is the last one if a callback that has released its place has called Do. Only that
// worker may hold a place.
func (s *Scheduler) innermost() *Worker {
	for f := self.Top(); f != nil; f = f.Up() {
		if w, ok := f.Owner.(*Worker); ok && w.s == s && (w.place != nil || w.state == placeless) {
			return w
		}
	}
	return nil
}

// self returns the worker whose place the calling goroutine holds, or nil.
func (s *Scheduler) self() *Worker {
	if w := s.innermost(); w != nil && w.place != nil {
		return w
	}
	return nil
}

// inside reports whether the calling goroutine is in a callback of s.
func (s *Scheduler) inside() bool { return s.innermost() != nil }

// Shutdown refuses new tasks of external callers, waits until every accepted task has
// run, and ends the workers. Accepted tasks include those that running tasks schedule.
// Shutdown then returns nil.
//
// From inside a callback Shutdown returns [ErrInCallback] and does nothing. For [Default] it
// returns [ErrDefault] and does nothing. When ctx ends first, it returns an error that wraps the
// cause of ctx. The text has the numbers of running callbacks and queued tasks, as [Stats] counts
// them, and of workers that have not begun. If all of them are 0, it has the number of workers
// that have not ended. It names some of the functions that run, as [Scheduler.Inspect] finds them,
// unless [runtime.NumGoroutine] is above 256. During a garbage collection that number includes
// goroutines that have ended. The scheduler continues to drain, and Shutdown or Close may be called
// again. If the scheduler is closed, Shutdown waits for the callbacks as Join does.
//
// When no worker can be started, Shutdown runs the queued tasks on the goroutine of its
// caller. A task that calls runtime.Goexit there ends that goroutine.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.init()
	if s == &shared {
		return ErrDefault
	}
	if s.inside() {
		return ErrInCallback
	}
	if s.life.phase.Load() == open {
		s.drain(func(l *mpsc.List) {
			if s.life.phase.CompareAndSwap(open, draining) {
				s.injection.Seal(l)
			}
		})
	}
	return s.awaitEnd(ctx, "Shutdown")
}

// awaitEnd drains s unless it is closed, and waits until it has ended. A Join drains as well,
// because a Shutdown may have given up. awaitEnd returns an error that wraps the cause of ctx when
// ctx ends first. call is the name of the calling method.
func (s *Scheduler) awaitEnd(ctx context.Context, call string) error {
	err := s.life.wait(ctx, s.drained)
	if err == nil {
		err = s.life.wait(ctx, s.ended)
	}
	if err != nil {
		err = fmt.Errorf("sched: %s: %s: %w", call, s.left(), err)
	}
	return err
}

// left describes the work that is left.
func (s *Scheduler) left() string {
	st := s.Stats()
	if st.Running+st.Queued+st.Starting == 0 {
		return fmt.Sprintf("workers that have not ended: %d", st.Workers)
	}
	names := ""
	if st.Running > 0 {
		names = s.runningNames()
	}
	text := fmt.Sprintf("running callbacks: %d%s, queued tasks: about %d", st.Running, names, st.Queued)
	if st.Starting > 0 {
		text += fmt.Sprintf(", workers that the Spawner has not begun: %d", st.Starting)
	}
	return text
}

// drain moves tasks to the injection queue, or to an overflow queue if that is sealed.
// take moves them from their queues to a list. In between they are in no queue, so a drain
// counts itself, and changes the word of the free list after the push: drained then either
// sees the tasks, or the count, or fails to close the list.
func (s *Scheduler) drain(take func(l *mpsc.List)) {
	s.life.drainers.Add(1)
	var l mpsc.List
	if take(&l); !l.Empty() {
		if !s.injection.PushList(&l) && !s.pushOverflow(&l) {
			s.discard(&l)
		}
		s.places.changeTag()
		s.notify(false)
	}
	s.life.drainers.Add(-1)
	s.life.changed()
}

// pushOverflow pushes l to the overflow queue of a place, of one that is not stalled if
// it finds one. Otherwise it takes any place, because marks may move while it looks. A caller
// without a place uses it while the injection queue is sealed. It reports false when the
// scheduler is closed.
func (s *Scheduler) pushOverflow(l *mpsc.List) bool {
	push := func(toAny bool) bool {
		return s.places.any(func(p *place) bool {
			ok := toAny || !p.isStalled()
			if ok {
				p.queue.PushOverflow(l)
				s.places.queued.add(p.index)
			}
			return ok
		})
	}
	ok := s.life.phase.Load() != closed && (push(false) || push(true))
	if ok && s.life.phase.Load() == closed {
		var left mpsc.List // Close may have drained that queue before the push
		s.stealAll(&left)
		s.discard(&left)
	}
	return ok
}

// drained reports whether the scheduler is closed. It closes the scheduler when no task is
// queued and no callback runs. When no worker exists and none can be started, it runs tasks
// itself until ctx ends.
func (s *Scheduler) drained(ctx context.Context) bool {
	if s.life.phase.Load() == closed {
		return true
	}
	s.returnLingeringPlace() // it counts as held
	// While all places are held, the return of a place wakes this waiter, and so does a
	// spawn that fails. A notification here would spin in that state, because the spawn
	// would fail and wake this waiter, which would notify again.
	if !s.full() && !s.closing.Load() && s.sync.Load().Spawned() == 0 && s.anyQueued() && !s.notify(false) {
		s.drainHere(ctx)
	}
	// In this order: a callback is counted as blocked before it returns its place, and a
	// drainer counts itself before it takes a task. protocol/end.md has the argument.
	held, at := s.places.held()
	if held != 0 || s.life.blocked.Load() != 0 || s.anyQueued() || s.life.drainers.Load() != 0 {
		return false
	}
	if !s.places.closeAt(at) {
		return s.life.phase.Load() == closed
	}
	s.life.phase.Store(closed)
	s.endWorkers()
	s.life.changed()
	return true
}

// endWorkers makes every worker and the stall monitor end. It wakes the parked workers. The
// other workers find the shutdown state when they are about to park.
func (s *Scheduler) endWorkers() {
	idle, lingering, _ := s.sync.Shutdown()
	for range idle {
		s.idle.Post()
	}
	if lingering {
		s.lingerer.Swap(nil).end(lingerClosed)
	}
	s.stallParker.Unpark()
	s.stopIdleTimer()
}

// ended reports whether the workers have ended and no goroutine runs or will resume a
// callback.
func (s *Scheduler) ended(context.Context) bool {
	word := s.sync.Load()
	if word.State() != lfsync.StateShutdown || word.Spawned() != 0 || s.life.drainers.Load() != 0 {
		return false
	}
	held, _ := s.places.held()
	return s.life.alive.Load() == 0 && held == 0 && s.life.callers.Load() == 0
}

// wait parks until ok reports true or ctx ends. It calls ok again after each change.
func (l *life) wait(ctx context.Context, ok func(context.Context) bool) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if ok(ctx) {
		return nil
	}
	p := lfsync.NewParker()
	entry := &waiter{parker: p}
	for {
		l.waiters.add(entry)
		if ok(ctx) {
			return nil
		}
		if ctx.Err() != nil || !p.ParkDone(ctx.Done()) {
			l.waiters.drop(entry)
			l.changed() // for waiters that drop has taken off the list for a moment
			return context.Cause(ctx)
		}
	}
}

// Close refuses new tasks and stops each worker after its current callback. It returns the
// scheduled tasks that no worker has run, in no particular order. They belong to the caller
// again. Tasks of a group are not returned: Close cancels them, and the Wait of the group
// returns [ErrClosed].
//
// Close does not wait for running callbacks. [Scheduler.Join] waits for them, and returns
// the tasks that their workers still held.
//
// From inside a callback Close returns [ErrInCallback] and does nothing. For [Default] it
// returns [ErrDefault] and does nothing. The second Close returns no tasks.
func (s *Scheduler) Close() ([]*Task, error) {
	s.init()
	if s == &shared {
		return nil, ErrDefault
	}
	if s.inside() {
		return nil, ErrInCallback
	}
	if s.life.phase.Load() == closed {
		return nil, nil
	}
	s.attention.Add(1)    // workers load closing between two tasks, and stop when it is set
	s.closing.Store(true) // before the phase is visible, so that a refusal is ErrClosed
	if s.life.phase.Swap(closed) == closed {
		return nil, nil // a Shutdown has just drained
	}
	var l mpsc.List
	s.injection.Seal(&l)
	s.drainInjection(&l)
	// The order of these two does not matter. A place that is taken in between keeps only tasks that
	// its holder has pushed since, or that another goroutine was taking. Both sweep when they
	// return their places.
	s.places.close(func(p *place) { p.queue.Drain(&l) })
	s.stealAll(&l)
	s.endWorkers()
	s.life.close()
	s.life.changed()
	return s.unrun(&l), nil
}

// drainInjection moves the tasks that consumers have left in the sealed injection queue to l.
func (s *Scheduler) drainInjection(l *mpsc.List) {
	if takeAll(&s.injection, l) {
		s.notify(false)
	}
}

// takeAll moves the tasks of q to l and reports whether q has more. It moves none while
// another goroutine holds the consumer token. That goroutine is a worker, and it drains q
// when it leaves.
func takeAll(q *mpsc.Queue, l *mpsc.List) (more bool) {
	var c mpsc.Consumer
	if q.TryAcquire(&c, injectionOrder) != mpsc.Acquired {
		return false
	}
	for n := c.Pop(); n != nil; n = c.Pop() {
		l.Push(n)
	}
	return c.Release()
}

// sweep discards the tasks left in p, which no goroutine will take again, so that Join
// returns them. It does the same for the queues whose consumer token the holder of p may
// have had when Close drained them. Otherwise the tasks of groups there would be cancelled by Join
// only, and a Wait without a Join would not end.
func (s *Scheduler) sweep(p *place) {
	var l mpsc.List
	p.queue.Drain(&l)
	s.drainInjection(&l)
	s.stealAll(&l)
	s.discard(&l)
}

// stealAll moves the tasks that a thief can take from all places to l.
func (s *Scheduler) stealAll(l *mpsc.List) {
	s.places.each(func(p *place) { p.queue.StealAll(l) })
}

// discard keeps the tasks of l for Join, because no worker will run them. It cancels those
// that belong to a group.
func (s *Scheduler) discard(l *mpsc.List) {
	var keep mpsc.List
	for n := l.Pop(); n != nil; n = l.Pop() {
		if t := taskOf(n); !t.cancel() {
			keep.Push(n)
		}
	}
	if !keep.Empty() {
		s.life.orphans.PushList(&keep)
	}
}

// unrun returns the tasks of l that belong to no group, and cancels the others.
func (s *Scheduler) unrun(l *mpsc.List) (tasks []*Task) {
	for n := l.Pop(); n != nil; n = l.Pop() {
		if t := taskOf(n); !t.cancel() {
			t.group = nil
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// cancel ends a queued task of a group with ErrClosed. It reports whether t belongs to a
// group.
func (t *Task) cancel() bool {
	g := t.group
	if !g.counts() {
		return false
	}
	t.group = nil
	g.fail(ErrClosed)
	g.addFinished(nil, 1)
	return true
}

// Join waits until no goroutine of the scheduler is left and no callback runs. It returns
// the scheduled tasks that no worker has run, except those that Close has returned.
//
// Before Shutdown or Close it returns [ErrNotClosed], and from inside a callback
// [ErrInCallback]. When ctx ends first it returns an error as [Scheduler.Shutdown] does, and may
// be called again.
func (s *Scheduler) Join(ctx context.Context) ([]*Task, error) {
	s.init()
	if s.inside() {
		return nil, ErrInCallback
	}
	if s.life.phase.Load() == open {
		return nil, ErrNotClosed
	}
	if err := s.awaitEnd(ctx, "Join"); err != nil {
		return nil, err
	}
	var l mpsc.List
	s.drainInjection(&l)
	s.stealAll(&l)
	takeAll(&s.life.orphans, &l)
	return s.unrun(&l), nil
}

// runLimit is the limit of the worker count for callers of Run, which may come in
// addition to MaxWorkers.
const runLimit = lfsync.MaxWorkers

// Run makes the caller a worker until ctx ends or the scheduler is shut down or closed.
// At most MaxWorkers workers that are not stalled hold a place at a time, and callers of
// Run are among them. A callback that runs when ctx ends is finished first. A task that
// calls runtime.Goexit ends the goroutine of the caller.
//
// Run returns nil when the scheduler has ended, and the cause of ctx when ctx has ended.
// It returns [ErrInCallback] inside a callback, and [ErrTooManyWorkers] when 16,383
// workers exist.
func (s *Scheduler) Run(ctx context.Context) error {
	if ctx == nil {
		panic("sched: Run: nil context")
	}
	s.init()
	if s.inside() {
		return ErrInCallback
	}
	s.idleEnd.runs.Add(1)
	defer func() {
		s.idleEnd.runs.Add(-1)
		s.subtracted(s.sync.Load())
	}()
	if word, ok := s.sync.Enter(runLimit); !ok {
		if word.State() == lfsync.StateShutdown {
			return nil
		}
		return ErrTooManyWorkers
	}
	s.life.alive.Add(1)
	defer s.life.workerEnded()
	w := newWorker(s, runWorker)
	w.stop = ctx.Done()
	w.frame.Enter()
	defer w.frame.Leave()
	s.runLoops(w)
	if s.life.phase.Load() == closed {
		return nil
	}
	return context.Cause(ctx)
}
