package pool

import (
	"context"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/transport"
)

// begin makes c a call of its pool, on lane l, or on one that the balancer picks when
// l is nil. lease is the word of the lease of l, or 0. x is memory for what few calls have, or
// nil. After an error c is no call, and holds nothing.
func (c *call) begin(ctx context.Context, l *lane, lease uint32, x *extra) (err error) {
	ends := needContext(ctx)
	if ends && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := c.task.table.bound.Load()
	if p == nil {
		if e := c.task.table.failed.Load(); e != nil {
			return &unboundError{e}
		}
		return ErrUnbound
	}
	for {
		if l == nil {
			if l, err = p.pick(); err != nil {
				return err
			}
		}
		if err = c.beginOn(ctx, ends, l, lease, x); err != errLeased { //nolint:errorlint // a sign between the two, never wrapped
			return err
		}
		park.Pause() // the next pick finds another lane, or none
		l = nil
	}
}

// needContext reports whether ctx can end. It panics in the caller of a function of the pool
// that has given none, or one that does not work, such as a nil pointer: a call that was
// accepted would never end.
func needContext(ctx context.Context) (ends bool) {
	if ctx == nil {
		panic("pool: nil context")
	}
	return ctx.Done() != nil
}

// beginOn is begin on lane l. ends says whether ctx can end.
func (c *call) beginOn(ctx context.Context, ends bool, l *lane, lease uint32, x *extra) error {
	c.lane, c.lease = l, lease
	err := c.prepare(ctx, ends, x)
	if err == nil {
		if err = l.accept(lease); err == nil {
			return nil
		}
		c.release()
		if c.extra != nil {
			c.extra.end(err)
		}
	}
	c.lane, c.ctx, c.lease, c.extra, c.flags = nil, nil, 0, nil, 0
	return err
}

// prepare makes the context that the handler gets, and takes what the options of the
// task need.
func (c *call) prepare(ctx context.Context, ends bool, x *extra) error {
	p, o := c.lane.p, &c.task.opts
	c.ctx = ctx
	timeout := o.timeout(p)
	if ends || timeout > 0 {
		c.flags |= flagEnds
	}
	if timeout == 0 && !o.Abortable {
		return nil
	}
	if x == nil {
		x = new(extra)
	}
	h := &callContext{parent: ctx}
	if o.Abortable && !c.lane.inline {
		id, ok := p.aborts.Acquire()
		if !ok {
			return ErrAbortSlotsExhausted
		}
		x.abort = id
		c.flags |= flagAbortable
		h.signal = AbortSignal{p.aborts, id}
	}
	if timeout > 0 {
		h.deadline = time.Now().Add(timeout)
	}
	x.context = h
	c.ctx, c.extra = h, x
	return nil
}

// perform brings the call of a caller that waits for it with ctx to its end. job is memory for
// it.
func (c *call) perform(ctx context.Context, job *sched.Job[*call]) {
	l := c.lane
	c.flags |= flagWaited
	if !l.inline && c.isBound() && !c.task.opts.Remote {
		c.flags |= flagDirect
	}
	c.startClock()
	if l.inline {
		l.performInline(c, ctx)
		return
	}
	if c.flags&flagDirect == 0 || !l.runDirect(c, job) {
		c.dispatch()
	}
	if c.isSettled() {
		return
	}
	settled := false
	block(func() { settled = c.await(ctx.Done()) })
	if !settled {
		c.abandon(ctx)
	}
}

// isBound reports whether the caller may run the handler itself: the call ends when its handler
// returns, or soon before, or by the end of its lane.
func (c *call) isBound() bool {
	return (c.flags&flagEnds == 0 || c.task.opts.Prompt) && c.lane.p.config.HardLimit == 0
}

// untilSettled is a context that ends when the call is settled.
type untilSettled struct {
	context.Context
	c *call
}

// Done implements context.Context.
func (x *untilSettled) Done() <-chan struct{} { return x.c.watchEnd() }

// Err implements context.Context.
func (x *untilSettled) Err() error {
	if x.c.isSettled() {
		return context.Canceled
	}
	return nil
}

// dispatch sends an accepted call to its lane, or ends it when there is no room.
func (c *call) dispatch() {
	if k, err := c.lane.send(c); err != nil {
		c.refuse(k, err)
	}
}

// startClock ends the call when its Timeout is over. It comes when the caller has written what
// others read of the call, because the call may end at once, and before watchContext.
func (c *call) startClock() {
	if x := c.extra; x != nil && !x.context.deadline.IsZero() {
		x.clock = c.lane.clock()
		x.clock.set(c, x.context.deadline)
	}
}

// watchContext ends the call when ctx, the context of its caller, ends. It comes before dispatch.
func (c *call) watchContext(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	if c.extra == nil {
		c.extra = new(extra)
	}
	stop := context.AfterFunc(ctx, func() { c.end(contextEnd(ctx)) })
	c.extra.stop.Store(&stop)
	if c.load().has(callClaimed) { // the call had ended, and the claimer may not have seen stop
		stop()
		c.extra.stop.Store(nil)
	}
}

// AbortSignal tells the handler of an Abortable task whether its call was aborted.
// The zero AbortSignal never is. It may be used until the handler returns.
type AbortSignal struct {
	set *transport.AbortSet
	id  transport.AbortID
}

// Aborted reports whether the call was aborted. It is one load: a handler may ask
// often.
func (s AbortSignal) Aborted() bool { return s.set != nil && s.set.Aborted(s.id) } //gcassert:inline

// AbortSignalOf returns the signal of the call whose handler got ctx. On the inline
// lane, and for a task that is not Abortable, it is one that never says so, unless ctx
// comes from the handler of an Abortable call: then it is the signal of that, and good
// until that returns.
func AbortSignalOf(ctx context.Context) AbortSignal {
	s, _ := ctx.Value(abortKey{}).(AbortSignal)
	return s
}

type abortKey struct{}
