package pool

import (
	"context"
	"runtime/debug"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// inlineExecutor is the executor of the inline lane. Its calls wait in the backlog of the lane
// until a goroutine that waits for calls takes them out and runs them. They need no permits.
type inlineExecutor struct {
	*lane
	runners inlineRunners
}

// newInlineExecutor returns the executor of the inline lane of p with that lane.
func newInlineExecutor(p *Pool) *inlineExecutor {
	e := &inlineExecutor{lane: &lane{p: p, index: inlineIndex}}
	e.backlog.init(e.lane)
	e.executor = e
	return e
}

// isInline reports whether l is the inline lane of the pool.
func (p *Pool) isInline(l *lane) bool { return p.inline != nil && l == p.inline.lane }

func (*inlineExecutor) signals() bool    { return false }
func (*inlineExecutor) stays(*call) bool { return true }

// clock returns a clock that is not used again: the callers may be in several bubbles of
// testing/synctest one after another, where the time of each is its own.
func (*inlineExecutor) clock(*Pool) *clock { return new(clock) }

// isFree reports whether the lane has no call. None of its handlers has a permit.
func (e *inlineExecutor) isFree() bool { return e.unended() == 0 }

// takes reports whether so many calls are in flight that the callers are to run some.
func (e *inlineExecutor) takes(r *roster) bool {
	return len(r.lanes) == 1 || r.inFlight() >= e.p.config.Inline.DispatchThreshold
}

func (e *inlineExecutor) admit(c *call, _ *Pool) error {
	err := e.accept(c.ctx, 0)
	if err == nil {
		e.place(c)
	}
	return err
}

// place lets the caller of c, which was accepted, run the call. If the caller does not wait for it, or other
// calls come first, it waits for a goroutine that runs it.
func (e *inlineExecutor) place(c *call) {
	c.lane = e.lane
	if c.flags&flagWaited != 0 && e.isOpen() {
		c.flags |= flagHere
		return
	}
	e.waiting.Add(1)
	c.word.Store(uint64(c.load() | callWaits)) // C6 of callWord
}

// look wakes the goroutines that wait: they run the calls.
func (e *inlineExecutor) look(*sched.Worker) {
	if e.p.waiters.Load() != 0 {
		e.p.wakeWaiters(nil)
	}
}

func (*inlineExecutor) encode(_ *call, _ context.Context, x *extra) (*extra, error) { return x, nil }
func (*inlineExecutor) open() func(context.Context) error                           { return nil }
func (*inlineExecutor) start(*call)                                                 {} // no sender takes a permit
func (*inlineExecutor) scheduleDrain(*sched.Worker)                                 {}
func (*inlineExecutor) interrupt()                                                  {}
func (*inlineExecutor) setOut(bool)                                                 {}

// close ends the calls that wait for a goroutine to run them.
func (e *inlineExecutor) close() { e.backlog.fail(CausePoolClosed, ErrThreadClosed, nil) }

// inlineIndex is the number of the inline lane, and noLaneIndex that of a call without a lane.
const (
	inlineIndex = -1
	noLaneIndex = -2
)

// isPlain reports whether nothing but the return of its handler ends a call on the inline
// lane of p, if no other call waits there.
func (e *entry) isPlain(ctx context.Context, p *Pool) bool {
	return ctx.Done() == nil && !e.opts.Abortable && !e.opts.Remote && e.opts.timeout(p) == 0 && p.config.HardLimit == 0
}

// takeRunner returns an inline runner for the caller, if the call that was accepted for it may run
// at once, and otherwise nil.
func (e *inlineExecutor) takeRunner(ctx context.Context) *inlineRunner {
	if !e.isOpen() || e.p.isClosed() { // after accept: a call that was accepted after Pause does not start
		return nil
	}
	return e.runners.enter(ctx, e.lane)
}

// callInline runs the handler for a plain call that was accepted. No other goroutine
// has to know of it, and it needs no memory.
func (f *Func[A, R]) callInline(ctx context.Context, g *inlineRunner, arg A) (result R, err error) {
	l := g.frame.lane
	l.direct.Add(1)
	k := CauseExited
	defer func() {
		var failed *RemoteError
		if k == CauseExited {
			value := recover()
			if value != nil {
				k = CausePanicked
			}
			failed = brokenError(f.entry.name, value, debug.Stack())
			err = failed
		}
		if l.p.isClosed() { // Close has ended it
			var none R
			l.reportPanic(k, failed)
			l.stale.Add(1)
			result, err, k = none, ErrThreadClosed, CausePoolClosed
		}
		g.leave()
		f.entry.countEnd(l, k)
		l.countEnded(k)
	}()
	result, failed := f.enter(ctx, arg)
	if k = CauseReturned; failed != nil {
		k, err = CauseFailed, failed
	}
	return result, err
}

// isOpen reports whether a call of the inline lane may run before any other.
func (e *inlineExecutor) isOpen() bool { return e.backlog.calls.Quiet() && !e.p.paused() }

// inlineReady reports whether a call of the inline lane could run.
func (p *Pool) inlineReady() bool {
	return p.inline != nil && !p.paused() && p.inline.backlog.calls.Available()
}

// perform runs the calls of the inline lane in their order until c has ended.
func (e *inlineExecutor) perform(c *call, ctx context.Context, _ *sched.Job[*call]) {
	if c.flags&flagEnds != 0 {
		if stop := c.watchContext(ctx, c.skip); stop != nil {
			defer stop()
		}
	}
	c.dispatch(ctx)
	if !c.isOver() && c.wait(ctx) != nil && !c.end(contextEnd(ctx)) {
		<-c.watchEnd() // another goroutine is ending it
		c.awaitOver()
	}
}

// runInlineBatch runs up to a batch of calls that wait for the inline lane, by run, and
// reports whether there were any.
func (p *Pool) runInlineBatch(run func(c *call) (goOn bool)) bool {
	return p.inline != nil && p.runInline(p.config.Inline.BatchSize, run) > 0
}

// RunInline runs up to n calls that wait for the inline lane, on the goroutine of the
// caller, and returns how many there were. It returns 0 when the pool has no
// inline lane, or is paused. It is for programs with a loop of their own, such as
// those of games and user interfaces; goroutines that wait for a call do the same.
func (p *Pool) RunInline(n int) (ran int) {
	if p.inline == nil {
		return 0
	}
	return p.runInline(n, func(c *call) bool { p.inline.runWithoutPermit(context.Background(), c); return true })
}

// runInline is RunInline by run, until that returns false.
func (p *Pool) runInline(n int, run func(c *call) (goOn bool)) (ran int) {
	for ran < n {
		c, more := p.inline.pop()
		if c == nil {
			break
		}
		if more {
			p.inline.look(nil) // others may have looked while this goroutine was the consumer
		}
		ran++
		if !run(c) {
			break
		}
	}
	return ran
}

// pop takes the oldest call that has not ended out of the inline lane, if the pool is not paused. more says
// that others are left.
func (e *inlineExecutor) pop() (c *call, more bool) {
	for {
		c, more = e.backlog.pop()
		if c != nil || e.backlog.calls.Quiet() || e.p.paused() { // after the release: Resume finds no consumer, or is seen
			return c, more
		}
		park.Yield() // another goroutine takes a call, and does nothing else in between
	}
}

// inlineRunners are the frames of handlers of the inline lane whose calls end only when their handler
// returns, as many as there is space for. Such calls need no memory of their own.
type inlineRunners [16]inlineRunner

type inlineRunner struct {
	taken atomix.Bool
	frame frame // of the goroutine that has taken it
}

// enter takes an inline runner for the calling goroutine, which leaves it afterwards, or returns nil
// if all are taken.
func (g *inlineRunners) enter(ctx context.Context, l *lane) *inlineRunner {
	from := int(park.Self() >> 8)
	for i := range g {
		if e := &g[(from+i)%len(g)]; !e.taken.Load() && e.taken.CompareAndSwap(false, true) {
			e.frame.ctx = ctx
			e.frame.enter(nil, l, nil, 0)
			return e
		}
	}
	return nil
}

// leave gives the inline runner back.
func (e *inlineRunner) leave() {
	e.frame.leave()
	e.frame.ctx = nil
	e.taken.Store(false)
}
