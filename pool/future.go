package pool

import "context"

// Future is the outcome of a call that may not be there yet. Safe for concurrent use.
type Future[R any] struct {
	call
	result R // of the runner
}

// Wait returns the outcome of the call when it is there, or the cause of ctx when that
// ends first: the call continues then. While it waits it runs calls of the inline lane, if
// the pool has one. Inside a handler it gives away what the handler holds, so that the
// call can run: see the package text. The handler of the call itself gets [ErrInHandler].
func (f *Future[R]) Wait(ctx context.Context) (R, error) {
	if !f.isOver() {
		if err := f.wait(ctx); err != nil {
			var none R
			return none, err
		}
	}
	return f.outcome()
}

// outcome returns the outcome of a call that is settled.
func (f *Future[R]) outcome() (result R, err error) {
	if f.load().cause().ofRunner() {
		result = f.result
	}
	return result, f.outcomeError()
}

// Done returns a channel that is closed when the outcome is there.
func (f *Future[R]) Done() <-chan struct{} { return f.watch() }

// OnDone calls fn once when the outcome is there, on a goroutine of its own. Functions of one future
// run in any order. A program that only has to learn of an end needs no goroutine that waits for
// it. fn is no task of the pool's scheduler, because tasks that have not begun are dropped when
// the pool is closed. A call with such a function does not reach Config.OnEnd.
func (f *Future[R]) OnDone(fn func()) {
	if fn == nil {
		panic("pool: OnDone: nil function")
	}
	f.observe(callHasDone | callAwaited).add(fn)
}

// Abort ends the call with cause, or [ErrAborted] if that is nil, unless it has
// ended: the future has its outcome when Abort returns. A call that has not started
// never will; the handler of an Abortable task learns of it, any other runs to its
// end, and its result is dropped.
func (f *Future[R]) Abort(cause error) {
	if cause == nil {
		cause = ErrAborted
	}
	if !f.end(CauseAborted, cause) {
		<-f.watchEnd() // another goroutine is ending it
	}
}

// wait blocks until the call is over, or returns the cause of ctx when that ends.
func (c *call) wait(ctx context.Context) (err error) {
	needContext(ctx)
	p := c.pool()
	if isPartOf(ctx, func(e *execution) bool { return e.call.Get() == c }) {
		return ErrInHandler
	}
	if c.isOver() {
		return nil
	}
	o := c.makeObservers()
	o.waits.Add(1)
	c.observe(callHasDone)
	defer func() {
		if c.isOver() || o.giveUp(c) {
			err = nil
		}
	}()
	if p.inline != nil {
		releasePermits(ctx) // before this goroutine runs calls of the inline lane
		if err := p.helpUntil(ctx, &stateWaiter{reached: c.isSettled}, c); err != nil && !c.isSettled() {
			return err
		}
		c.awaitOver()
		return nil
	}
	done, gone := o.ch, ctx.Done()
	block(ctx, func() {
		if gone == nil {
			<-done // a select of the two takes longer
			return
		}
		select {
		case <-done:
		case <-gone:
		}
	})
	if !c.isOver() {
		return context.Cause(ctx)
	}
	return nil
}
