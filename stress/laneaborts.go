package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// errLaneAbort is the cause of the aborts of the laws.
var errLaneAbort = errors.New("the law aborts the call")

// laneOpen is a gate that is open.
var laneOpen = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// abort ends a call, by its future.
func (c *laneCall) abort(cause error) {
	c.aborted.Store(true)
	c.future.Abort(cause)
}

// wantEnd checks that a call ended with cause, and whether it had started.
func (run *laneRun) wantEnd(what string, c *laneCall, cause error, started bool) {
	run.r.t.Helper()
	switch notStarted := errors.Is(c.err, pool.ErrNotStarted); {
	case !errors.Is(c.err, cause):
		run.r.failf("%s ended with %v, not with %q", what, c.err, cause)
	case started && notStarted:
		run.r.failf("%s ended as not started, and its handler was entered", what)
	case !started && !notStarted:
		run.r.failf("%s ended as one that may have started, and its handler was not entered", what)
	}
}

// laneAbort aborts calls one by one, each at a certain moment.
func laneAbort(r *lawRun, k LaneKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		rounds := max(1, operations/200)
		run := newLaneRun(r, k, rounds*(6+k.Concurrency), oneLane())
		for range rounds {
			if !run.abortWaiting() || !run.abortRunning("await") || k.AbortSlots && !run.abortRunning("poll") || r.failed {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(errLaneAbort, pool.ErrAborted, context.Canceled)
			run.checkOnce()
		}
	})
}

// abortWaiting aborts calls that wait behind others, one that runs without looking, and
// one that has ended.
func (run *laneRun) abortWaiting() bool {
	run.r.t.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	first, second := run.start(context.Background(), "call", nil), run.start(context.Background(), "glance", nil)
	third, last := run.start(ctx, "call", nil), run.start(context.Background(), "call", nil)
	first.abort(nil)
	second.abort(errLaneAbort)
	cancel(context.Canceled)
	busy[0].abort(errLaneAbort)
	if !run.settles("aborted calls have not ended", first, second, third, busy[0]) {
		return false
	}
	run.wantEnd("a waiting call that was aborted without a cause", first, pool.ErrAborted, false)
	run.wantEnd("a waiting call that was aborted", second, errLaneAbort, false)
	run.wantEnd("a waiting call whose context ended", third, context.Canceled, false)
	run.wantEnd("a running call that was aborted", busy[0], errLaneAbort, true)
	close(gate)
	if !run.settles("calls have not ended", append(busy, last)...) {
		return false
	}
	last.future.Abort(errLaneAbort) // too late: checkOnce
	return true
}

// abortRunning aborts a call whose handler waits for that.
func (run *laneRun) abortRunning(task string) bool {
	run.r.t.Helper()
	c := run.start(context.Background(), task, laneOpen)
	ok := run.ends("a handler was not told of its abort, in "+task, func() {
		run.r.hold(c.here)
		c.abort(errLaneAbort)
		run.look(c)
		for !c.told.Load() && !run.r.over() {
			runtime.Gosched()
		}
	})
	if ok {
		run.wantEnd("a running call that was aborted", c, errLaneAbort, true)
	}
	return ok
}

// laneAborts ends calls in all ways while they start, run and end.
func laneAborts(r *lawRun, k LaneKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newLaneRun(r, k, operations, pool.Config{Lanes: r.between(1, 3), Backlog: pool.Unlimited, AbortCapacity: r.between(64, 512)})
		var fns []func()
		schedEach(0, operations, r.between(1, 6), func(lo, hi int) {
			rng := r.split()
			fns = append(fns, func() {
				for left := hi - lo; left > 0 && !r.over(); {
					burst := min(left, 1+rng.IntN(20))
					left -= burst
					run.abortBurst(rng, burst)
				}
			})
		})
		if run.ends("calls have not ended", fns...) && run.shutdown() {
			run.checkOwn(errLaneAbort, pool.ErrAborted, context.Canceled, context.DeadlineExceeded, pool.ErrAbortSlotsExhausted)
			run.checkOnce()
		}
	})
}

// abortBurst makes n calls and ends some of them.
func (run *laneRun) abortBurst(rng *rand.Rand, n int) {
	under := make([]*laneCall, n)
	for i := range under {
		id, c := run.add([]string{"call", "glance"}[rng.IntN(2)], nil)
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
		under[i] = c
		if rng.IntN(8) == 0 {
			c.value, c.err = run.l.Call(ctx, c.task, id)
			c.seen = true
			continue
		}
		c.future = run.l.Go(ctx, c.task, id)
		switch rng.IntN(8) {
		case 0:
			c.abort(errLaneAbort)
		case 1:
			c.abort(nil)
		case 2:
			cancel()
		}
	}
	for _, c := range under {
		if c.future != nil && rng.IntN(8) == 0 {
			c.abort(errLaneAbort)
		}
	}
	for _, c := range under {
		run.look(c)
	}
}

// laneAbortSlots takes all slots for aborts, again and again.
func laneAbortSlots(r *lawRun, k LaneKind) {
	r.t.Helper()
	if !k.AbortSlots {
		r.skipf("there are no slots for aborts")
		return
	}
	r.shapes(func(operations int) {
		r.t.Helper()
		slots, rounds := r.between(1, 40), max(1, operations/200)
		c := oneLane()
		c.AbortCapacity = slots
		run := newLaneRun(r, k, rounds*(slots+2+k.Concurrency), c)
		for range rounds {
			if !run.takeAbortSlots(slots) || r.failed {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(errLaneAbort, pool.ErrAbortSlotsExhausted)
		}
	})
}

// takeAbortSlots has as many abortable calls under way as there are slots, and tries
// one more.
func (run *laneRun) takeAbortSlots(slots int) bool {
	run.r.t.Helper()
	const stuck = "slots for aborts have not come back"
	if !run.ends(stuck, func() {
		c := run.acquire("await")
		c.abort(errLaneAbort) // before it starts, or later
		run.look(c)
	}) {
		return false
	}
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	var calls []*laneCall
	if !run.ends(stuck, func() {
		for range slots {
			calls = append(calls, run.acquire("glance"))
		}
	}) {
		return false
	}
	more := run.start(context.Background(), "glance", nil)
	calls = append(append(calls, busy...), more)
	for _, c := range calls[:slots] {
		if run.r.rng.IntN(3) == 0 {
			c.abort(errLaneAbort)
		}
	}
	close(gate)
	if !run.settles("calls have not ended", calls...) {
		return false
	}
	run.wantEnd("one abortable call more than there are slots", more, pool.ErrAbortSlotsExhausted, false)
	return true
}

// acquire makes a call of an abortable task, as soon as there is a slot for it: a
// slot comes back a little after its call has ended.
func (run *laneRun) acquire(task string) *laneCall {
	id, c := run.add(task, nil)
	for {
		c.future = run.l.Go(context.Background(), task, id)
		select {
		case <-c.future.Done():
			if _, err := c.future.Wait(context.Background()); errors.Is(err, pool.ErrAbortSlotsExhausted) && !run.r.over() {
				runtime.Gosched()
				continue
			}
		default:
		}
		return c
	}
}

// The times of the deadlines of the laws.
const (
	laneSoon = 5 * time.Millisecond
	laneLate = 20 * time.Second // so slow is no machine
)

// laneDeadline lets deadlines pass in the queue, and in handlers.
func laneDeadline(r *lawRun, k LaneKind) {
	r.t.Helper()
	r.shapes(func(int) {
		r.t.Helper()
		run := newLaneRun(r, k, 64, oneLane())
		if run.deadlineWaiting() && run.deadlineRunning() && run.shutdown() {
			run.checkOwn(context.DeadlineExceeded)
		}
		for limit := laneSoon; !r.failed && !deadlineOfLanes(r, k, limit); limit *= 2 {
			if limit > laneLate {
				r.failf("a call does not start in %v", limit)
			}
		}
	})
}

// deadlineWaiting lets the deadlines of calls pass that wait behind others.
func (run *laneRun) deadlineWaiting() bool {
	run.r.t.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), laneSoon)
	defer cancel()
	calls := []*laneCall{run.start(ctx, "call", nil), run.start(ctx, "glance", nil)}
	ok := run.ends("calls whose deadlines have passed have not ended", func() {
		if run.k.Concurrency > 0 { // or the caller would run it
			calls = append(calls, run.call(ctx, "call"))
		}
		for _, c := range calls {
			c.aborted.Store(true)
			run.look(c)
		}
	})
	if !ok {
		return false
	}
	for _, c := range calls {
		run.wantEnd("a waiting call whose deadline has passed", c, context.DeadlineExceeded, false)
	}
	close(gate)
	return run.settles("calls have not ended", busy...)
}

// deadlineRunning lets the deadline of a call pass whose handler does not return.
func (run *laneRun) deadlineRunning() bool {
	run.r.t.Helper()
	for limit := laneSoon; limit < laneLate; limit *= 2 {
		gate := make(chan struct{})
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		c := run.start(ctx, "call", gate)
		ok := run.settles("a running call whose deadline has passed has not ended", c)
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
	run.r.failf("a call does not start in %v", laneLate)
	return false
}

// deadlineOfLanes lets the deadlines pass that lanes give to all calls. It returns
// false when limit was too short for calls to start.
func deadlineOfLanes(r *lawRun, k LaneKind, limit time.Duration) bool {
	r.t.Helper()
	c := oneLane()
	c.Timeout = limit
	run := newLaneRun(r, k, 2+k.Concurrency, c)
	gate := make(chan struct{})
	var busy []*laneCall
	var waits *laneCall
	ok := run.ends("calls whose time is over have not ended", func() {
		for range max(1, k.Concurrency) {
			c := run.start(context.Background(), "call", gate)
			busy = append(busy, c)
			select {
			case <-c.here:
			case <-c.future.Done():
			case <-r.late:
			}
		}
		waits = run.start(context.Background(), "call", nil)
		for _, c := range append(busy, waits) {
			run.look(c)
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
		run.wantEnd("a running call whose time is over", c, context.DeadlineExceeded, true)
	}
	run.wantEnd("a waiting call whose time is over", waits, context.DeadlineExceeded, false)
	return true
}
