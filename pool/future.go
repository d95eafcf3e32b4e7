package pool

import (
	"context"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

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
		if c.receive(gone); c.isOver() {
			return
		}
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

// observers are what learns of the end of a call besides its waiter: the channel of Done, and the
// functions of OnDone. A call has none until the first goroutine asks for them.
//
// Roles:
//
//	observer  a goroutine that asks for them
//	ender     the claimer of the call, if over came after hasDone, and otherwise the observer that
//	          set hasDone
//
// State:
//
//	ch     closed by the ender
//	first  the functions that wait for the end, the last one first. The ender replaces them by
//	       observed
//	waits  how many goroutines wait for the end, and have not given up
//
// Invariants:
//
//	I1  a call has one ender: one observer sets hasDone, and the order of that step and of over
//	    decides. Each observer has seen hasDone when it uses what it has got
//	I2  each function is started once: by the ender, if it was pushed before the ender took the
//	    list, and otherwise by its observer
//	I3  a failure is reported, or a goroutine that waits returns it, unless that goroutine ends in
//	    between. One that gives up and has not seen over has left the count before the ender loads that
//	I4  when a goroutine has found the pool idle, or has closed it, the channel is closed for each call that has
//	    ended. A claimer that sees hasDone when it settles the call is in Pool.telling from before that step until
//	    after the close. Wait and Close look at that count last. An observer that comes later waits for the ender
//
// Happens-before edges:
//
//	E1  set over  ->  close, start of a function   they see the outcome
//	E2  push of a function  ->  swap of the list      the ender sees it
//	E3  subtraction from waits, then load of over  against  set over, then load of waits
//	    needs: sequentially consistent
//
// Progress: an ender is lock-free. An observer of a settled call waits for the ender.
type observers struct {
	ch    chan struct{}
	first atomix.Pointer[observer]
	waits atomix.Int32
}

// observer is a function of OnDone.
type observer struct {
	fn   func()
	next *observer // read by the ender
}

// observed is the list after the end.
var observed = new(observer)

// makeObservers returns the observers of the call, and makes them if there are none.
func (c *call) makeObservers() *observers {
	o := c.observers.Load()
	if o == nil {
		o = &observers{ch: make(chan struct{})}
		if !c.observers.CompareAndSwap(nil, o) {
			o = c.observers.Load()
		}
	}
	return o
}

// observe returns the observers of the call, and makes them if there are none. It sets the bits, which
// include hasDone.
func (c *call) observe(bits callWord) *observers {
	o := c.makeObservers()
	if !c.load().has(bits) {
		w := callWord(c.word.Or(uint64(bits)))
		if w.has(callOver) && !w.has(callHasDone) { // I1
			o.end()
		}
	}
	if c.isSettled() {
		o.await() // I4
	}
	return o
}

// isAwaited reports whether a goroutine learns of the outcome. w is the word with over.
func (c *call) isAwaited(w callWord) bool {
	return !w.isUnobserved() || w.has(callHasDone) && c.observers.Load().waits.Load() != 0 // I3, E3
}

// giveUp says that a goroutine waits for c no more. It reports whether c is over, and the goroutine
// then returns the outcome.
func (o *observers) giveUp(c *call) (over bool) {
	o.waits.Add(-1)
	return c.isOver() // after the subtraction: I3, E3
}

// end closes the channel and starts the functions. The caller is the ender.
func (o *observers) end() {
	close(o.ch)                                             // E1
	for f := o.first.Swap(observed); f != nil; f = f.next { // I2, E2
		spawn(f.fn) // E1
	}
}

// await returns when the ender has closed the channel. The call is settled.
func (o *observers) await() {
	for o.first.Load() != observed { // I4: set after the close
		park.Yield()
	}
}

// add starts fn when the call has ended.
func (o *observers) add(fn func()) {
	f := &observer{fn: fn}
	for {
		f.next = o.first.Load()
		if f.next == observed { // I2
			spawn(fn)
			return
		}
		if o.first.CompareAndSwap(f.next, f) { // E2
			return
		}
	}
}
