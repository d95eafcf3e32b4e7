package lanelaw

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
)

// errAbort is the cause of the aborts of the laws.
var errAbort = errors.New("the law aborts the call")

// openGate is closed, so that a handler is held for no time.
var openGate = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// abort ends a call through its future.
func (c *callRecord) abort(cause error) {
	c.aborted.Store(true)
	c.future.Abort(cause)
}

// wantEnd checks the cause with which a call ended, and whether it ended as started.
func (run *trial) wantEnd(what string, c *callRecord, cause error, started bool) {
	run.r.T.Helper()
	switch notStarted := errors.Is(c.err, pool.ErrNotStarted); {
	case !errors.Is(c.err, cause):
		run.r.Failf("%s ended with %v, not with %q", what, c.err, cause)
	case started && notStarted:
		run.r.Failf("%s ended as not started, and its handler was entered", what)
	case !started && !notStarted:
		run.r.Failf("%s ended as started, and its handler was not entered", what)
	}
}

// lawAbort aborts calls one by one, each at a chosen moment.
func lawAbort(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		rounds := max(1, operations/200)
		run := newTrial(r, k, rounds*(6+k.Concurrency), oneLane())
		for range rounds {
			if !run.abortWaiting() || !run.abortRunning("await") || k.AbortSlots && !run.abortRunning("poll") || r.Failed() {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(errAbort, pool.ErrAborted, context.Canceled)
			run.checkOnce()
		}
	})
}

// abortWaiting aborts waiting calls, a running call whose handler does not poll, and an
// ended call.
func (run *trial) abortWaiting() bool {
	run.r.T.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	first, second := run.start(context.Background(), "call", nil), run.start(context.Background(), "poll-once", nil)
	third, last := run.start(ctx, "call", nil), run.start(context.Background(), "call", nil)
	first.abort(nil)
	second.abort(errAbort)
	cancel(context.Canceled)
	busy[0].abort(errAbort)
	if !run.awaitOutcomes("aborted calls have not ended", first, second, third, busy[0]) {
		return false
	}
	run.wantEnd("a waiting call that was aborted without a cause", first, pool.ErrAborted, false)
	run.wantEnd("a waiting call that was aborted", second, errAbort, false)
	run.wantEnd("a waiting call whose context ended", third, context.Canceled, false)
	run.wantEnd("a running call that was aborted", busy[0], errAbort, true)
	close(gate)
	if !run.awaitOutcomes("calls have not ended", append(busy, last)...) {
		return false
	}
	last.future.Abort(errAbort) // too late: checkOnce checks the outcome
	return true
}

// abortRunning aborts a call whose handler waits for the abort.
func (run *trial) abortRunning(task string) bool {
	run.r.T.Helper()
	c := run.start(context.Background(), task, openGate)
	ok := run.await("a handler was not notified of its abort, in "+task, func() {
		run.r.Hold(c.held)
		c.abort(errAbort)
		run.record(c)
		for !c.notified.Load() && !run.r.IsExpired() {
			runtime.Gosched()
		}
	})
	if ok {
		run.wantEnd("a running call that was aborted", c, errAbort, true)
	}
	return ok
}

// lawAborts ends calls in all ways while they start, run and end.
func lawAborts(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations, pool.Config{Lanes: r.Between(1, 3), Backlog: pool.Unlimited, AbortCapacity: r.Between(64, 512)})
		var fns []func()
		harness.Divide(0, operations, r.Between(1, 6), func(lo, hi int) {
			rng := r.Split()
			fns = append(fns, func() {
				for left := hi - lo; left > 0 && !r.IsExpired(); {
					burst := min(left, 1+rng.IntN(20))
					left -= burst
					run.abortBurst(rng, burst)
				}
			})
		})
		if run.await("calls have not ended", fns...) && run.shutdown() {
			run.checkOwn(errAbort, pool.ErrAborted, context.Canceled, context.DeadlineExceeded, pool.ErrAbortSlotsExhausted)
			run.checkOnce()
		}
	})
}

// abortBurst makes n calls and aborts some of them.
func (run *trial) abortBurst(rng *rand.Rand, n int) {
	calls := make([]*callRecord, n)
	for i := range calls {
		id, c := run.add([]string{"call", "poll-once"}[rng.IntN(2)], nil)
		ctx, cancel := context.Background(), func() {}
		switch rng.IntN(4) {
		case 0:
			c.aborted.Store(true)
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(200))*time.Microsecond)
		case 1:
			c.aborted.Store(true)
			ctx, cancel = context.WithCancel(ctx)
		}
		defer cancel()
		calls[i] = c
		if rng.IntN(8) == 0 {
			c.value, c.err = run.l.Call(ctx, c.task, id)
			c.seen = true
			continue
		}
		c.future = run.l.Go(ctx, c.task, id)
		switch rng.IntN(8) {
		case 0:
			c.abort(errAbort)
		case 1:
			c.abort(nil)
		case 2:
			cancel()
		}
	}
	for _, c := range calls {
		if c.future != nil && rng.IntN(8) == 0 {
			c.abort(errAbort)
		}
	}
	for _, c := range calls {
		run.record(c)
	}
}

// lawAbortSlots takes all abort slots, repeatedly.
func lawAbortSlots(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.AbortSlots {
		r.Skipf("the lanes have no abort slots")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		slots, rounds := r.Between(1, 40), max(1, operations/200)
		c := oneLane()
		c.AbortCapacity = slots
		run := newTrial(r, k, rounds*(slots+2+k.Concurrency), c)
		for range rounds {
			if !run.takeAbortSlots(slots) || r.Failed() {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(errAbort, pool.ErrAbortSlotsExhausted)
		}
	})
}

// takeAbortSlots makes as many abortable calls as there are abort slots, and one more.
func (run *trial) takeAbortSlots(slots int) bool {
	run.r.T.Helper()
	const stuck = "abort slots were not released"
	if !run.await(stuck, func() {
		c := run.acquire("await")
		c.abort(errAbort) // before it starts, or later
		run.record(c)
	}) {
		return false
	}
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	var calls []*callRecord
	if !run.await(stuck, func() {
		for range slots {
			calls = append(calls, run.acquire("poll-once"))
		}
	}) {
		return false
	}
	more := run.start(context.Background(), "poll-once", nil)
	calls = append(append(calls, busy...), more)
	for _, c := range calls[:slots] {
		if run.r.Rand.IntN(3) == 0 {
			c.abort(errAbort)
		}
	}
	close(gate)
	if !run.awaitOutcomes("calls have not ended", calls...) {
		return false
	}
	run.wantEnd("an abortable call without a free abort slot", more, pool.ErrAbortSlotsExhausted, false)
	return true
}

// acquire makes a call of an abortable task as soon as an abort slot is free: a slot
// may be released shortly after its call has ended.
func (run *trial) acquire(task string) *callRecord {
	id, c := run.add(task, nil)
	for {
		c.future = run.l.Go(context.Background(), task, id)
		select {
		case <-c.future.Done():
			if _, err := c.future.Wait(context.Background()); errors.Is(err, pool.ErrAbortSlotsExhausted) && !run.r.IsExpired() {
				runtime.Gosched()
				continue
			}
		default:
		}
		return c
	}
}

// The deadlines of the laws: the first that is tried, and the last.
const (
	firstDeadline = 5 * time.Millisecond
	lastDeadline  = 20 * time.Second // chosen: far longer than a call needs to start
)

// lawDeadline has deadlines pass while calls wait, and while handlers run.
func lawDeadline(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(int) {
		r.T.Helper()
		run := newTrial(r, k, 64, oneLane())
		if run.deadlineWaiting() && run.deadlineRunning() && run.shutdown() {
			run.checkOwn(context.DeadlineExceeded)
		}
		for limit := firstDeadline; !r.Failed() && !deadlineOfLanes(r, k, limit); limit *= 2 {
			if limit > lastDeadline {
				r.Failf("a call does not start in %v", limit)
			}
		}
	})
}

// deadlineWaiting has the deadlines of waiting calls pass.
func (run *trial) deadlineWaiting() bool {
	run.r.T.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), firstDeadline)
	defer cancel()
	calls := []*callRecord{run.start(ctx, "call", nil), run.start(ctx, "poll-once", nil)}
	ok := run.await("calls whose deadlines have passed have not ended", func() {
		if run.k.Concurrency > 0 { // otherwise the caller would run the call
			calls = append(calls, run.call(ctx, "call"))
		}
		for _, c := range calls {
			c.aborted.Store(true)
			run.record(c)
		}
	})
	if !ok {
		return false
	}
	for _, c := range calls {
		run.wantEnd("a waiting call whose deadline has passed", c, context.DeadlineExceeded, false)
	}
	close(gate)
	return run.awaitOutcomes("calls have not ended", busy...)
}

// deadlineRunning has the deadline of a call pass while its handler does not return.
func (run *trial) deadlineRunning() bool {
	run.r.T.Helper()
	for limit := firstDeadline; limit < lastDeadline; limit *= 2 {
		gate := make(chan struct{})
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		c := run.start(ctx, "call", gate)
		ok := run.awaitOutcomes("a running call whose deadline has passed has not ended", c)
		cancel()
		close(gate)
		if !ok {
			return false
		}
		if c.entered.Load() > 0 {
			run.wantEnd("a running call whose deadline has passed", c, context.DeadlineExceeded, true)
			return true
		}
	}
	run.r.Failf("a call does not start in %v", lastDeadline)
	return false
}

// deadlineOfLanes has the deadlines pass that lanes give to all calls. It returns false
// when limit was too short for the calls to start.
func deadlineOfLanes(r *harness.Run, k Kind, limit time.Duration) bool {
	r.T.Helper()
	c := oneLane()
	c.Timeout = limit
	run := newTrial(r, k, 2+k.Concurrency, c)
	gate := make(chan struct{})
	var busy []*callRecord
	var waits *callRecord
	ok := run.await("calls over their timeout have not ended", func() {
		for range max(1, k.Concurrency) {
			c := run.start(context.Background(), "call", gate)
			busy = append(busy, c)
			select {
			case <-c.held:
			case <-c.future.Done():
			case <-r.Expired():
			}
		}
		waits = run.start(context.Background(), "call", nil)
		for _, c := range append(busy, waits) {
			run.record(c)
		}
	})
	close(gate)
	if !ok || !run.shutdown() {
		return true
	}
	for _, c := range busy {
		if c.entered.Load() == 0 || errors.Is(c.err, pool.ErrNotStarted) {
			return false
		}
		run.wantEnd("a running call over its timeout", c, context.DeadlineExceeded, true)
	}
	run.wantEnd("a waiting call over its timeout", waits, context.DeadlineExceeded, false)
	return true
}
