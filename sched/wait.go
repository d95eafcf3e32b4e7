package sched

import (
	"context"
	"slices"

	"github.com/lanewright/lanewright/internal/self"
	"github.com/lanewright/lanewright/mpsc"
)

// maxFrames is how many tasks may run on top of each other in the Waits of one goroutine.
// It is also how many links a Wait follows from group to awaited group.
const maxFrames = 64

// waitAs waits for g as w, until ctx ends. ctx may be nil.
func (g *Group) waitAs(w *Worker, ctx context.Context) error {
	if w.state == inHook {
		panic("sched: Worker.Wait: called from Config.OnIdle")
	}
	w.holds() // panics after the callback
	switch s := g.s.Load(); {
	case s == nil || g.isDone():
		return g.result() // if no task was scheduled, one may have been refused
	case s != w.s:
		var err error
		w.withoutPlace(func() { err = g.waitWithoutPlace(ctx) })
		return err
	case w.frame.IsElsewhere():
		panic(otherGoroutine)
	}
	return g.finishAs(w, nil, ctx)
}

// finishAs runs first, if any, and waits as w for g, which was not done.
func (g *Group) finishAs(w *Worker, first *Task, ctx context.Context) error {
	w.flush(w.place)
	g.helpAs(w, first, ctx)
	if !g.isDone() {
		if contextEnded(ctx) {
			return context.Cause(ctx)
		}
		var err error
		w.withoutPlace(func() { err = g.park(ctx) })
		if err != nil {
			return err
		}
	}
	return g.result()
}

// helpAs runs first, if any, and then tasks that g waits for. Until it returns, the
// group of the calling callback, on w, waits for g: see [Group.awaitedBy].
func (g *Group) helpAs(w *Worker, first *Task, ctx context.Context) {
	g.parent.Store(w.cur)
	defer g.parent.Store(nil) // also when a task unwinds this goroutine
	if first != nil {
		w.runNested(first)
	}
	g.help(w, ctx)
}

// help runs tasks that g waits for on w until g is done, ctx ends, or it finds none. It
// reports whether it ran any.
func (g *Group) help(w *Worker, ctx context.Context) (ran bool) {
	match := func(n *mpsc.Node) bool { return taskOf(n).group.awaitedBy(g) }
	for w.place != nil && len(w.outer) < maxFrames && !w.s.closing.Load() && !contextEnded(ctx) {
		t := w.place.takeFor(w.s, w, match)
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

// contextEnded reports whether ctx, which may be nil, has ended.
func contextEnded(ctx context.Context) bool { return ctx != nil && ctx.Err() != nil }

// park parks until g is done or ctx ends. The caller holds no place.
func (g *Group) park(ctx context.Context) error {
	var ended <-chan struct{}
	if ctx != nil {
		ended = ctx.Done()
	}
	if ended == nil && g.runsHere() {
		panic("sched: Wait: called in a task of the group that it waits for, on top of one, or in a fork of one, so it would never return")
	}
	s := g.s.Load()
	entry := s.life.unused.take()
	defer s.life.unused.put(entry)
	p := entry.parker
	if s.spawnMayFail {
		defer s.life.starved.drop(p)
	}
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
			if g.isDone() { // for the waiters that drop has taken off the list for a moment
				g.waiters.wakeAll()
				return nil
			}
			return context.Cause(ctx)
		}
	}
}

// runsHere reports whether the calling goroutine runs a task of g, directly or below other
// tasks, or a fork of a computation that such a task runs on another goroutine. That task
// cannot finish before the caller returns.
func (g *Group) runsHere() bool {
	for f := self.Top(); f != nil; f = f.Up() {
		if w, ok := f.Owner.(*Worker); ok && g.runsOn(w) {
			return true
		}
	}
	return false
}

// runsOn reports whether w runs a task of g, or a fork that one waits for.
func (g *Group) runsOn(w *Worker) bool {
	if w.cur == g || slices.Contains(w.outer, g) {
		return true
	}
	for h := w.forks; h != nil; h = h.outer {
		if h.root.isAwaitedIn(g) {
			return true
		}
	}
	return false
}

// Wait returns when every task that was scheduled in g has finished. It is for external
// callers. A callback that knows its worker calls [Worker.Wait] instead, which runs tasks
// of g. A callback of the same scheduler that calls this method releases its place unless all
// tasks have finished, and continues as after Blocking. A callback of another scheduler keeps its
// place, so it should
// call Wait inside the Blocking of its own worker. Errors and panics are those of
// [Worker.Wait], also the panic of a wait in a task of g.
//
// When the scheduler has no worker and can start none, Wait runs the tasks of g on the
// goroutine of its caller. A task that calls runtime.Goexit there ends that goroutine.
func (g *Group) Wait() error { return g.WaitContext(context.Background()) }

// WaitContext is Wait with a context. It returns the cause of ctx when ctx ends before all tasks of
// g have finished. The errors and panics of the finished tasks then stay in g, for a later wait.
// With a context from [Worker.Context] it waits as that worker.
func (g *Group) WaitContext(ctx context.Context) error {
	s := g.s.Load()
	if s == nil {
		return g.result() // no task was scheduled, but one may have been refused
	}
	if ctx != nil {
		if w, ok := ctx.Value(workerKey{}).(*Worker); ok && w == w.s.self() {
			return g.waitAs(w, ctx)
		}
	}
	if g.isDone() {
		return g.result()
	}
	return g.waitWithoutPlace(ctx)
}

// waitWithoutPlace waits without a place of the scheduler of g. A callback of that
// scheduler releases its place.
func (g *Group) waitWithoutPlace(ctx context.Context) (err error) {
	g.s.Load().withoutPlace(func() { err = g.waitOutside(ctx) })
	return err
}

// waitOutside waits without a place.
func (g *Group) waitOutside(ctx context.Context) error {
	if !g.isDone() {
		if err := g.park(ctx); err != nil {
			return err
		}
	}
	return g.result()
}
