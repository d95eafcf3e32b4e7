package pool

import (
	"context"
	"slices"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// callContext is the context that the handler of a call with a Timeout or an abort slot gets. It
// makes a context of package context when the handler first asks for its channel or for its
// error after the end. Most handlers never do, and a call then pays for this record only.
//
// The call ends the context with the cause of its own end. A handler that asks context.Cause
// before it has asked for the channel or the error gets context.Canceled.
type callContext struct {
	parent   context.Context
	deadline time.Time   // zero: none
	signal   AbortSignal // of an Abortable task

	ended atomix.Bool
	made  atomix.Pointer[madeContext]
	mu    park.Mutex
	cause error // why the call has ended; with mu
}

// madeContext is the context of package context that a callContext has made.
type madeContext struct {
	context.Context
	cancel func(cause error)
}

// Deadline returns the deadline of the call or of its caller, whichever is earlier.
func (x *callContext) Deadline() (deadline time.Time, ok bool) {
	deadline, ok = x.parent.Deadline()
	if !x.deadline.IsZero() && (!ok || x.deadline.Before(deadline)) {
		return x.deadline, true
	}
	return deadline, ok
}

// Done returns a channel that is closed when the call ends.
func (x *callContext) Done() <-chan struct{} { return x.make().Done() }

// Err returns why the context has ended, or nil.
func (x *callContext) Err() error {
	if m := x.made.Load(); m != nil {
		return m.Err()
	}
	if x.ended.Load() {
		return x.make().Err()
	}
	return x.parent.Err()
}

// Value returns the signal of the call for its key. Other values are those of the caller.
func (x *callContext) Value(key any) any {
	if _, ok := key.(abortKey); ok && x.signal.set != nil {
		return x.signal
	}
	if m := x.made.Load(); m != nil {
		return m.Value(key)
	}
	return x.parent.Value(key)
}

// make returns the context of package context. It makes one if there is none.
func (x *callContext) make() *madeContext {
	if m := x.made.Load(); m != nil {
		return m
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if m := x.made.Load(); m != nil {
		return m
	}
	ctx, cancel := context.WithCancelCause(x.parent)
	m := &madeContext{ctx, cancel}
	if !x.deadline.IsZero() {
		timed, stop := context.WithDeadline(ctx, x.deadline)
		m.Context = timed
		m.cancel = func(cause error) {
			cancel(cause)
			stop()
		}
	}
	if x.ended.Load() {
		m.end(x.cause)
	}
	x.made.Store(m)
	return m
}

// end ends the context of a call that has ended with cause; nil stands for the end of its
// handler.
func (x *callContext) end(cause error) {
	x.mu.Lock()
	x.cause = cause
	x.ended.Store(true)
	m := x.made.Load()
	x.mu.Unlock()
	if m != nil {
		m.end(cause)
	}
}

// end ends the context. Its own timer ends it at the deadline, so that its error is that of a
// deadline. The context that it was made of is cancelled after that, because the context of the
// caller would keep it.
func (m *madeContext) end(cause error) {
	if cause == errTimeout { //nolint:errorlint // the value that the clock gives
		context.AfterFunc(m.Context, func() { m.cancel(nil) })
		return
	}
	m.cancel(cause)
}

// handlerName stands for a running handler in the contexts of goroutines that work for it. The
// goroutine of the handler makes the name. It ends the name when the handler has returned, before it
// ends the call. A call for the handler is therefore counted before the end of the handler is, unless
// another goroutine has ended that before. Goroutines that work for the handler use the word of its
// call, and the token and the frame of its runner, as a closer does.
type handlerName struct {
	run    atomix.Pointer[execution] // nil: the handler has returned
	signal AbortSignal
}

// carriedContext is a context with the names of handlers.
type carriedContext struct {
	context.Context
	names []*handlerName // the innermost handler first
}

type carriedKey struct{}

// Value returns x for its key. For the key of signals it returns the signal of the innermost handler
// that has a signal and has not returned. If there is none, it returns the signal of the context
// below, unless that was the signal of a handler that has returned.
func (x *carriedContext) Value(key any) any {
	switch key.(type) {
	case carriedKey:
		return x
	case abortKey:
		s, _ := x.Context.Value(key).(AbortSignal)
		for _, n := range x.names {
			switch {
			case n.signal.set == nil:
			case n.run.Load() != nil:
				return n.signal
			case n.signal == s:
				s = AbortSignal{} // it may be that of another call by now
			}
		}
		return s
	}
	return x.Context.Value(key)
}

// namesIn returns the names in ctx, which is nil for a handler that has returned. A context whose
// Value panics names no handler. The pool asks it after it has counted a call, which would stay
// counted.
func namesIn(ctx context.Context) (names []*handlerName) {
	if ctx == nil {
		return nil
	}
	defer func() {
		if recover() != nil {
			names = nil
		}
	}()
	if x, ok := ctx.Value(carriedKey{}).(*carriedContext); ok {
		return x.names
	}
	return nil
}

// worksFor reports whether ctx names such a handler that has not returned.
func worksFor(ctx context.Context, such func(e *execution) bool) bool {
	for _, n := range namesIn(ctx) {
		if e := n.run.Load(); e != nil && such(e) {
			return true
		}
	}
	return false
}

// releaseNamed gives back the permits of the handlers that ctx names.
func releaseNamed(ctx context.Context) {
	for _, n := range namesIn(ctx) {
		if e := n.run.Load(); e != nil {
			e.release()
		}
	}
}

// named returns the name of the handler. The caller is its goroutine.
func (f *frame) named() *handlerName {
	if f.name == nil {
		c := f.call.Get()
		e := &execution{generation: f.generation, lane: f.lane, runner: f.runner, permit: f.permit}
		e.call.Set(c)
		f.name = new(handlerName)
		f.name.run.Store(e)
		if c != nil {
			c.hasName = true
			if h, ok := c.ctx.(*callContext); ok {
				f.name.signal = h.signal
			}
		}
	}
	return f.name
}

// endName ends the name of the handler, which has returned, if it has one.
func (f *frame) endName() {
	if f.name != nil {
		f.name.run.Store(nil)
		f.name = nil
	}
}

// endName ends the name of the handler of c, which has returned, if it has one. The caller is the
// runner.
func (c *call) endName() {
	if c.hasName {
		c.hasName = false
		innermost().endName()
	}
}

// Carry returns a context in which ctx also names the handlers that the calling goroutine runs. It
// is for goroutines, tasks and bodies of parallel loops that work for a handler. As long as the
// handler has not returned, they are a part of it for the functions of this package to which they
// pass the context:
//
//   - A pool that shuts down accepts their calls, as it does those of the handler.
//   - Where they wait for a call, a lane, space or a state of a pool, the handler gives up its
//     permit of the lane, as it does when it waits itself. So the call, lane or space is never
//     behind the handler. The handler continues while the lane runs its next call.
//   - Functions that would wait for the handler itself return [ErrInHandler]. They are those that
//     say so of the inside of a handler, and the Wait for the call of the handler.
//   - [AbortSignalOf] returns the signal of the call.
//
// The same holds for a handler whose call was made with the context, whichever context it uses.
// Handlers that the carrying one calls later are not named. But a call that runs on top of the handler
// may run beside the next call of the lane as well. Functions without a context, such as
// [Pool.Blocking], [Pool.Close], [Pool.RunInline] and [Future.Done], take the goroutine for any other
// one.
//
// A handler that waits for its goroutines does so inside [Pool.Blocking]. Otherwise it keeps its
// worker, and their calls may have to wait for a free one: see [sched.Worker.Blocking].
//
// After the handler has returned the context has the effect of ctx. Outside of handlers Carry
// returns ctx. It never blocks.
func Carry(ctx context.Context) context.Context {
	needContext(ctx)
	has := namesIn(ctx)
	var names []*handlerName
	added := false
	add := func(more []*handlerName) {
		for _, n := range more {
			if (n.run.Load() != nil || n.signal.set != nil) && !slices.Contains(names, n) {
				names = append(names, n)
				added = added || !slices.Contains(has, n)
			}
		}
	}
	for f := innermost(); f != nil; f = f.below() {
		add([]*handlerName{f.named()})
		add(namesIn(f.context()))
	}
	if !added {
		return ctx
	}
	add(has)
	if x, ok := ctx.(*carriedContext); ok {
		ctx = x.Context // its names are among these
	}
	return &carriedContext{ctx, names}
}
