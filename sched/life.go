package sched

import (
	"context"
	"slices"
	stdsync "sync"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Phases of a scheduler. They only go up.
const (
	open     uint32 = iota
	draining        // Shutdown was called: nothing is taken from outside
	closed          // Close was called, or Shutdown has drained
)

// life is what Shutdown, Close and Join need to know. It is cold.
type life struct {
	phase atomix.Uint32

	// alive counts worker goroutines, from before their start to their end, and
	// the callers of Run. Who runs callbacks without being one of them either
	// holds a place or is on the list of the blocked.
	alive atomix.Int64

	// moving counts calls of Shutdown that may have tasks in hand.
	drainers atomix.Int64

	waiters waitList // Shutdown and Join
	starved waitSet  // waits that rely on a worker, while the Spawner may fail

	orphans mpsc.Queue // tasks that nobody ran, for Join to return

	// closing ends with Close, for those who wait for what a cancelled task would
	// have given back.
	closing context.Context
	close   context.CancelFunc

	mu      stdsync.Mutex
	blocked map[uintptr][]*Worker // callbacks that gave their place away, by goroutine
	callers int                   // those among them that run in a Do
}

func (l *life) init() {
	l.blocked = make(map[uintptr][]*Worker)
	l.closing, l.close = context.WithCancel(context.Background())
}

// gone counts out a worker goroutine that ends.
func (l *life) workerEnded() {
	l.alive.Add(-1)
	l.changed()
}

// changed wakes those who wait for the scheduler to come to rest.
func (l *life) changed() {
	if !l.waiters.empty() {
		l.waiters.wakeAll()
	}
}

// block and unblock keep the list of callbacks that run without a place.
func (l *life) block(w *Worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.self = park.Self()
	l.blocked[w.self] = append(l.blocked[w.self], w)
	if w.callerWorker {
		l.callers++
	}
}

func (l *life) unblock(w *Worker) {
	l.mu.Lock()
	if ws := l.blocked[w.self]; len(ws) > 1 {
		l.blocked[w.self] = slices.DeleteFunc(ws, func(o *Worker) bool { return o == w })
	} else {
		delete(l.blocked, w.self)
	}
	if w.callerWorker {
		l.callers--
	}
	l.mu.Unlock()
	l.changed()
}

func (l *life) blockedCallers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.callers
}

func (l *life) blockedCallbacks() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.blocked)
}

// self returns the worker whose place the calling goroutine holds, or nil.
func (s *Scheduler) self() (w *Worker) {
	me := park.Self()
	s.places.any(func(p *place) bool {
		if p.holder.Load() == me {
			w = p.current
		}
		return w != nil
	})
	return w
}

// inside reports whether the calling goroutine is in a callback of s.
func (s *Scheduler) inside() bool {
	if s.self() != nil {
		return true
	}
	me := park.Self()
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	return len(s.life.blocked[me]) > 0
}

// Shutdown refuses new tasks from outside, waits until every accepted task has
// run, also those that tasks schedule meanwhile, and ends the workers. It
// returns nil then, [ErrInCallback] from inside a callback, and the cause of ctx
// when that ends first: the scheduler goes on draining then, and Shutdown may be
// called again, or Close. Stats says how many places are held by callbacks that have
// not returned; with Config.Labels a goroutine profile shows which. When the
// scheduler was closed, it waits for the callbacks as Join does.
//
// When no worker can be started, Shutdown runs what is queued on the goroutine of
// its caller. A task that calls runtime.Goexit there ends that goroutine.
func (s *Scheduler) Shutdown(ctx context.Context) error {
	s.init()
	if s.inside() {
		return ErrInCallback
	}
	if s.life.phase.Load() == open {
		s.life.drainers.Add(1) // before anybody can see the phase
		if s.life.phase.CompareAndSwap(open, draining) {
			s.moveInjection()
		}
		s.life.drainers.Add(-1)
		s.life.changed()
	}
	if err := s.life.wait(ctx, s.drained); err != nil {
		return err
	}
	return s.life.wait(ctx, s.ended)
}

// moveInjection seals the injection queue and queues what was in it again, where
// workers find it.
func (s *Scheduler) moveInjection() {
	var l mpsc.List
	s.injection.Seal(&l)
	if l.Empty() {
		return
	}
	if !s.pushOverflow(&l) {
		s.discard(&l)
	}
	s.notify(false)
}

// pushOverflow queues l in the overflow queue of a place, for callers without one
// while the injection queue is sealed. It reports false when the scheduler is
// closed.
func (s *Scheduler) pushOverflow(l *mpsc.List) bool {
	ok := s.life.phase.Load() != closed && s.places.any(func(p *place) bool {
		p.queue.PushOverflow(l)
		return true
	})
	if ok && s.life.phase.Load() == closed {
		var left mpsc.List // Close may have looked there before the push
		s.stealAll(&left)
		s.discard(&left)
	}
	return ok
}

// drained reports that nothing is queued and nothing runs, and has closed the
// scheduler then. Without any worker it runs tasks itself, until ctx ends.
func (s *Scheduler) drained(ctx context.Context) bool {
	if s.life.phase.Load() == closed {
		return true
	}
	if s.life.drainers.Load() != 0 {
		return false
	}
	// While all places are held, who gives one back tells. Each attempt to start a
	// worker that fails does so, too: to make one then would be to spin.
	if !s.places.full() && !s.closing.Load() && s.sync.Load().Spawned() == 0 && s.anyQueued() && !s.notify(false) {
		s.drainHere(ctx)
	}
	held, at := s.places.held()
	if held != 0 || s.life.blockedCallbacks() != 0 || s.anyQueued() {
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

// drainHere runs what is queued on the goroutine of Shutdown, in a scheduler
// that cannot start a worker.
func (s *Scheduler) drainHere(ctx context.Context) {
	p := s.takePlace()
	if p == nil {
		return
	}
	w := &Worker{s: s, callerWorker: true, stop: ctx.Done()}
	w.attach(p)
	defer w.endDo()
	for w.workContained() && w.place != nil { // each turn ends with a contained panic
	}
}

// workContained is work that contains panics, as loop does.
func (w *Worker) workContained() (again bool) {
	ended := false
	defer func() {
		if !ended {
			again = w.contain(recover())
		}
	}()
	w.work(mustNone)
	ended = true
	return false
}

// endWorkers makes every worker end: those that are parked are woken, the others
// see it when they would park.
func (s *Scheduler) endWorkers() {
	idle, _ := s.sync.Shutdown()
	for range idle {
		s.idle.Post()
	}
	s.stallParker.Unpark()
}

// ended reports whether no goroutine runs or will resume a callback.
func (s *Scheduler) ended(context.Context) bool {
	word := s.sync.Load()
	if word.State() != lfsync.StateShutdown || word.Spawned() != 0 || s.life.drainers.Load() != 0 {
		return false
	}
	held, _ := s.places.held()
	return s.life.alive.Load() == 0 && held == 0 && s.life.blockedCallers() == 0
}

// wait parks until ok, which is called again after each change.
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
			l.changed() // for those who were not on the list meanwhile
			return context.Cause(ctx)
		}
	}
}

// Close refuses new tasks, stops the workers after the callback that they run,
// and returns the tasks that were scheduled and that nobody ran, in no
// particular order; they belong to the caller again. Tasks of a group are not
// returned: they are cancelled, and the Wait of the group returns [ErrClosed].
// Close does not wait for running callbacks: Join does, and returns the tasks
// that their workers still held.
//
// From inside a callback Close returns [ErrInCallback] and does nothing. The
// second Close returns no tasks.
func (s *Scheduler) Close() ([]*Task, error) {
	s.init()
	if s.inside() {
		return nil, ErrInCallback
	}
	if s.life.phase.Load() == closed {
		return nil, nil
	}
	s.attention.Add(1)    // workers look up, and stop when closing is set
	s.closing.Store(true) // before anybody can see the phase and ask why
	if s.life.phase.Swap(closed) == closed {
		return nil, nil // a Shutdown has just drained
	}
	var l mpsc.List
	s.injection.Seal(&l)
	s.drainInjection(&l)
	s.places.close(func(p *place) { p.queue.Drain(&l) })
	s.stealAll(&l)
	s.endWorkers()
	s.life.close()
	s.life.changed()
	return s.unrun(&l), nil
}

// drainInjection moves what consumers of the sealed injection queue left to l.
func (s *Scheduler) drainInjection(l *mpsc.List) {
	if drain(&s.injection, l) {
		s.notify(false)
	}
}

// drain moves what is in q to l and reports whether more has come. Who holds the
// consumer token, if anybody, is a worker that drains when it leaves.
func drain(q *mpsc.Queue, l *mpsc.List) (more bool) {
	var c mpsc.Consumer
	if q.TryAcquire(&c, injectionOrder) != mpsc.Acquired {
		return false
	}
	for n := c.Pop(); n != nil; n = c.Pop() {
		l.Push(n)
	}
	return c.Release()
}

// sweep takes what is left in a place that nobody will take again, for Join to
// return, and in the queues that its holder may have had the consumer token of
// when Close looked there.
func (s *Scheduler) sweep(p *place) {
	var l mpsc.List
	p.queue.Drain(&l)
	s.drainInjection(&l)
	s.stealAll(&l)
	s.discard(&l)
}

// stealAll moves what can be had of all places to l, as a thief.
func (s *Scheduler) stealAll(l *mpsc.List) {
	s.places.each(func(p *place) { p.queue.StealAll(l) })
}

// discard keeps tasks that nobody will run for Join, and cancels those of groups.
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

// unrun returns the tasks of l that belong to no group and cancels the others.
func (s *Scheduler) unrun(l *mpsc.List) (tasks []*Task) {
	for n := l.Pop(); n != nil; n = l.Pop() {
		if t := taskOf(n); !t.cancel() {
			t.group = nil
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// cancel ends a queued task of a group with ErrClosed and reports whether it was
// one.
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

// Join returns when no goroutine of the scheduler is left and no callback of it
// runs, with the tasks that were scheduled and that nobody ran, other than those
// that Close returned. Before Shutdown or Close it returns [ErrNotClosed], from
// inside a callback [ErrInCallback], and when ctx ends its cause; it may be
// called again.
func (s *Scheduler) Join(ctx context.Context) ([]*Task, error) {
	s.init()
	if s.inside() {
		return nil, ErrInCallback
	}
	if s.life.phase.Load() == open {
		return nil, ErrNotClosed
	}
	if err := s.life.wait(ctx, s.drained); err != nil { // a Shutdown may have given up
		return nil, err
	}
	if err := s.life.wait(ctx, s.ended); err != nil {
		return nil, err
	}
	var l mpsc.List
	s.drainInjection(&l)
	s.stealAll(&l)
	drain(&s.life.orphans, &l)
	return s.unrun(&l), nil
}
