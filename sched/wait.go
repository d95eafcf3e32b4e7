package sched

import (
	"context"
	"time"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// maxFrames is how many tasks may run on top of each other in the Waits of one
// goroutine, and how far a Wait follows groups that wait for each other.
const maxFrames = 64

// scanSlots is how many tasks of its ring a Wait looks at for one that it may
// run. What it waits for was pushed last, so the first look mostly finds it.
const scanSlots = 32

// Wait returns when every task that was scheduled in g has finished.
//
// While it waits it runs tasks of g that have not started, and tasks that a task
// of g waits for in turn, on top of the caller's stack; it never runs any other
// task there, so the caller may hold a lock that other tasks need. With no such
// task at hand it gives its place away as Blocking does, so that waiting never
// takes a worker from those who could end the wait. At hand is what lies in the queue
// of a worker: tasks that were scheduled through one, by [Group.Schedule] or
// [Group.ScheduleBatch], and some of those that a worker took along from the injection
// queue. What [Group.Go], or a Schedule without a worker, has left in that queue is for
// others, unless there is no worker and none can be started.
//
// It returns the error of g: the first one, or all of them joined. A panic in a
// task of g is raised again here, as a [*PanicError], unless Config.OnPanic is
// set. A task that waits for the group it is counted in waits for ever, and so do
// two that wait for each other's group.
func (w *Worker) Wait(g *Group) error {
	return w.wait(g, nil)
}

func (w *Worker) wait(g *Group, ctx context.Context) error {
	if g == nil {
		panic("sched: Worker.Wait: nil group")
	}
	if w.inHook {
		panic("sched: Worker.Wait: called from Config.OnIdle")
	}
	switch s := g.s.Load(); {
	case s == nil:
		return g.result() // nothing was scheduled, but something may have been refused
	case s != w.s:
		if g.isDone() {
			return g.result()
		}
		w.releasePlace()
		return g.waitGiving(ctx)
	}
	return w.finish(g, nil, ctx)
}

// finish runs first, if any, and waits for g.
func (w *Worker) finish(g *Group, first *Task, ctx context.Context) error {
	w.flush()
	if first != nil || !g.isDone() {
		w.helpFor(g, first, ctx)
	}
	if !g.isDone() {
		if contextEnded(ctx) {
			return context.Cause(ctx)
		}
		if err := w.parkUntil(g, ctx); err != nil {
			return err
		}
	}
	return g.result()
}

// helpFor runs first, if any, and then tasks that g waits for. Until it returns, the
// group of the calling callback waits for g: see [Group.awaitedBy].
func (w *Worker) helpFor(g *Group, first *Task, ctx context.Context) {
	g.parent.Store(w.cur)
	defer g.parent.Store(nil) // also when a task unwinds this goroutine
	if first != nil {
		w.runNested(first)
	}
	w.help(g, ctx)
}

// help runs tasks that g waits for until g is done, ctx ends, or none is at hand.
// It reports whether it ran any.
func (w *Worker) help(g *Group, ctx context.Context) (ran bool) {
	match := func(n *mpsc.Node) bool { return taskOf(n).group.awaitedBy(g) }
	for w.place != nil && w.frames < maxFrames && !w.s.closing.Load() && !contextEnded(ctx) {
		t := w.takeFor(match)
		if t == nil {
			return ran
		}
		w.runNested(t)
		if ran = true; g.isDone() {
			return ran
		}
	}
	return ran
}

// over reports whether ctx, which may be nil, has ended.
func contextEnded(ctx context.Context) bool { return ctx != nil && ctx.Err() != nil }

// takeFor takes a task that match accepts: the newest such of the own ring, or
// one from a ring stolen for the purpose.
func (w *Worker) takeFor(match func(*mpsc.Node) bool) *Task {
	p, s := w.place, w.s
	left := false // in the queue of a victim
	n := p.queue.TakeNewest(match, scanSlots)
	if n == nil {
		w.flush()
		var last *mpsc.Node
		if last, left = p.steal(s); last != nil {
			// What was stolen is ours to queue; only what matches may run here.
			p.queue.Push(last)
			n = p.queue.TakeNewest(match, scanSlots)
		}
	}
	// Thieves turned away while a ring was held may have parked.
	if left || !p.queue.Empty() {
		s.notify(false)
	}
	if n == nil {
		return nil
	}
	return taskOf(n)
}

// runNested runs t on top of the callback that waits. Afterwards the group of that
// callback is the counted one again, also when t unwinds this goroutine.
func (w *Worker) runNested(t *Task) {
	group, outer := w.cur, w.task
	w.frames++
	w.enter(t)
	w.place.counts.executed++
	ended := false
	defer func() {
		w.frames--
		defer func() {
			w.flush()
			w.cur, w.task = group, outer
		}()
		if ended {
			return
		}
		r := recover()
		if r == nil { // Goexit: the waiting callback unwinds as well
			w.failTask(ErrGoexit)
			return
		}
		if !w.capture(r) {
			panic(r)
		}
	}()
	if w.s.instrumented {
		w.runInstrumented(t)
	} else {
		t.Fn(w, t)
	}
	w.done++
	ended = true
}

// parkUntil parks without a place until g is done or ctx ends.
func (w *Worker) parkUntil(g *Group, ctx context.Context) error {
	w.releasePlace()
	if w.parker == nil {
		w.parker = lfsync.NewParker()
	}
	return g.park(w.parker, ctx)
}

// park parks until g is done or ctx ends. The caller holds no place.
func (g *Group) park(p *lfsync.Parker, ctx context.Context) error {
	s := g.s.Load()
	if s.spawnMayFail {
		defer s.life.starved.drop(p)
	}
	var ended <-chan struct{}
	if ctx != nil {
		ended = ctx.Done()
	}
	entry := &waiter{parker: p}
	for {
		g.waiters.add(entry)
		if g.isDone() {
			return nil
		}
		again := s.spawnMayFail && !s.closing.Load() && !contextEnded(ctx) && (s.runAsWaiter(g, ctx, p) || !s.awaitWorker(p))
		if g.isDone() {
			return nil
		}
		if !again && p.ParkDone(ended) && g.isDone() {
			return nil
		}
		if contextEnded(ctx) {
			g.waiters.drop(entry)
			if g.isDone() { // for those who were not on the list meanwhile
				g.waiters.wakeAll()
				return nil
			}
			return context.Cause(ctx)
		}
	}
}

// Wait returns when every task that was scheduled in g has finished. It is for
// callers outside the scheduler; a callback that has its worker at hand calls
// [Worker.Wait], which helps. A callback that calls this one gives its place
// away while it waits; a callback of another scheduler does not, and had better
// wait inside its Blocking. Errors and panics are as there.
func (g *Group) Wait() error { return g.WaitContext(context.Background()) }

// WaitContext is Wait that also returns, with the cause, when ctx ends. When ctx
// comes from [Worker.Context], it waits as that worker.
func (g *Group) WaitContext(ctx context.Context) error {
	s := g.s.Load()
	if s == nil {
		return g.result() // nothing was scheduled, but something may have been refused
	}
	if ctx != nil {
		if w, ok := ctx.Value(workerKey{}).(*Worker); ok && w == w.s.self() {
			return w.wait(g, ctx)
		}
	}
	if g.isDone() {
		return g.result()
	}
	return g.waitGiving(ctx)
}

// waitGiving waits without a place of the scheduler of g: a callback of it gives
// its place away.
func (g *Group) waitGiving(ctx context.Context) error {
	if w := g.s.Load().self(); w != nil {
		w.releasePlace()
	}
	return g.waitOutside(ctx)
}

// waitOutside waits without a place.
func (g *Group) waitOutside(ctx context.Context) error {
	if !g.isDone() {
		if err := g.park(lfsync.NewParker(), ctx); err != nil {
			return err
		}
	}
	return g.result()
}

// workerKey is the key of the worker in the contexts of Worker.Context.
type workerKey struct{}

// Context returns a context from which [Group.WaitContext] learns which worker
// waits. It is valid while the callback runs.
func (w *Worker) Context(parent context.Context) context.Context {
	return context.WithValue(parent, workerKey{}, w)
}

// spawnRetry is how often a wait in a scheduler without any worker tries to
// start one: a Spawner that failed tells nobody when it would succeed.
const spawnRetry = 10 * time.Millisecond

// serve runs tasks of g on the waiter's goroutine, until ctx ends, when the
// scheduler has no worker at all and cannot start one, and a place is free. It
// reports whether that was so: the waiter is to come again then.
func (s *Scheduler) runAsWaiter(g *Group, ctx context.Context, p *lfsync.Parker) bool {
	if s.places.full() {
		// Who gives one back tells. To ask the Spawner now, in vain, would wake the
		// other waiters, who would wake this one.
		return false
	}
	if s.sync.Load().Spawned() > 0 || !s.anyQueued() || s.notify(false) {
		return false
	}
	pl := s.takePlace()
	if pl == nil {
		return false
	}
	w := &Worker{s: s, callerWorker: true}
	w.attach(pl)
	w.runGroupHere(g, ctx)
	if !g.isDone() && !contextEnded(ctx) {
		p.ParkFor(spawnRetry)
	}
	return true
}

// rely puts u on the list of those who are told when something is queued and no
// worker exists or can be started: by the last worker as it leaves, and by whoever
// gives a place back. It reports false when there is no need to wait for either.
//
// The waking worker will do as well, also when nobody is counted: the stall watch may
// have counted it out as it searched. It runs no callback before it gives the duty up,
// and does that by notify(true), for a task that it has found, or since it was counted
// out (relieved): to Wait and Leave it comes when its stint has ended, and nobody can
// count it out. The notify starts a worker, or fails and wakes the list. It starts
// nobody, with nobody but this one counted, only while the watch that has made it
// stalled has yet to count it out; the watch notifies after that.
func (s *Scheduler) awaitWorker(u unparker) bool {
	s.life.starved.add(u)
	word := s.sync.Load()
	return word.Spawned() > 0 || word.State() == lfsync.StateWaking || !s.anyQueued() || s.places.full()
}

// serveFrom runs what it finds of g on the place that w holds, and gives it back.
func (w *Worker) runGroupHere(g *Group, ctx context.Context) {
	defer w.endDo()
	for ran := true; ran && w.place != nil && !g.isDone(); {
		w.fetch(g)
		ran = w.help(g, ctx)
		for w.place != nil && w.refill() && w.help(g, ctx) {
		}
	}
}

// refill moves what did not fit the ring there, and reports whether there was any.
func (w *Worker) refill() bool {
	n, _ := w.place.queue.Refill()
	if n != nil {
		w.place.queue.Push(n)
	}
	return n != nil
}

// fetch moves the tasks that g waits for, from wherever they are queued, to the
// run queue of w, and the others to the injection queue.
func (w *Worker) fetch(g *Group) {
	s := w.s
	var all, others mpsc.List
	w.place.queue.Drain(&all)
	s.stealAll(&all)
	s.drainInjection(&all)
	for n := all.Pop(); n != nil; n = all.Pop() {
		if taskOf(n).group.awaitedBy(g) {
			w.place.queue.Push(n)
		} else {
			others.Push(n)
		}
	}
	if !others.Empty() && !s.injection.PushList(&others) && !s.pushOverflow(&others) {
		s.discard(&others)
	}
	s.notify(false)
}
