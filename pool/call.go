package pool

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// call is one request to a pool and its answer, without their types.
//
// Roles:
//
//	caller   makes the call, sends it to a lane, and waits for it, or not
//	runner   the one goroutine that enters the handler
//	settler  the one that writes the outcome: the runner, or who ends the call
//	         before it: the caller whose context ends, Future.Abort, Close, a limit
//
// State. One word, in which bits are only set while the call lives:
//
//	started     a runner has it; set by the runner
//	ended       somebody has the right, and the duty, to write the outcome
//	settled     the outcome is written
//	waiting     the caller is parked, or about to be; set by the caller
//	watched     the channel of Done exists; set by who made it
//	returned    the handler has returned after somebody else ended the call
//	dropped     it never starts, and what it held for that is given back
//	generation  the rest: which call this memory is, as [Func.Call] uses it again
//
// Invariants:
//
//	I1  the handler is entered once at most: by who has set started, if ended was
//	    not set then
//	I2  the outcome is written once, by who has set ended, before settled
//	I3  the memory is used for another call only by a caller that saw settled, and
//	    was unparked if it had set waiting, and only when the runner was the settler:
//	    nobody keeps a pointer then but [lane.current] and the timer of a limit,
//	    whose readers compare the generation
//
// Happens-before edges:
//
//	E1  set settled  ->  load of settled, Unpark, close   the caller sees the outcome
//	E2  set ended    ->  set started   a call that ended before it started is not
//	    run; the order of the two tells whether it has started
//
// The first cache line is what the caller writes and the runner reads. The second one,
// which holds the argument and the result, too, is what both write: two lines go to the
// runner and back, where three did before, and 128 bytes are allocated instead of 192.
type call struct {
	node  mpsc.Node // first: see callOf
	body  body
	task  *entry
	lane  *lane
	ctx   context.Context // what the handler gets
	extra *extra          // nil unless the call needs some of it

	state    atomix.Uint64
	done     atomix.Pointer[chan struct{}]
	parker   *lfsync.Parker
	err      error  // I2
	lease    uint32 // the word of the lease through which it came, or 0
	flags    uint8
	byRunner bool // who settled it
}

// extra is what few calls have: those that can end before their handler returns.
type extra struct {
	cancel      context.CancelCauseFunc
	cancelTimer context.CancelFunc
	stop        atomix.Pointer[func() bool] // ends the watch over the context of the caller
	abort       transport.AbortID
}

// body is the part of a call that knows its types.
type body interface {
	// exec enters the handler and settles the call. It reports what settle does.
	exec(c *call) (woke bool)
	// forget drops the argument.
	forget(c *call)
}

// The bits of call.state.
const (
	callStarted = 1 << iota
	callEnded
	callSettled
	callWaiting
	callWatched
	callReturned
	callDropped
	callGeneration = 1 << iota // what one generation adds
)

// The flags of a call, written before it is sent.
const (
	flagAbortable = 1 << iota // abort is held
	flagWaited                // its caller waits for it
	flagEnds                  // its context, or a Timeout, may end it before its handler returns
	flagLater                 // its argument comes after it: see After
	flagDirect                // its caller runs it itself when the lane is free
)

// start makes the caller the runner, or reports false when the call has ended.
func (c *call) start() bool { return c.state.Or(callStarted)&callEnded == 0 } // I1, E2

// end makes the caller the settler, or reports false when there is one.
func (c *call) end() (started, won bool) {
	s := c.state.Or(callEnded) // I2, E2
	return s&callStarted != 0, s&callEnded == 0
}

// endGeneration is end for who may hold an old pointer.
func (c *call) endGeneration(generation uint64) (started, won bool) {
	for {
		s := c.state.Load()
		if s&^(callGeneration-1) != generation || s&callEnded != 0 {
			return false, false
		}
		if c.state.CompareAndSwap(s, s|callEnded) { // I2, I3
			return s&callStarted != 0, true
		}
	}
}

// generation returns which call this is, for endGeneration.
func (c *call) generation() uint64 { return c.state.Load() &^ (callGeneration - 1) }

// settle tells everybody that the outcome is written, and reports whether somebody
// waited for it. The caller is the settler.
func (c *call) settle() (woke bool) {
	l := c.lane // the memory may be another call soon: I3
	if x := c.extra; x != nil {
		if stop := x.stop.Load(); stop != nil {
			(*stop)()
		}
		switch {
		case x.cancel == nil:
		case c.byRunner:
			x.cancel(nil) // what the handler left behind is not told its error
		default:
			x.cancel(c.err)
		}
		x.stop.Store(nil) // all three hold the context
		x.cancel, x.cancelTimer = nil, nil
	}
	s := c.state.Or(callSettled) // E1
	if s&callReturned != 0 {
		c.release()
	}
	if s&callWatched != 0 {
		close(*c.done.Load())
	}
	if s&callWaiting != 0 {
		c.parker.Unpark()
	}
	if l != nil {
		l.countEnded()
	}
	return s&(callWatched|callWaiting) != 0
}

// fail ends the call with err, and reports whether nobody had ended it before.
func (c *call) fail(err error) bool {
	started, won := c.end()
	if won {
		c.settleError(started, err)
	}
	return won
}

// settleError writes err as the outcome, and tells a handler that runs. The error
// of a call that has not started says so, and no other does. The caller is the settler.
func (c *call) settleError(started bool, err error) {
	if !started {
		err = &notStartedError{err}
		c.giveBack()
	} else {
		err = withoutNotStarted(err)
		if c.flags&flagAbortable != 0 {
			c.lane.p.aborts.Abort(c.extra.abort) // the runner keeps it until settled is set
		}
	}
	c.err = err
	c.settle()
}

// finish is the end of the handler. When it reports true, the runner is the settler
// and writes the outcome; else somebody has ended the call before.
func (c *call) finish() bool {
	if _, won := c.end(); won {
		c.release()
		c.byRunner = true
		c.forgetContext()
		return true
	}
	c.lane.stale.Add(1)
	c.forgetContext()
	if c.state.Or(callReturned)&callSettled != 0 {
		c.release() // else who ends it now does
	}
	return false
}

// drop is what becomes of a call that ended before it could start, where its lane, or
// whoever was to send it, comes to it.
func (c *call) drop() {
	if c.flags&flagLater != 0 {
		c.body.forget(c) // giveBack has not
	}
	c.giveBack()
	c.forgetContext()
}

// forgetContext lets go of the context of a call that a lane, or who was to send it, has
// done with. Futures are kept.
func (c *call) forgetContext() {
	if c.flags&flagWaited == 0 { // else its caller reads it
		c.ctx = nil
	}
}

// dropAs drops a call, which ends with err if it has not ended.
func (c *call) dropAs(err error) {
	c.fail(err)
	c.drop()
}

// giveBack gives back, once, what a call that never starts holds. Who ends the call does
// so, as the lane may be long in coming to it; but the argument of After may be about to
// be written then.
func (c *call) giveBack() {
	if c.state.Or(callDropped)&callDropped == 0 {
		if c.flags&flagLater == 0 {
			c.body.forget(c)
		}
		c.release()
	}
}

// release gives back what the call holds for its handler, which has returned or is
// never entered.
func (c *call) release() {
	if c.flags&flagAbortable != 0 {
		c.lane.p.aborts.Release(c.extra.abort)
	}
}

// isSettled reports whether the outcome can be read.
func (c *call) isSettled() bool { return c.state.Load()&callSettled != 0 } // E1

// await blocks the caller, and nobody else, until the call is settled, or reports
// false when done is closed first.
func (c *call) await(done <-chan struct{}) bool {
	if c.isSettled() {
		return true
	}
	if c.parker == nil {
		c.parker = lfsync.NewParker()
	}
	if c.state.Or(callWaiting)&callSettled != 0 {
		return true
	}
	return c.parker.ParkDone(done)
}

// abandon ends a call whose await has returned false with cause, unless it is
// ending already. The caller may then read the outcome, and nobody may use the
// memory again.
func (c *call) abandon(cause error) {
	c.fail(cause)
	c.parker.Park() // the settler saw waiting, and if it was the caller itself
}

// watch returns a channel that is closed when the call is settled. It is closed already
// if the call is.
func (c *call) watch() <-chan struct{} {
	if c.isSettled() { // who made the channel too late for the settler may not have closed it yet
		return closedChan
	}
	if ch := c.done.Load(); ch != nil {
		return *ch
	}
	ch := make(chan struct{})
	if !c.done.CompareAndSwap(nil, &ch) {
		return *c.done.Load()
	}
	if c.state.Or(callWatched)&callSettled != 0 {
		close(ch) // the settler has not seen it
	}
	return ch
}

var closedChan = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// execute enters the handler, if the call has not ended yet, and reports whether
// somebody waited for the end. A panic and a Goexit of the handler are its
// outcome; after a Goexit the goroutine ends. When the handler has run for
// Config.HardLimit, limit is called, if it is not nil.
func (c *call) execute(limit func()) (woke bool) {
	if c.lease != 0 { // after the lane has it: Discard ends it, or is seen
		c.failDiscarded()
	}
	if c.isLate() {
		generation := c.generation()
		c.drop()
		time.AfterFunc(lateGrace, func() { c.endAs(generation, context.DeadlineExceeded) })
		return false
	}
	if !c.start() {
		c.drop()
		return false
	}
	if limit != nil {
		defer time.AfterFunc(c.lane.p.config.HardLimit, limit).Stop() // it has started: the limit says so
	}
	returned := false
	defer func() {
		if !returned {
			c.broken(recover())
		}
	}()
	woke = c.body.exec(c)
	returned = true
	return woke
}

// isLate reports whether the time of the call was over before it started. Its context is
// about to end, and who watches that, the caller or watchContext, ends the call. A context
// that does not keep to its own deadline has lateGrace to do so, and such a call may outlast
// Close and Discard by that.
func (c *call) isLate() bool {
	if c.ctx.Done() == nil {
		return false
	}
	d, ok := c.ctx.Deadline()
	return ok && !time.Now().Before(d)
}

const lateGrace = 100 * time.Millisecond

// broken settles a call whose handler panicked with value, or called Goexit.
func (c *call) broken(value any) {
	stack := debug.Stack()
	if c.finish() {
		c.err = brokenError(value, stack)
		c.settle()
	}
}

// endAs ends the call that had this generation with err, unless it has ended.
func (c *call) endAs(generation uint64, err error) bool {
	started, won := c.endGeneration(generation)
	if won {
		c.settleError(started, err)
	}
	return won
}

// reset makes the memory of a call that is over that of the next one: I3.
func (c *call) reset() {
	c.state.Store((c.state.Load() &^ (callGeneration - 1)) + callGeneration)
	c.lane, c.ctx, c.extra, c.err = nil, nil, nil, nil
	c.lease, c.flags, c.byRunner = 0, 0, false
}
