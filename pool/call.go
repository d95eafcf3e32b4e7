package pool

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
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
//	claimer  the goroutine that writes the outcome: the runner, or the goroutine that
//	         ends the call before it: the caller whose context ends, Future.Abort,
//	         Close, a limit
//
// State. One word, callWord, with its invariants C1 to C5.
//
// Invariants:
//
//	I1  the memory is used for another call only by a caller that saw over, and
//	    was unparked if it had set waiting, and only when the runner was the claimer:
//	    only frames, names, clocks and the timer of a limit keep a pointer then, and
//	    their readers compare the generation
//	I2  a goroutine that is neither the runner nor the caller reads the memory of a call
//	    between its claim and its settle only. Before that it uses the word only
//	I3  lane is written before the call is published, or, while the word has noLane, by the
//	    runner before its step to running. While the word has noLane, no other goroutine reads it, unless
//	    the flag named says that it does not change
//
// Happens-before edges:
//
//	E1  set settled, set over  ->  load of either, Unpark, close   the caller sees the outcome
//	E2  set claimed  ->  take   a call that was claimed while it was queued is not
//	    run; the order of the two decides
//
// The first cache line is what the caller writes and the runner reads. The second one, which holds
// the argument and the result, too, is what both write: two lines go to the runner and back, where
// three did before, and 128 bytes are allocated instead of 192.
type call struct {
	node  mpsc.Node // first: see callOf
	body  *body
	task  *entry
	lane  *lane           // I3
	ctx   context.Context // what the handler gets
	extra *extra          // nil unless the call needs some of it

	word      atomix.Uint64 // a callWord
	observers atomix.Pointer[observers]
	parker    *lfsync.Parker
	err       error        // of a claimer that is not the runner
	failed    *RemoteError // of the runner
	names     uint32       // the generation of the lane that it names, or 0
	flags     uint16
	hasName   bool // a context names its handler: see handlerName. The runner's
	direct    bool // its caller runs it with a permit. That caller is the only goroutine that uses it
}

// extra is what few calls have: those that can end before their handler returns.
type extra struct {
	context *callContext                // of a call with a Timeout or an abort slot
	clock   *clock                      // of a call with a Timeout
	stop    atomix.Pointer[func() bool] // ends the watch over the context of the caller
	blocked *blockedCaller              // of a call whose caller waits for space
	abort   transport.AbortID
	request *request // of a call whose handler runs elsewhere
}

// end ends what watches over a call that has ended, and the context of its handler with err. The
// caller is the claimer. The future of the call keeps none of it.
func (x *extra) end(err error) {
	if stop := x.stop.Load(); stop != nil {
		contained(func() { (*stop)() })
		x.stop.Store(nil)
	}
	if x.clock != nil {
		x.clock.release()
		x.clock = nil
	}
	if h := x.context; h != nil {
		contained(func() { h.end(err) })
		x.context = nil
	}
}

// contained calls f, which ends a context. Methods of a context of the program may be a part of that. A panic of one
// goes to the log, because it would leave the call without an end.
func contained(f func()) {
	defer func() {
		if r := recover(); r != nil {
			slog.Error("pool: a method of a context has panicked at the end of a call", "error", r, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// body is the part of a call that knows its types.
type body struct {
	// exec enters the handler and finishes the call. It reports what settle does.
	exec func(c *call) (woke bool)
	// forget drops the argument.
	forget func(c *call)
	// encode appends the argument to dst, and decode writes the result. Lanes whose calls run elsewhere use them.
	encode func(c *call, dst []byte) ([]byte, transport.Tag, error)
	decode func(c *call, tag transport.Tag, src []byte) error
	// drop drops the result.
	drop func(c *call)
}

// The flags of a call, written before it is sent.
const (
	flagAbortable = 1 << iota // abort is held
	flagWaited                // its caller waits for it
	flagEnds                  // its context, or a Timeout, may end it before its handler returns
	flagLater                 // its argument comes after it: see After
	flagDirect                // its caller runs it itself when the lane is free
	flagTry                   // its caller does not wait for space: see Func.TryCall
	flagPlaced                // its sender has taken the pick and a permit of its lane for it
	flagHere                  // its caller runs it without a permit
	flagNamed                 // it names its lane, and comes through no lease
)

// load returns the word of the call.
func (c *call) load() callWord { return callWord(c.word.Load()) }

// start makes the caller the runner, with a permit or without. It reports false if the call has
// ended.
func (c *call) start(permit bool) bool {
	for {
		w := c.load()
		next, run := w.take(permit) // C1, E2
		if !run {
			return false
		}
		if c.word.CompareAndSwap(uint64(w), uint64(next)) {
			if !permit {
				c.lane.countAside() // C7 of callWord
			}
			if w.has(callWaits) {
				c.lane.p.shared.leave(c, w, c.lane) // C6 of callWord
			}
			return true
		}
	}
}

// pool returns the pool of a call of a task.
func (c *call) pool() *Pool { return c.task.table.bound.Load() }

// queue returns the queue in which the call waits, or is about to.
func (c *call) queue() *callQueue {
	switch {
	case c.flags&flagNamed != 0:
		return c.lane.named.make(c.lane)
	case c.load().has(callNoLane): // I3
		return &c.pool().shared.callQueue
	}
	return &c.lane.backlog
}

// end ends the call with cause k and error err. It reports false if the call has ended before.
func (c *call) end(k Cause, err error) bool {
	w := c.load()
	return c.endFrom(w, w.generation(), k, err)
}

// endAs is end for a caller that may hold an old pointer: it has no effect on a call of another
// generation.
func (c *call) endAs(generation callWord, k Cause, err error) bool {
	return c.endFrom(c.load(), generation, k, err)
}

// endAndAwait is endAs for a closer. It returns when the call of that generation is settled, also if another
// goroutine ends it. It does not wait for the observers, because the closer itself may have settled the call and be
// about to notify them.
func (c *call) endAndAwait(generation callWord, k Cause, err error) {
	if c.endAs(generation, k, err) {
		return
	}
	w := c.load()
	for w.generation() == generation && w.has(callClaimed) && !w.has(callSettled) {
		park.Yield() // its claimer is about to settle it
		w = c.load()
	}
}

// endFrom is endAs, given a load of the word. With finish it is the only function that claims.
func (c *call) endFrom(w callWord, generation callWord, k Cause, err error) bool {
	started := withoutNotStarted(err)                  // before the claim, because it calls methods of err
	for ; w.generation() == generation; w = c.load() { // I1
		next, d, won := w.claim(k) // C2, E2
		if !won {
			return false
		}
		if c.word.CompareAndSwap(uint64(w), uint64(next)) {
			c.endClaimed(d, err, started)
			return true
		}
	}
	return false
}

// endClaimed writes err as the outcome. The error of a call that never starts says so, and no
// other does: started is err without that mark. The caller is the claimer, and d are the duties of
// its claim. No panic of the program gets between the claim and the settle, because that would leave the call
// without an end: see contained.
func (c *call) endClaimed(d duty, err, started error) {
	cause := err           // of its context
	if err == errTimeout { //nolint:errorlint // the value that the clock gives
		err, started = context.DeadlineExceeded, context.DeadlineExceeded
	}
	if d&dutyInterrupt != 0 {
		err = started
		if c.flags&flagAbortable != 0 {
			c.lane.p.aborts.Abort(c.extra.abort) // released after settled is set: C4
		}
		c.lane.executor.interrupt()
	} else {
		err = notStarted(err)
	}
	if d&dutyOverdue != 0 {
		c.lane.overdue.Add(1) // before settle counts the call as ended
	}
	if d&dutyNotAside != 0 {
		c.lane.aside.Add(-1)
	}
	if d&dutyForget != 0 && c.flags&flagLater == 0 {
		c.body.forget(c)
	}
	if d&dutyRelease != 0 {
		c.release()
	}
	c.err = err
	c.settle(cause)
}

// settle makes the outcome readable, and reports whether a goroutine waited for it. The caller
// is the claimer. The context of the call ends with err; nil stands for the end of its handler.
func (c *call) settle(err error) (woke bool) {
	if c.extra != nil {
		c.extra.end(err)
	}
	waited := c.flags&flagWaited != 0 // the memory may be another call soon: I1
	var l *lane
	var q *callQueue
	if !c.load().has(callNoLane) { // a runner that takes the call out of a queue writes c.lane: I3
		l = c.lane
	}
	if c.load().has(callWaits) {
		q = c.queue()
	}
	var next callWord
	var d duty
	tells := false
	for {
		w := c.load()
		tells = c.tells(w, l, tells)
		next, d = w.settle()
		if c.word.CompareAndSwap(uint64(w), uint64(next)) { // E1
			break
		}
	}
	if d&dutyRelease != 0 {
		c.release()
	}
	return c.settled(next, l, q, waited, false, tells)
}

// poolOf returns the pool that counts the call with the word w and the lane l, which is nil if the call has none. It
// returns nil if no pool has accepted the call.
func (c *call) poolOf(w callWord, l *lane) *Pool {
	switch {
	case w.has(callNoLane):
		return c.pool()
	case l != nil:
		return l.p
	}
	return nil
}

// tells counts a call that is about to be settled in Pool.telling, if its word w says that it has observers, and before
// does not say that it was counted. It reports whether it is. l is as in poolOf.
func (c *call) tells(w callWord, l *lane, before bool) bool {
	if before || !w.has(callHasDone) {
		return before
	}
	p := c.poolOf(w, l)
	if p == nil {
		return false
	}
	p.telling.Add(1) // before the call is settled: see observers
	return true
}

// settled does what follows the step that has settled a call of lane l and made its word w. l is
// nil if the call has none. Then q is its queue, if it waits in one. The call is the one of a
// caller that waits if waited is true. That caller is the calling goroutine if direct is true. No
// other goroutine waits then. tells is the result of call.tells.
func (c *call) settled(w callWord, l *lane, q *callQueue, waited, direct, tells bool) (woke bool) {
	p := c.poolOf(w, l)
	if k := w.cause(); p != nil {
		c.task.countEnd(l, k) // before Wait may see the end
		if l == nil {
			p.shared.ends[k].Add(1)
		} else {
			l.countEnded(k)
		}
	}
	if w.has(callWaits) {
		p.shared.leave(c, w, l)
		q.dead.Add(1)
		q.prune()
	}
	if direct {
		return false
	}
	w = callWord(c.word.Or(uint64(callOver))) // C8, E1
	awaited := c.isAwaited(w)
	if w.has(callHasDone) {
		c.observers.Load().end()
	}
	if tells {
		p.telling.Add(-1) // before reportEnd, which calls methods of the error: one may wait for the pool
	}
	if k := w.cause(); p != nil && k != CauseReturned && !waited && !awaited {
		p.reportEnd(c, l, k)
	}
	if w.has(callWaiting) {
		c.parker.Unpark()
	}
	return awaited
}

// finish is the end of the handler. If mine is true, the outcome that the runner has written is
// that of the call, which may be another call now. Otherwise the call has ended before.
func (c *call) finish(k Cause) (mine, woke bool) {
	l, waited, direct := c.lane, c.flags&flagWaited != 0, c.direct // the memory may be another call soon: I1
	c.forgetContext()
	atOnce := c.extra == nil
	var next callWord
	var d duty
	tells := false
	for {
		w := c.load()
		if next, d, mine = w.finish(k, atOnce); mine && atOnce { // C2
			tells = c.tells(w, l, tells)
		}
		if c.word.CompareAndSwap(uint64(w), uint64(next)) { // E1
			break
		}
	}
	if tells && !mine {
		c.poolOf(next, l).telling.Add(-1) // another goroutine has ended the call since
	}
	if d&dutyNotAside != 0 && l != nil {
		l.aside.Add(-1)
	}
	switch {
	case mine && atOnce: // it holds nothing
		return true, c.settled(next, l, nil, waited, direct, tells)
	case mine:
		c.release()
		return true, c.settle(nil) // the error is not for those that the handler has left behind
	}
	if k != CauseWorkerLost { // a process that has died gives no outcome
		l.stale.Add(1)
	}
	if d&dutyNotOverdue != 0 {
		l.notOverdue()
	}
	if d&dutyNotAbandoned != 0 {
		l.p.abandoned.Add(-1)
	}
	if d&dutyRelease != 0 {
		c.release()
	}
	return false, false
}

// leaveBehind counts the handler of the call of that generation as left behind by l, unless it has
// returned.
func (c *call) leaveBehind(generation callWord, l *lane) {
	if d := c.step(generation, callWord.abandon); d&dutyAbandoned != 0 {
		l.dead.Add(1)
		l.p.abandoned.Add(1)
	}
}

// step makes a transition of the call of that generation and returns the duties of the caller.
func (c *call) step(generation callWord, transition func(w callWord) (callWord, duty)) duty {
	for w := c.load(); w.generation() == generation; w = c.load() { // I1
		if next, d := transition(w); next == w || c.word.CompareAndSwap(uint64(w), uint64(next)) {
			return d
		}
	}
	return 0
}

// losePermit says that the call of that generation has no permit any more.
func (c *call) losePermit(generation callWord, l *lane) {
	d := c.step(generation, callWord.lose)
	if d&dutyNotOverdue != 0 {
		l.notOverdue()
	}
	if d&dutyAside != 0 {
		l.countAside()
	}
}

// skip drops a call that does not start, and that is in no queue, or not any more. It has ended, or is
// about to.
func (c *call) skip() {
	if c.load().has(callWaits) {
		c.queue().dead.Add(-1) // its claimer counts it
	}
	if c.flags&flagLater != 0 {
		c.body.forget(c) // the claimer has not
	}
	c.forgetContext()
}

// forgetContext drops the context of a call that a lane, or its sender, does not need any more.
// Futures are kept.
func (c *call) forgetContext() {
	if c.flags&flagWaited == 0 { // otherwise its caller reads it
		c.ctx = nil
	}
}

// refuse ends a call that its lane, or its sender, has not begun.
func (c *call) refuse(k Cause, err error) {
	c.end(k, err)
	c.skip()
}

// release gives back what the call holds for its handler, which has returned or is
// never entered.
func (c *call) release() {
	if c.flags&flagAbortable != 0 {
		c.pool().aborts.Release(c.extra.abort)
	}
}

// isSettled reports whether the outcome can be read.
func (c *call) isSettled() bool { return c.load().has(callSettled) } // E1

// isOver reports whether the outcome can be read and the end is counted.
func (c *call) isOver() bool { return c.load().has(callOver) } // E1, C8

// awaitOver returns when a call that is settled is over.
func (c *call) awaitOver() {
	for !c.isOver() {
		park.Yield() // the goroutine that has settled it counts its end
	}
}

// await blocks the calling goroutine until the call is over, or reports false when done
// is closed first. One goroutine at a time may wait so.
func (c *call) await(done <-chan struct{}) bool {
	if c.isOver() {
		return true
	}
	if c.parker == nil {
		c.parker = lfsync.NewParker()
	}
	if callWord(c.word.Or(uint64(callWaiting))).has(callOver) {
		return true
	}
	return c.parker.ParkDone(done)
}

// awaitOrEnd blocks the calling goroutine, which has come with ctx, until the call is over. It ends
// the call when ctx ends. One goroutine at a time may wait so.
func (c *call) awaitOrEnd(ctx context.Context) {
	settled := false
	block(ctx, func() {
		c.receive(ctx.Done())
		settled = c.await(ctx.Done())
	})
	if !settled {
		c.abandon(ctx)
	}
}

// abandon ends a call whose await has returned false, because ctx has ended, unless it is
// ending already. The caller may then read the outcome, and no other goroutine uses the memory.
func (c *call) abandon(ctx context.Context) {
	c.end(contextEnd(ctx))
	c.parker.Park() // the claimer saw waiting, also if it was the caller itself
}

// watch returns a channel that is closed when the call is settled. It is closed already
// if the call is. The goroutine that asks for it learns of the outcome.
func (c *call) watch() <-chan struct{} { return c.channel(callHasDone | callAwaited) }

// watchEnd is watch for a goroutine of the pool, which does not learn of the outcome: a failure is
// reported if no other goroutine does.
func (c *call) watchEnd() <-chan struct{} { return c.channel(callHasDone) }

// channel is watch or watchEnd.
func (c *call) channel(bits callWord) <-chan struct{} {
	if c.isOver() { // not when it is settled: the counts have the end of the call when the channel is closed
		return closedChan
	}
	return c.observe(bits).ch
}

var closedChan = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// execute enters the handler, if the call has not ended yet, and reports whether
// a goroutine waited for the end. A panic and a Goexit of the handler are its
// outcome; after a Goexit the goroutine ends. f is the frame of the handler, or nil for a ping, which has
// no hard limit. over is as in startLimit.
func (c *call) execute(f *frame, over func()) (woke bool) {
	entered, returned := false, false
	var limit *clock
	defer func() {
		if limit != nil {
			defer limit.release() // the limit holds for broken as well, which calls methods of the value
		}
		switch {
		case entered && !returned:
			c.broken(recover())
		case !entered && !returned:
			c.endBroken(recover())
			c.skipTaken()
		}
	}()
	if c.names != 0 { // after the lane has it: Discard ends it, or is seen
		c.failDiscarded()
	}
	if c.isLate() {
		generation := c.load().generation()
		c.skipTaken()
		time.AfterFunc(lateGrace, func() { c.endAs(generation, CauseContextEnded, context.DeadlineExceeded) })
		returned = true
		return false
	}
	if !c.start(f != nil && f.runner != nil) {
		c.skipTaken()
		returned = true
		return false
	}
	entered = true
	if f != nil {
		limit = f.lane.startLimit(f, over) // the handler has started: the limit says so
	}
	woke = c.body.exec(c)
	returned = true
	return woke
}

// endBroken ends a call that has not started, because a method of its context has panicked with
// value, or has not returned.
func (c *call) endBroken(value any) {
	c.end(CauseContextEnded, &contextError{value})
}

// skipTaken is skip for the lane that has taken the call. The lane counts it no more.
func (c *call) skipTaken() {
	if c.load().has(callNoLane) {
		c.lane.untake()
	}
	c.skip()
}

// isLate reports whether the time of the call was over before it started. Its context is
// about to end, and its caller or watchContext then ends the call. A context that does not
// keep to its own deadline has lateGrace to do so, and such a call may outlast Close and
// Discard by that.
func (c *call) isLate() bool {
	d, ok := c.ctx.Deadline()
	return ok && !time.Now().Before(d)
}

const lateGrace = 100 * time.Millisecond

// broken finishes a call whose handler panicked with value, or called Goexit.
func (c *call) broken(value any) {
	k := CausePanicked
	if value == nil {
		k = CauseExited
	}
	c.endName()
	contained(c.endWithContext)
	l, failed := c.lane, brokenError(c.task.name, value, debug.Stack())
	c.failed = failed
	if mine, _ := c.finish(k); mine {
		return
	}
	c.failed = nil
	l.reportPanic(k, failed)
}

// endWithContext ends a call whose context has ended before its handler has returned, whatever the outcome of that is. The
// caller is the runner.
func (c *call) endWithContext() {
	if c.flags&flagEnds != 0 && c.ctx.Err() != nil {
		c.end(c.contextEnd())
	}
}

// reportPanic reports failed if it is that of a panic. Its call has ended before, so no goroutine
// learns of the panic by that.
func (l *lane) reportPanic(k Cause, failed *RemoteError) {
	if k == CausePanicked {
		l.p.report(Ended{Task: failed.Task, Lane: l.index, Cause: k, Err: failed, Stack: failed.Stack})
	}
}

// reset makes the memory of a call that is over that of the next one: I1.
func (c *call) reset() {
	c.word.Store(uint64(c.load().reset()))
	c.lane, c.ctx, c.extra, c.err, c.failed = nil, nil, nil, nil, nil
	c.names, c.flags, c.direct = 0, 0, false
}
