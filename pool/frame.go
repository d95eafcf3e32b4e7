package pool

import (
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
//	    all its frames, so it continues at the first one that it has not released before
//
// A runner owns one frame and uses it for each of its calls. A goroutine that takes the permit away
// leaves the frame to its handler.
type frame struct {
	self       self.Frame         // its Owner is this frame
	call       atomix.Cell[*call] // nil: a plain call of the inline lane
	generation callWord           // of call
	lane       *lane
	runner     *runner // nil: the handler has no permit from the start
	permit     uint64  // the token of the runner while the handler has its permit
	released   bool    // F2
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
	f.call.Set(nil)
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

// inHandler reports whether the calling goroutine runs a handler of the pool.
func (p *Pool) inHandler() bool {
	return handlerHere(func(f *frame) bool { return f.lane.p == p }) != nil
}

// isHere reports whether the calling goroutine runs a handler of the lane.
func (l *lane) isHere() bool {
	return handlerHere(func(f *frame) bool { return f.lane == l }) != nil
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

// isCountedHere reports whether the calling goroutine runs a handler that the lane counts. The lane
// is not leased to others before that has returned.
func (l *lane) isCountedHere() bool {
	return handlerHere(func(f *frame) bool {
		c := f.call.Get()
		return f.lane == l && c != nil && (f.holds() || !c.isSettled())
	}) != nil
}

// holds reports whether the handler has its permit still.
func (f *frame) holds() bool { return f.runner != nil && f.runner.token.Load() == f.permit }

// release gives the permit of the handler back, if it has one still: other calls may run on
// its lane.
func (f *frame) release() {
	if f.runner == nil {
		return
	}
	if o, ok := f.runner.takeAway(f.permit); ok {
		o.c.losePermit(o.generation, f.lane)
		f.runner.giveBack()
	}
}

// detachedCall returns the call of the handler as one that may become detached.
func (f *frame) detachedCall() detachedCall {
	return detachedCall{f.call.Get(), f.generation, f.lane, f.runner == nil}
}

// releasePermits gives back the permits of all handlers that the calling goroutine runs. They
// continue without them.
func releasePermits() {
	for f := innermost(); f != nil && !f.released; f = f.below() { // F2
		f.released = true
		f.release()
	}
}

// block calls park, which blocks the caller. A handler that blocks so gives back what its
// goroutine holds: its lane runs the next call, and its worker other tasks. Afterwards it
// continues beside them.
func block(park func()) {
	releasePermits()
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
