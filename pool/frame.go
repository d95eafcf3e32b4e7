package pool

import (
	"context"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/self"
	"github.com/lanewright/lanewright/sched"
)

// frame is a handler that its goroutine runs. The frames of a goroutine are a stack, with the
// innermost handler on top: see package self. Each goroutine finds its own frames only, so
// their fields are plain memory. A goroutine that takes the permit of a handler away reads call,
// generation and lane of its frame, which do not change any more then. The cost of a look-up
// depends on the handlers below the calling one, and not on the number of pools, lanes or
// handlers in the program.
//
// Invariants:
//
//	F1  a goroutine has a frame from before it enters a handler until the handler has
//	    returned, also when the call ends before or loses its permit
//	F2  if a frame is released, so are all frames below it. A goroutine that blocks releases
//	    all its frames, so it continues at the first one that it has not released before. A
//	    goroutine that takes a permit away does not set released
//
// A runner owns one frame and uses it for each of its calls. A goroutine that takes the permit away
// leaves the frame to its handler.
type frame struct {
	self self.Frame // its Owner is this frame
	execution
	ctx      context.Context // of a handler without a call
	released bool            // F2
	name     *handlerName    // nil: no context names the handler
}

// execution is one run of a handler.
type execution struct {
	call       atomix.Cell[*call] // nil: a plain call of the inline lane
	generation callWord           // of call
	lane       *lane
	runner     *runner // nil: the handler has no permit from the start
	permit     uint64  // the token of the runner while the handler has its permit
}

// enter makes f the innermost frame of the calling goroutine, which is about to run c.
func (f *frame) enter(c *call, l *lane, r *runner, permit uint64) {
	f.call.Set(c)
	f.lane, f.runner, f.permit, f.released = l, r, permit, false
	if c != nil {
		f.generation = c.load().generation()
	}
	f.self.Owner = f
	f.self.Enter()
}

// leave takes f off the stack. The frame may be used again.
func (f *frame) leave() {
	f.self.Leave()
	f.endName()
	f.call.Set(nil)
}

// context returns the context that the handler has got.
func (f *frame) context() context.Context {
	if c := f.call.Get(); c != nil {
		return c.ctx
	}
	return f.ctx
}

// innermost returns the frame of the innermost handler that the calling goroutine runs, or nil.
func innermost() *frame { return handlerFrom(self.Top()) }

// below returns the frame of the next handler below f, or nil.
func (f *frame) below() *frame { return handlerFrom(f.self.Up()) }

// handlerFrom returns the first frame of a handler from s on, or nil.
func handlerFrom(s *self.Frame) *frame {
	for ; s != nil; s = s.Up() {
		if f, ok := s.Owner.(*frame); ok {
			return f
		}
	}
	return nil
}

// handlerHere returns the frame of the innermost such handler of those that the calling goroutine
// runs, or nil.
func handlerHere(such func(f *frame) bool) *frame {
	for f := innermost(); f != nil; f = f.below() {
		if such(f) {
			return f
		}
	}
	return nil
}

// isPartOf reports whether the calling goroutine, which has come with ctx, runs such a handler or
// works for one.
func isPartOf(ctx context.Context, such func(e *execution) bool) bool {
	if worksFor(ctx, such) {
		return true
	}
	return handlerHere(func(f *frame) bool { return such(&f.execution) || worksFor(f.context(), such) }) != nil
}

// isInside reports whether the calling goroutine, which has come with ctx, runs a handler of the
// pool or works for one.
func (p *Pool) isInside(ctx context.Context) bool {
	return isPartOf(ctx, func(e *execution) bool { return e.lane.p == p })
}

// isHeldHere reports whether the calling goroutine runs a handler that has a permit of the
// lane.
func (l *lane) isHeldHere() bool {
	return handlerHere(func(f *frame) bool { return f.lane == l && f.holds() }) != nil
}

// heldHere returns a lane of the pool of which the calling goroutine has a permit, or nil.
func (p *Pool) heldHere() *lane {
	if f := handlerHere(func(f *frame) bool { return f.lane.p == p && f.holds() }); f != nil {
		return f.lane
	}
	return nil
}

// countsHandler reports whether the calling goroutine, which has come with ctx, runs a handler that
// the lane counts or works for one. The lane may be leased to others by now if that has no permit.
func (l *lane) countsHandler(ctx context.Context) bool {
	return isPartOf(ctx, func(e *execution) bool { return e.lane == l && e.isCounted() })
}

// isCounted reports whether the lane counts the call of the handler, or the handler as overdue.
func (e *execution) isCounted() bool {
	c := e.call.Get()
	if c == nil {
		return false
	}
	w := c.load()
	return e.holds() || w.generation() == e.generation && !w.has(callSettled)
}

// holds reports whether the handler has its permit still.
func (e *execution) holds() bool { return e.runner != nil && e.runner.token.Load() == e.permit }

// release gives the permit of the handler back, if it has one still: other calls may run on
// its lane.
func (e *execution) release() {
	if !e.holds() {
		return
	}
	if o, ok := e.runner.takeAway(e.permit); ok {
		o.c.losePermit(o.generation, e.lane)
		e.runner.giveBack()
	}
}

// detachedCall returns the call of the handler as one that may become detached.
func (e *execution) detachedCall() detachedCall {
	return detachedCall{e.call.Get(), e.generation, e.lane, e.runner == nil}
}

// releasePermits gives back the permits of all handlers that the calling goroutine, which has come
// with ctx, runs or works for. They continue without them.
func releasePermits(ctx context.Context) {
	for f := innermost(); f != nil && !f.released; f = f.below() { // F2
		f.released = true
		f.release()
		releaseNamed(f.context())
	}
	releaseNamed(ctx)
}

// block calls park, which blocks the caller, which has come with ctx. A handler that blocks so
// gives back what its goroutine holds: its lane runs the next call, and its worker other tasks.
// Afterwards it continues beside them. A goroutine that works for a handler gives back the permit
// of that.
func block(ctx context.Context, park func()) {
	releasePermits(ctx)
	withoutPlaces(self.Top(), park)
}

// withoutPlaces calls park while the calling goroutine holds no place of the workers from s
// on. A goroutine may have workers of several schedulers: a handler of one pool that runs on
// the goroutine of its caller may be inside a handler of another pool.
func withoutPlaces(s *self.Frame, park func()) {
	for ; s != nil; s = s.Up() {
		if w, ok := s.Owner.(*sched.Worker); ok {
			w.Scheduler().Blocking(func() { withoutPlaces(s.Up(), park) })
			return
		}
	}
	park()
}
