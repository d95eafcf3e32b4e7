package pool

import (
	"context"
	"runtime/debug"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/mpsc"
)

// newInlineLane returns the lane of the callers, whose calls wait in its backlog
// until a goroutine that waits takes them out.
func newInlineLane(p *Pool) *lane {
	return &lane{p: p, index: inlineIndex, inline: true, inlineRunners: new(inlineRunners)}
}

// inlineIndex is the number of the inline lane, and noLaneIndex that of a call without a lane.
const (
	inlineIndex = -1
	noLaneIndex = -2
)

// isPlain reports whether nothing but the return of its handler ends a call on the inline
// lane l, if no other call waits there.
func (e *entry) isPlain(ctx context.Context, l *lane) bool {
	return l.inline && ctx.Done() == nil && !e.opts.Abortable && !e.opts.Remote &&
		e.opts.timeout(l.p) == 0 && l.p.config.HardLimit == 0
}

// takeInline returns an inline runner for the caller, if the call that was accepted for it may run
// at once, and otherwise nil.
func (l *lane) takeInline() *inlineRunner {
	if !l.isOpen() || l.p.isClosed() { // after accept: a call that was accepted after Pause does not start
		return nil
	}
	return l.inlineRunners.enter(l)
}

// callInline runs the handler for a plain call that was accepted. No other goroutine
// has to know of it, and it needs no memory.
func (f *Func[A, R]) callInline(ctx context.Context, l *lane, g *inlineRunner, arg A) (result R, err error) {
	l.direct.Add(1)
	k := CauseExited
	defer func() {
		if k == CauseExited {
			value := recover()
			if value != nil {
				k = CausePanicked
			}
			err = brokenError(f.entry.name, value, debug.Stack())
		}
		if l.p.isClosed() { // Close has ended it
			var none R
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
func (l *lane) isOpen() bool { return l.waiting.Load() == 0 && !l.p.paused() }

// sendInline queues an accepted call of the inline lane.
func (l *lane) sendInline(c *call) {
	l.enqueue(c)
	if l.p.waiters.Load() != 0 {
		l.p.wakeWaiters(nil) // a goroutine may wait for it
	}
	if l.p.isClosed() { // after the push: Close sees one of the two
		l.closeInline()
	}
}

// inlineReady reports whether a call of the inline lane could run.
func (p *Pool) inlineReady() bool {
	return p.inline != nil && !p.paused() && p.inline.backlog.Available()
}

// performInline runs the calls of the inline lane in their order until c has ended. It
// is the call of a caller who waits for it.
func (l *lane) performInline(c *call, ctx context.Context) {
	if ctx.Done() != nil {
		generation := c.load().generation()
		end := func() {
			k, err := contextEnd(ctx)
			c.endAs(generation, k, err)
		}
		if ctx.Err() != nil {
			end()
		}
		defer context.AfterFunc(ctx, end)()
	}
	if l.isOpen() {
		l.runHere(c)
	} else {
		c.dispatch()
	}
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
	return p.runInline(n, func(c *call) bool { p.inline.runWithoutPermit(c); return true })
}

// runInline is RunInline by run, as long as that says to go on.
func (p *Pool) runInline(n int, run func(c *call) (goOn bool)) (ran int) {
	for ran < n {
		c, more := p.inline.popInline(false)
		if c == nil {
			break
		}
		if more && p.waiters.Load() != 0 {
			p.wakeWaiters(nil) // they may have looked while this goroutine was the consumer
		}
		ran++
		if !run(c) {
			break
		}
	}
	return ran
}

// popInline takes the oldest call out of the inline lane, if the pool is not paused, or
// closing says that this does not matter. more says that others are left.
func (l *lane) popInline(closing bool) (c *call, more bool) {
	var from mpsc.Consumer
	for {
		switch l.backlog.TryAcquire(&from, mpsc.FIFO) {
		case mpsc.Empty:
			return nil, false
		case mpsc.Contended:
			park.Yield() // another goroutine takes a call, and does nothing else in between
			continue
		}
		if from.More() && (closing || !l.p.paused()) { // in this order: the call was accepted before Pause
			c = callOf(from.Pop())
			l.waiting.Add(-1)
		}
		more = from.Release()
		if c != nil || !more || l.p.paused() { // after Release: Resume finds no consumer, or is seen
			return c, more
		}
	}
}
