package pool

import (
	"context"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/transport"
)

// target is the lane that a call names.
type target struct {
	l          *lane  // nil: the call names none
	generation uint32 // of the lane
	lease      uint32 // the word of the lease through which the call comes, or 0
}

// begin makes c a call of its pool for a lane. If it names none, the balancer picks one, unless it
// has picked l already. x is memory for what few calls have or nil. After an error c is no call and
// holds nothing. Without space the call has ended when begin returns.
func (c *call) begin(ctx context.Context, l *lane, to target, x *extra, flags uint16) (err error) {
	ends := needContext(ctx)
	if ends && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p, err := c.task.pool()
	if err != nil {
		return err
	}
	if p.hasAbandonedMany() {
		return ErrTooManyAbandoned
	}
	if l == nil && to.l == nil {
		if l, err = p.route(); err != nil {
			return err
		}
	}
	c.flags, c.names = flags, to.generation
	e := p.executorOf(l)
	if x, err = e.encode(c, ctx, x); err == nil {
		err = c.prepare(ctx, ends, p, e.signals(), x)
	}
	if err == nil {
		switch {
		case to.lease != 0:
			c.allowDirect(p)
			err = c.beginLeased(to.l, to.lease)
		case to.l != nil:
			c.allowDirect(p)
			err = c.beginNamed(to.l)
		default:
			err = e.admit(c, p)
		}
		if err == nil {
			return nil
		}
		c.release()
		if c.extra != nil {
			c.extra.end(err)
		}
	}
	c.lane, c.ctx, c.extra, c.names, c.flags = nil, nil, nil, 0, 0
	return err
}

// route returns the lane that the balancer picks for a call that names none. It returns nil if
// calls wait in the queue of the pool. The call then comes behind them wherever the balancer would
// have it.
func (p *Pool) route() (*lane, error) {
	if p.inline == nil && p.leased.Load() == 0 && !p.shared.calls.Quiet() {
		return nil, nil //nolint:nilnil // no lane
	}
	return p.pick()
}

// beginLeased is begin of a call through a lease of l.
func (c *call) beginLeased(l *lane, lease uint32) error {
	if err := l.accept(c.ctx, lease); err != nil {
		return err
	}
	return c.beginAt(l)
}

// beginAt is begin of a call that names l, which has accepted it.
func (c *call) beginAt(l *lane) error {
	c.lane = l
	if !l.p.paused() {
		if l.takeIdle() {
			c.flags |= flagPlaced
			return nil
		}
		if c.flags&flagDirect != 0 && l.isHeldHere() {
			c.flags |= flagHere
			return nil
		}
	}
	return c.beginWaiting(&l.backlog)
}

// beginNamed is begin of a call that names l by its id. While the lane is leased, it waits behind
// the lease. The lane counts it when it has a permit for it, so that a lease does not wait for it.
// A call by or for a handler that the lane counts is a part of what runs there. It does not wait for
// a lease, which may be that through which the handler has come, or that of a goroutine that waits for
// the handler.
func (c *call) beginNamed(l *lane) error {
	if l.countsHandler(c.ctx) {
		if err := l.admit(c.ctx); err != nil {
			return err
		}
		if l.countsHandler(c.ctx) { // after the addition: a lease of the lane has come beside the handler, or sees this call
			return c.beginAt(l)
		}
		l.unaccept()
	}
	c.lane = l
	c.flags |= flagNamed
	if !l.p.paused() && l.named.quiet() {
		switch ok, err := l.takeFor(c); {
		case err != nil:
			return err
		case ok:
			c.flags |= flagPlaced
			return nil
		}
	}
	return c.beginWaiting(l.named.make(l))
}

// beginAnywhere is begin of a call that names no lane. The permit comes first and then the lane. A
// call that was bound to a lane without a permit would wait there while other lanes become free.
// The balancer would have it on l. If l is nil, other calls come first.
func (c *call) beginAnywhere(p *Pool, l *lane) error {
	if c.flags&flagLater == 0 && !p.paused() {
		if l != nil && p.shared.calls.Quiet() { // the calls before it have left the queue
			at, err := p.place(l, c)
			if err != nil {
				return err
			}
			if at != nil {
				c.lane = at
				c.flags |= flagPlaced
				return nil
			}
		}
		// A call inside a handler runs on top of it: the calls before it may need what that holds.
		if c.flags&flagDirect != 0 {
			if at := p.heldHere(); at != nil && (at.accept(c.ctx, 0) == nil || at.acceptOnTop(c.ctx)) {
				c.lane = at
				c.flags |= flagHere
				return nil
			}
		}
	}
	return c.beginWaiting(&p.shared.callQueue)
}

// beginWaiting counts c among the calls that wait, in the queue to, if there is space or the policy makes
// some.
func (c *call) beginWaiting(to *callQueue) error {
	p, accepted, later := to.p, to.counted, c.flags&flagLater != 0
	q := &p.shared
	policy := p.config.Overflow
	if c.flags&flagTry != 0 {
		policy = Fail
	}
	if policy == CallerRuns && (later || p.paused()) {
		policy = Block
	}
	if accepted {
		to.l.countWaiting()
	}
	for tries := 0; !q.admit() && (later || !q.admitUnused(to)); tries++ {
		if !accepted && p.refuses(c.ctx) {
			return ErrPoolShutdown
		}
		switch policy {
		case CallerRuns:
			if err := c.beginHere(to); err != errLeased { //nolint:errorlint // a sign, never wrapped
				if accepted {
					to.l.notWaiting()
				}
				return err
			}
		case DropOldest:
			if !to.dropOldest() {
				return c.endFull(accepted)
			}
			if tries < dropTries {
				continue
			}
		case Fail:
			return c.endFull(accepted)
		}
		if c.extra == nil {
			c.extra = new(extra)
		}
		c.extra.blocked = q.block(c.flags&(flagWaited|flagLater) == 0)
		break
	}
	bits := callWaits
	if !accepted {
		bits |= callNoLane
		if to.l != nil {
			q.named.Add(1) // before leave
		}
		if p.refuses(c.ctx) { // after the count: Shutdown sees one of the two
			q.refused.Add(1)
			q.leave(c, bits, nil)
			return ErrPoolShutdown
		}
	}
	switch {
	case accepted:
		q.leasedIn.Add(1)
	case later:
		q.later.Add(1)
	}
	c.word.Store(uint64(c.load() | bits)) // C6 of callWord
	return nil
}

// dropTries is how many times a call tries to get the space of the oldest one. A call that has left
// the queue and has not started has its space for a moment. After that the call waits for space.
const dropTries = 100

// endFull ends a call for which there is no space.
func (c *call) endFull(accepted bool) error {
	if !accepted {
		c.word.Store(uint64(c.load() | callNoLane))
		c.pool().shared.full.Add(1)
		c.end(CauseRefused, ErrBacklogFull)
		return nil
	}
	l := c.lane
	l.moved.Add(losing)
	c.end(CauseRefused, ErrBacklogFull)
	l.moved.Add(lost) // after the end: until then the call would seem to have a permit
	l.waiting.Add(-1)
	return nil
}

// beginHere makes c, which would wait in the queue of, a call that its caller runs without a permit. Its
// lane is that of the queue. The balancer picks it if the queue is that of the pool. The error is errLeased
// if no lane takes the call, and lanes are reserved.
func (c *call) beginHere(of *callQueue) (err error) {
	p, l := of.p, of.l
	switch {
	case of.counted:
	case l != nil:
		if err = l.accept(c.ctx, 0); err != nil {
			return err
		}
	default:
		picked := false
		defer func() {
			if !picked { // the balancer has panicked
				c.release()
			}
		}()
		for l, err = p.pickWorkers(); err == nil; l, err = p.pickWorkers() {
			if err = l.accept(c.ctx, 0); err != errLeased { //nolint:errorlint // a sign, never wrapped
				break
			}
			park.Yield() // the lane was leased or reserved in between
		}
		if err == errLeased { //nolint:errorlint // a sign, never wrapped
			if at := p.heldHere(); at != nil && at.acceptOnTop(c.ctx) {
				l, err = at, nil
			}
		}
		if picked = true; err != nil {
			return err
		}
	}
	c.lane = l
	c.flags |= flagHere
	return nil
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

// prepare makes the context that the handler gets, and takes what the options of the
// task need. signals says that its lane has signals for handlers.
func (c *call) prepare(ctx context.Context, ends bool, p *Pool, signals bool, x *extra) error {
	o := &c.task.opts
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
	x.blocked = nil // that of the last call in this memory
	h := &callContext{parent: ctx}
	if o.Abortable && signals {
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

// allowDirect lets a caller that waits for the call anyway run the handler itself. The call has to
// end when its handler returns, or soon before, or by the end of its lane.
func (c *call) allowDirect(p *Pool) {
	if c.flags&flagWaited != 0 && c.isBound(p) && !c.task.opts.Remote {
		c.flags |= flagDirect
	}
}

// isBound reports whether the caller may run the handler itself.
func (c *call) isBound(p *Pool) bool {
	return (c.flags&flagEnds == 0 || c.task.opts.Prompt) && p.config.HardLimit == 0
}

// perform brings the call of a caller that waits for it with ctx to its end. job is memory for
// it.
func (c *call) perform(ctx context.Context, job *sched.Job[*call]) {
	if c.isSettled() { // there was no space
		return
	}
	c.startClock()
	c.pool().executorOf(c.lane).perform(c, ctx, job)
}

// dispatch brings a call to where begin has decided. The calling goroutine has come with ctx.
func (c *call) dispatch(ctx context.Context) {
	switch {
	case c.flags&flagHere != 0:
		c.lane.runHere(ctx, c)
	case c.flags&flagPlaced != 0:
		c.lane.executor.start(c)
	default:
		c.queue().push(c)
	}
}

// startClock ends the call when its Timeout is over. It comes when the caller has written what
// others read of the call, because the call may end at once, and before watchContext.
func (c *call) startClock() {
	if x := c.extra; x != nil && x.context != nil && !x.context.deadline.IsZero() {
		x.clock = c.pool().executorOf(c.lane).clock(c.pool())
		x.clock.set(c, x.context.deadline)
	}
}

// watchContext ends the call when ctx, the context of its caller, ends, until stop is called. It comes before
// dispatch. stop is nil if ctx cannot end. If a method of ctx panics or ends the goroutine, the call ends, and
// drop is called for it, because no other goroutine has it.
func (c *call) watchContext(ctx context.Context, drop func()) (stop func() bool) {
	watched := false
	defer func() {
		if !watched {
			c.endBroken(nil)
			drop()
		}
	}()
	if ctx.Done() != nil {
		generation := c.load().generation()
		end := func() {
			k, err := contextEnd(ctx)
			c.endAs(generation, k, err)
		}
		if ctx.Err() != nil { // a caller that runs the call itself does not begin it then
			end()
		}
		stop = context.AfterFunc(ctx, end)
	}
	watched = true
	return stop
}

// AbortSignal shows the handler of an Abortable task whether its call was aborted.
// The zero AbortSignal never is. It may be used until the handler returns.
type AbortSignal struct {
	set *transport.AbortSet
	id  transport.AbortID
}

// Aborted reports whether the call was aborted. It is one load: a handler may ask
// often.
func (s AbortSignal) Aborted() bool { return s.set != nil && s.set.Aborted(s.id) } //gcassert:inline

// AbortSignalOf returns the signal of the call whose handler got ctx. On the inline lane, and for a
// task that is not Abortable, the signal never reports an abort, unless ctx comes from the handler of
// an Abortable call. Then it is the signal of that call, and may be used until its handler returns.
func AbortSignalOf(ctx context.Context) AbortSignal {
	s, _ := ctx.Value(abortKey{}).(AbortSignal)
	return s
}

type abortKey struct{}
