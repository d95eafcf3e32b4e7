package pool

import (
	"context"
	"errors"
	"slices"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Pause stops the dispatch: calls that the pool accepts afterwards do not start
// before Resume. Handlers that run go on, and the pool takes calls up to its limits. A
// Pause during Shutdown holds that up.
func (p *Pool) Pause() { p.pauses.Store(true) }

// Resume ends a Pause: what waits is dispatched, in its order.
func (p *Pool) Resume() {
	p.pauses.Store(false)
	for _, l := range p.everyLane() {
		if !l.inline {
			l.kick()
		}
	}
	if p.inline != nil {
		p.tellWatches() // they run the calls of the inline lane
	}
}

// everyLane returns all lanes, also those that Resize has taken out.
func (p *Pool) everyLane() []*lane { return *p.every.Load() }

// pending returns how many calls were accepted and have not ended: 0 means that at
// one moment during the call there was none.
func (p *Pool) pending() uint64 {
	for {
		lanes := p.every.Load()
		var ended, accepted uint64
		for _, l := range *lanes {
			ended += l.ended.Load()
		}
		for _, l := range *lanes {
			accepted += l.accepted.Load()
		}
		if p.every.Load() == lanes { // else Resize has made a lane that was not counted
			return accepted - ended
		}
	}
}

// counted notifies the goroutines that wait for a state of the pool of a change of the counts.
func (p *Pool) counted() {
	if p.waiters.Load() != 0 {
		p.tellWatches()
		p.grantLeases()
	}
}

// watch is a goroutine that waits for a state of the pool.
type watch struct {
	reached func() bool // only loads
	parker  *lfsync.Parker
}

// tellWatches wakes the goroutines whose state is reached.
func (p *Pool) tellWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if w.reached() || p.inlineReady() {
			w.parker.Unpark()
		}
	}
}

// waitFor returns when reached has reported true, or when ctx ends, with its cause. It
// runs calls of the inline lane until then.
func (p *Pool) waitFor(ctx context.Context, reached func() bool) error {
	return p.helpUntil(ctx, reached, nil)
}

// helpUntil is waitFor of a goroutine that waits for the call own, if that is not nil. A
// handler, of whichever pool, runs only that on top of it: others may wait for that very
// handler, and get goroutines of their own. Of Remote calls it runs one after another, on
// goroutines of their own, and leaves the last one when its own wait is over.
func (p *Pool) helpUntil(ctx context.Context, reached func() bool, own *call) error {
	onTop := p.inline == nil || innermost() == nil
	w := &watch{reached, lfsync.NewParker()}
	var remote *atomix.Bool // the handler of the last Remote call has returned
	run := func(c *call) (goOn bool) {
		switch {
		case !onTop && c != own, c == own && c.task.opts.Remote:
			p.inline.spawnDetached(c, nil)
		case c.task.opts.Remote:
			returned := new(atomix.Bool)
			remote = returned
			p.inline.spawnDetached(c, func() { returned.Store(true); w.parker.Unpark() })
			return false
		default:
			p.inline.runWithoutPermit(c)
		}
		return true
	}
	p.waiters.Add(1) // before the first look: a goroutine that changes the counts sees it, or the look sees the change
	defer p.waiters.Add(-1)
	p.mu.Lock()
	p.watches = append(p.watches, w)
	p.mu.Unlock()
	defer p.forget(w)
	for !reached() {
		if (remote == nil || remote.Load()) && p.runInlineBatch(run) {
			if ctx.Err() != nil && !reached() {
				return context.Cause(ctx)
			}
			continue
		}
		told := true
		block(func() { told = w.parker.ParkDone(ctx.Done()) })
		if !told {
			return context.Cause(ctx)
		}
	}
	return nil
}

// forget ends the wait of w.
func (p *Pool) forget(w *watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches = slices.DeleteFunc(p.watches, func(o *watch) bool { return o == w })
}

// Wait returns when no call is queued or runs, or when ctx ends, with its cause. While
// the pool is paused and calls wait, it blocks until Resume. It runs calls of the
// inline lane until then. Inside a handler of the pool, whose call would have to end
// first, it returns [ErrInHandler].
func (p *Pool) Wait(ctx context.Context) error {
	needContext(ctx)
	if p.inHandler() {
		return ErrInHandler
	}
	return p.waitFor(ctx, func() bool { return p.pending() == 0 })
}

// Shutdown refuses new calls, waits until all that were accepted have ended, also
// those of a paused pool, which it resumes, and closes the pool. When ctx ends
// first, it closes the pool then, and returns the cause. Inside a handler of the pool
// it returns [ErrInHandler] and does nothing.
func (p *Pool) Shutdown(ctx context.Context) error {
	needContext(ctx)
	if p.inHandler() {
		return ErrInHandler
	}
	p.beginShutdown()
	return p.finishShutdown(ctx)
}

// beginShutdown refuses new calls.
func (p *Pool) beginShutdown() {
	p.state.CompareAndSwap(open, draining)
	p.grantLeases() // refuses those who wait for a lane
	p.Resume()
}

// finishShutdown closes the pool when nothing is left to do, or when ctx ends.
func (p *Pool) finishShutdown(ctx context.Context) error {
	err := p.Wait(ctx)
	p.closeNow()
	return err
}

// Close refuses new calls and ends those that have not finished with
// [ErrThreadClosed], at once: handlers that run are told to stop, if their task is
// Abortable, and not waited for. With Config.DrainOnClose it is Shutdown without an
// end, for which it does not wait inside a handler of the pool. It always returns nil, and
// may be called again, and from inside a handler.
func (p *Pool) Close() error {
	switch {
	case !p.config.DrainOnClose:
		p.closeNow()
	case p.inHandler():
		p.beginShutdown()
		go p.drainBehind()
	default:
		p.beginShutdown()
		_ = p.finishShutdown(context.Background()) // a context that does not end
	}
	return nil
}

// drainBehind is finishShutdown on a goroutine of its own. A handler of the inline lane that it
// runs may end its goroutine.
func (p *Pool) drainBehind() {
	over := false
	defer func() {
		if !over {
			go p.drainBehind()
		}
	}()
	_ = p.finishShutdown(context.Background())
	over = true
}

// closeNow ends all calls, and returns when they have ended.
func (p *Pool) closeNow() {
	if p.state.Swap(shut) == shut {
		<-p.closed // another one ends them
		return
	}
	p.pauses.Store(false)
	for _, l := range p.everyLane() {
		if l.inline {
			l.closeInline()
		} else {
			l.endAll(CausePoolClosed, ErrThreadClosed)
		}
	}
	for p.moves.Load() != 0 {
		park.Yield() // a handler that lost its permit before endAll came is not listed yet
	}
	p.endDetached(CausePoolClosed, ErrThreadClosed, func(detachedCall) bool { return true })
	if p.own {
		if _, err := p.sched.Close(); errors.Is(err, sched.ErrInCallback) {
			go func() { _, _ = p.sched.Close() }() // the pool has no tasks there any more
		}
	}
	p.grantLeases() // refuses those who wait for a lane
	close(p.closed)
	p.tellWatches()
}

// closeInline ends the calls that wait for a goroutine to run them.
func (l *lane) closeInline() {
	for c, _ := l.popInline(true); c != nil; c, _ = l.popInline(true) {
		c.refuse(CausePoolClosed, ErrThreadClosed)
	}
}

// Terminate closes the pool, waits until all handlers have returned, and returns how
// many of them are left, which is 0. When ctx ends first it returns its cause, and how
// many there are then; it may be called again. Inside a handler it closes nothing and
// returns [ErrInHandler].
func (p *Pool) Terminate(ctx context.Context) (remaining int, err error) {
	needContext(ctx)
	if p.inHandler() {
		return 1, ErrInHandler
	}
	p.closeNow()
	left := func() (all, handlers int) {
		n := int(p.moves.Load()) // first: a handler that loses its permit is seen
		all, handlers = p.detachedCalls()
		n += int(p.pending()) // calls that their callers run have not ended
		return all + n, handlers + n
	}
	if err := p.waitFor(ctx, func() bool { n, _ := left(); return n == 0 }); err != nil {
		_, handlers := left()
		return handlers, err
	}
	if p.own {
		_, _ = p.sched.Close() // a handler may have closed the pool, and not this
		block(func() { _, err = p.sched.Join(ctx) })
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx) // without the text about the scheduler
		}
	}
	return 0, err
}
