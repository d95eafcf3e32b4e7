package pool

import (
	"context"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// Func is a task with its types, bound to the pool that was made of its [Handlers].
// Safe for concurrent use.
type Func[A, R any] struct {
	entry   *entry
	fn      func(context.Context, A) (R, error)
	resolve bool // the result may be a future, which is waited for
	body    body
	memory  park.Pool
	wire    wire[A, R] // on lanes whose calls run elsewhere
}

// newFunc returns the function of e that calls fn.
func newFunc[A, R any](e *entry, fn func(context.Context, A) (R, error)) *Func[A, R] {
	f := &Func[A, R]{entry: e, fn: fn}
	f.body = body{exec: f.exec, forget: f.forget, encode: f.encode, decode: f.decode, drop: f.drop}
	f.memory.New = func() any {
		t := new(waitedCall[A, R])
		t.body, t.task = &f.body, f.entry
		return t
	}
	return f
}

// typedCall is a call with its types, and its future: see typedOf.
type typedCall[A, R any] struct {
	Future[R]
	arg A
}

// waitedCall is a call whose caller waits for it, and may run it.
type waitedCall[A, R any] struct {
	typedCall[A, R]
	job   sched.Job[*call]
	extra extra
}

// newCall returns memory for a call of Go or After.
func (f *Func[A, R]) newCall() *typedCall[A, R] {
	t := new(typedCall[A, R])
	t.body, t.task = &f.body, f.entry
	return t
}

// exec is that of body. A call whose context has ended before its handler returns ends with
// the cause of that, whatever the handler returns.
func (f *Func[A, R]) exec(c *call) (woke bool) {
	t := typedOf[A, R](c)
	arg := t.arg
	f.forget(c)
	result, failed := f.enter(c.ctx, arg)
	c.endName()
	c.endWithContext()
	k := CauseReturned
	if failed != nil {
		k = CauseFailed
	}
	t.result, c.failed = result, failed
	mine, woke := c.finish(k)
	if !mine { // no other goroutine reads these two then
		var none R
		t.result, c.failed = none, nil
	}
	return woke
}

// enter runs the handler, and returns the outcome of a call of it.
func (f *Func[A, R]) enter(ctx context.Context, arg A) (result R, failed *RemoteError) {
	if f.entry.marks != nil {
		f.entry.marks.around(ctx, func(ctx context.Context) { result, failed = f.run(ctx, arg) })
		return result, failed
	}
	return f.run(ctx, arg)
}

// run is enter without the marks of the task.
func (f *Func[A, R]) run(ctx context.Context, arg A) (R, *RemoteError) {
	result, err := f.fn(ctx, arg)
	if f.resolve && err == nil {
		result, err = resolve(ctx, result)
	}
	return result, handlerError(err)
}

// forget is that of body.
func (f *Func[A, R]) forget(c *call) {
	var none A
	typedOf[A, R](c).arg = none
}

// Call runs the task with arg and returns its result. The error is that of the handler, as a
// [*RemoteError], or says why there is no result. If it is [ErrNotStarted], the handler was not
// entered and never will be.
//
// If ctx cannot end and no call waits, the handler may run on the goroutine of the caller, without
// a hand-off. It may then end that goroutine by runtime.Goexit, unless the task is Remote. When ctx
// ends, Call returns its cause at once, unless it runs the handler itself: on the inline lane, or
// because the task has the option Prompt. The handler gets ctx and learns of the end by it. The
// handler of a task that is not Abortable may continue for as long as it likes. Its result is dropped.
//
// Inside a handler Call never waits for its own lane: see the package text.
func (f *Func[A, R]) Call(ctx context.Context, arg A) (R, error) {
	return f.callOn(ctx, target{}, arg, 0)
}

// TryCall is [Func.Call] that never waits for space in a backlog. If there is none, it returns
// [ErrBacklogFull] and has no effect. Config.Overflow does not matter.
func (f *Func[A, R]) TryCall(ctx context.Context, arg A) (R, error) {
	return f.callOn(ctx, target{}, arg, flagTry)
}

// callOn is Call on a lane, or on one that the balancer picks. flags are flags of the call.
func (f *Func[A, R]) callOn(ctx context.Context, to target, arg A, flags uint16) (R, error) {
	accepted := false
	var l *lane
	p := f.entry.table.bound.Load()
	if to.l == nil && ctx != nil && p != nil && p.inline != nil {
		l, _ = p.pick() // the inline lane takes what the others do not
		if p.isInline(l) && f.entry.isPlain(ctx, p) && p.inline.isOpen() && !p.hasAbandonedMany() {
			if err := l.accept(ctx, 0); err != nil {
				var none R
				return none, notStarted(err)
			}
			if g := p.inline.takeRunner(ctx); g != nil {
				return f.callInline(ctx, g, arg)
			}
			accepted = true
		}
	}
	t := f.memory.Get().(*waitedCall[A, R]) //nolint:forcetypeassert // its New makes nothing else
	c := &t.call
	t.arg = arg
	flags |= flagWaited
	if accepted {
		c.ctx, c.flags = ctx, flags
		p.inline.place(c)
	} else if err := c.begin(ctx, l, to, &t.extra, flags); err != nil {
		f.forget(c)
		f.recycle(t)
		var none R
		return none, notStarted(err)
	}
	c.perform(ctx, &t.job)
	result, err := t.outcome()
	if c.load().cause().ofRunner() && c.observers.Load() == nil {
		f.recycle(t)
	}
	return result, err
}

// recycle makes the memory of a call that is over ready for the next one.
func (f *Func[A, R]) recycle(t *waitedCall[A, R]) {
	var none R
	t.result = none
	t.reset()
	f.memory.Put(t)
}

// Go makes a call and returns its future. It does not wait for a worker. If more calls wait than
// Config.Backlog says and Config.Overflow is Block, the call is queued, and Go waits until it is one of
// the first so many, or has ended. If the pool does not take the call, the future has ended already.
func (f *Func[A, R]) Go(ctx context.Context, arg A) *Future[R] {
	return f.goOn(ctx, target{}, arg, 0)
}

// TryGo is [Func.Go] that never waits. If a backlog has no space, the future has ended with
// [ErrBacklogFull]. Config.Overflow does not matter.
func (f *Func[A, R]) TryGo(ctx context.Context, arg A) *Future[R] {
	return f.goOn(ctx, target{}, arg, flagTry)
}

// goOn is Go on a lane, or on one that the balancer picks. flags are flags of the call.
func (f *Func[A, R]) goOn(ctx context.Context, to target, arg A, flags uint16) *Future[R] {
	t := f.newCall()
	t.arg = arg
	c := &t.call
	if blocked, ok := c.beginFuture(ctx, to, flags); ok {
		c.dispatch(ctx)
		if blocked != nil {
			block(ctx, blocked.parker.Park)
		}
	}
	return &t.Future
}

// beginFuture makes c, whose caller does not wait for it, a call, and starts what ends it in time.
// It reports false if c has ended. blocked is not nil if there is no space, for which Go waits.
func (c *call) beginFuture(ctx context.Context, to target, flags uint16) (blocked *blockedCaller, ok bool) {
	if err := c.begin(ctx, nil, to, nil, flags); err != nil {
		c.end(CauseRefused, err)
	}
	if c.isSettled() {
		return nil, false
	}
	if c.extra != nil {
		blocked = c.extra.blocked // before another goroutine may end c
	}
	c.startClock()
	if c.flags&flagEnds == 0 {
		return blocked, true
	}
	if c.extra == nil {
		c.extra = new(extra) // before another goroutine may end c
	}
	if stop := c.watchContext(ctx, c.drop); stop != nil {
		c.stopAtEnd(stop)
	}
	return blocked, true
}

// stopAtEnd calls stop, which ends the watch over the context of the caller, when the call ends.
func (c *call) stopAtEnd(stop func() bool) {
	c.extra.stop.Store(&stop)
	if c.load().has(callClaimed) { // the call had ended, and the claimer may not have seen stop
		stop()
		c.extra.stop.Store(nil)
	}
}

// drop brings a call that has ended before dispatch to its end. It may have a permit.
func (c *call) drop() {
	if c.flags&flagLater != 0 {
		c.dropLater()
	} else {
		c.dispatch(context.Background())
	}
}

// dropLater drops a call that has ended before its argument came.
func (c *call) dropLater() {
	c.leaveLater()
	c.skip()
}

// leaveLater takes the call from the count of those that wait for their argument.
func (c *call) leaveLater() {
	if c.lane == nil {
		c.pool().shared.later.Add(-1)
	}
}

// After calls the task with the result of dep when that is there. The pool has the call from now
// on, and it counts in the backlog until it starts. After itself never waits for space. If dep
// fails, the call fails with the same error, and its handler is not entered.
func (f *Func[A, R]) After(ctx context.Context, dep *Future[A]) *Future[R] {
	if dep == nil {
		panic("pool: After: nil future")
	}
	t := f.newCall()
	c := &t.call
	if _, ok := c.beginFuture(ctx, target{}, flagLater); !ok {
		return &t.Future
	}
	p := c.pool()
	send := func() {
		if err := dep.outcomeError(); err != nil {
			c.end(CauseArgumentFailed, err)
			c.dropLater()
			return
		}
		t.arg = dep.result
		ok := c.encodeLater(func(err error) {
			c.end(CauseArgumentFailed, err)
			c.dropLater()
		})
		if !ok {
			return
		}
		c.leaveLater() // it is about to be in the queue
		c.dispatch(context.Background())
	}
	if dep.isSettled() {
		send()
		return &t.Future
	}
	o := detachedCall{c: c, generation: c.load().generation()} // not that of a handler of c
	p.detach(o)
	go func() {
		defer p.returned(o)
		select {
		case <-dep.Done():
			send()
		case <-c.watchEnd():
			c.dropLater()
		}
	}()
	return &t.Future
}

// resolve waits for a result that is a future.
func resolve[R any](ctx context.Context, result R) (R, error) {
	f, ok := any(result).(*Future[any])
	if !ok || f == nil {
		return result, nil
	}
	v, err := f.Wait(ctx)
	r, _ := v.(R)
	return r, err
}

// Submit makes a call without types of the pool's single task, or of the one with
// the empty name, and returns its future.
func (p *Pool) Submit(ctx context.Context, data any) *Future[any] {
	e := p.tasks[""]
	if e == nil && len(p.tasks) == 1 {
		for _, e = range p.tasks {
			break
		}
	}
	if e == nil {
		return failed(ErrNoHandler)
	}
	if err := e.check(data); err != nil {
		return failed(err)
	}
	return e.any.Go(ctx, data)
}

// RunTask calls the task with that name, without types, and returns its result. A
// name that no task has is an [*UnknownTaskError]. The name "request" is answered at
// once, with a [Pong], whatever the lanes do.
func (p *Pool) RunTask(ctx context.Context, name string, payload any) (any, error) {
	if name == pingName {
		needContext(ctx)
		if p.refuses(ctx) {
			return nil, notStarted(ErrPoolShutdown)
		}
		return Pong{CallbackID: p.pings.Add(1), Type: pingName}, nil
	}
	e, err := p.task(name, payload)
	if err != nil {
		return nil, notStarted(err)
	}
	return e.any.Call(ctx, payload)
}

// task returns the task with that name, if it takes the payload.
func (p *Pool) task(name string, payload any) (*entry, error) {
	e := p.tasks[name]
	if e == nil {
		return nil, &UnknownTaskError{name}
	}
	return e, e.check(payload)
}

// Pong is the answer to the task "request".
type Pong struct {
	CallbackID uint64 `json:"callbackId"` // a number that no other answer of the pool has
	Type       string `json:"type"`       // "request"
}

// failed returns a future that has ended with err.
func failed(err error) *Future[any] {
	f := new(Future[any])
	f.body = &pong // it has no argument
	f.end(CauseRefused, err)
	return f
}
