package pool

import (
	"context"
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
