package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
)

// laneRun is one pool of lanes in use, with the calls that it may get. It is the gate
// of their handlers.
type laneRun struct {
	r      *lawRun
	k      LaneKind
	l      Lanes
	calls  []laneCall
	next   atomic.Int64 // calls made
	yields int          // how often a handler yields the processor

	turns, running, most atomic.Int64
}

// laneCall is what happened to one call.
type laneCall struct {
	task   string
	hold   chan struct{} // holds the handler until it is closed; nil: nothing does
	here   chan struct{} // closed when the handler is held
	future LaneFuture    // nil for a call that its caller waited for

	value   any // the outcome, when it was seen the first time
	err     error
	seen    bool
	entered atomic.Int32
	turn    atomic.Int64 // when the handler was entered, counted in handlers
	told    atomic.Bool
	aborted atomic.Bool // somebody may have told the handler to stop
}

// newLaneRun makes lanes for up to so many calls.
func newLaneRun(r *lawRun, k LaneKind, calls int, c pool.Config) *laneRun {
	run := &laneRun{r: r, k: k, calls: make([]laneCall, calls), yields: r.rng.IntN(3)}
	r.shape = fmt.Sprintf("%d lanes, a backlog of %d", c.Lanes, c.Backlog)
	run.l = k.New(c, run)
	return run
}

// drawLanes returns a configuration with a few lanes and any backlog.
func drawLanes(r *lawRun) pool.Config {
	return pool.Config{Lanes: r.between(1, 3), Backlog: []int{1, 64, pool.Unlimited}[r.rng.IntN(3)]}
}

// oneLane returns a configuration with one lane that takes all there is.
func oneLane() pool.Config { return pool.Config{Lanes: 1, Backlog: pool.Unlimited} }

// Pass implements [LaneGate].
func (run *laneRun) Pass(id uint64, at LanePoint) bool {
	if id >= uint64(run.next.Load()) {
		run.r.saw("a handler was entered for call %d, which nobody made", id)
		return false
	}
	c := &run.calls[id]
	switch at {
	case LaneBegins:
		run.begins(id, c)
	case LaneTold:
		if !c.aborted.Load() {
			run.r.saw("the handler of call %d was told of an abort, and nobody had aborted it", id)
		}
		c.told.Store(true)
	case LaneReturns:
		run.running.Add(-1)
	}
	return !run.r.over()
}

// begins counts the handler of c in, and holds it.
func (run *laneRun) begins(id uint64, c *laneCall) {
	if c.entered.Add(1) > 1 {
		run.r.saw("the handler of call %d was entered twice", id)
		return
	}
	c.turn.Store(run.turns.Add(1))
	for n := run.running.Add(1); ; {
		most := run.most.Load()
		if n <= most || run.most.CompareAndSwap(most, n) {
			break
		}
	}
	for range run.yields {
		runtime.Gosched()
	}
	if c.hold != nil {
		close(c.here)
		run.r.hold(c.hold)
	}
}

// add returns a call of the task that is not made yet. hold, if not nil, holds its
// handler until it is closed.
func (run *laneRun) add(task string, hold chan struct{}) (id uint64, c *laneCall) {
	id = uint64(run.next.Add(1) - 1)
	c = &run.calls[id]
	c.task = task
	if hold != nil {
		c.hold, c.here = hold, make(chan struct{})
	}
	return id, c
}

// start makes a call, and returns it.
func (run *laneRun) start(ctx context.Context, task string, hold chan struct{}) *laneCall {
	id, c := run.add(task, hold)
	c.future = run.l.Go(ctx, task, id)
	return c
}

// call makes a call and waits for it.
func (run *laneRun) call(ctx context.Context, task string) *laneCall {
	id, c := run.add(task, nil)
	c.value, c.err = run.l.Call(ctx, task, id)
	c.seen = true
	return c
}

// look waits for the outcome of a call, and keeps it. It returns false when the
// deadline has passed.
func (run *laneRun) look(c *laneCall) bool {
	if c.seen {
		return true
	}
	select {
	case <-c.future.Done():
		c.value, c.err = c.future.Wait(context.Background())
		c.seen = true
		return true
	case <-run.r.late:
		return false
	}
}

// ends waits for what uses the lanes.
func (run *laneRun) ends(what string, fns ...func()) bool {
	run.r.t.Helper()
	return run.r.ends(lawStart(fns...), func() string {
		return fmt.Sprintf("%s: %d calls were made, %d handlers entered; %+v", what, run.next.Load(), run.turns.Load(), run.l.Counts())
	})
}

// settles waits for the outcomes of calls.
func (run *laneRun) settles(what string, calls ...*laneCall) bool {
	run.r.t.Helper()
	return run.ends(what, func() {
		for _, c := range calls {
			run.look(c)
		}
	})
}

// occupy makes calls that keep all of a lane busy until the gate is closed, and returns
// both when they are in their handlers, or nil when the deadline has passed.
func (run *laneRun) occupy() ([]*laneCall, chan struct{}) {
	run.r.t.Helper()
	gate := make(chan struct{})
	var busy []*laneCall
	ok := run.ends("a free lane does not start calls", func() {
		for range max(1, run.k.Concurrency) {
			c := run.start(context.Background(), "call", gate)
			busy = append(busy, c)
			run.r.hold(c.here)
		}
	})
	if !ok {
		return nil, nil
	}
	return busy, gate
}

// shutdown ends the lanes and reports whether it did.
func (run *laneRun) shutdown() bool {
	run.r.t.Helper()
	return run.ends("Shutdown has not ended", func() {
		run.noError("Shutdown", run.l.Shutdown(context.Background()))
		run.noError("Join", run.l.Join(context.Background()))
	})
}

func (run *laneRun) noError(what string, err error) {
	if err != nil {
		run.r.saw("%s: %v", what, err)
	}
}

// made returns the calls made so far.
func (run *laneRun) made() []laneCall { return run.calls[:run.next.Load()] }

// checkOwn checks that each call had its own result, or one of the errors allowed, and
// that the handlers were entered that had to be, and no others.
func (run *laneRun) checkOwn(allowed ...error) {
	run.r.t.Helper()
	for i := range run.made() {
		run.checkOutcome(uint64(i), allowed)
	}
}

func (run *laneRun) checkOutcome(id uint64, allowed []error) {
	run.r.t.Helper()
	c := &run.calls[id]
	entered := c.entered.Load()
	switch {
	case !c.seen:
		run.r.failf("call %d of %q has no outcome", id, c.task)
	case c.err == nil && c.value != any(laneAnswer(id)):
		run.r.failf("call %d of %q returned %v, not its own result", id, c.task, c.value)
	case c.err == nil && entered == 0:
		run.r.failf("call %d of %q has a result, and its handler was not entered", id, c.task)
	case c.err != nil && !isOneOf(c.err, allowed):
		run.r.failf("call %d of %q ended with %q", id, c.task, c.err)
	case errors.Is(c.err, pool.ErrNotStarted) && entered > 0:
		run.r.failf("call %d of %q ended with %q as not started, and its handler was entered", id, c.task, c.err)
	case c.told.Load() && !c.aborted.Load():
		run.r.failf("the handler of call %d of %q was told of an abort, and nobody had aborted it", id, c.task)
	}
}

// checkOnce checks that no handler was entered twice, that no outcome has changed
// since it was seen, and that each was counted once.
func (run *laneRun) checkOnce() {
	run.r.t.Helper()
	for i := range run.made() {
		c := &run.calls[i]
		if n := c.entered.Load(); n > 1 {
			run.r.failf("the handler of call %d was entered %d times", i, n)
		}
		if c.future == nil || !c.seen {
			continue
		}
		value, err := c.future.Wait(context.Background())
		if value != c.value || !sameError(err, c.err) {
			run.r.failf("call %d of %q ended with %v, %v, and then with %v, %v", i, c.task, c.value, c.err, value, err)
		}
	}
}

// checkCounts checks that the lanes took so many calls, and that none is left.
func (run *laneRun) checkCounts(want int) {
	run.r.t.Helper()
	if c := run.l.Counts(); c.Accepted != uint64(want) || c.Ended != c.Accepted || c.Backlog != 0 || c.InFlight != 0 {
		run.r.failf("%d calls were accepted and have ended; the lanes count %+v", want, c)
	}
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}

func isOneOf(err error, allowed []error) bool {
	for _, a := range allowed {
		if errors.Is(err, a) {
			return true
		}
	}
	return false
}

// mixed returns functions that make n calls from several goroutines: some wait for
// each, some have many under way.
func (run *laneRun) mixed(n int) (fns []func()) {
	schedEach(0, n, run.r.between(1, 8), func(lo, hi int) {
		rng := run.r.split()
		fns = append(fns, func() {
			for left := hi - lo; left > 0 && !run.r.over(); {
				burst := min(left, 1+rng.IntN([]int{1, 4, 100}[rng.IntN(3)]))
				left -= burst
				run.burst(rng, burst)
			}
		})
	})
	return fns
}

// burst makes n calls, and waits for their outcomes.
func (run *laneRun) burst(rng *rand.Rand, n int) {
	if n == 1 && rng.IntN(2) == 0 {
		run.call(context.Background(), "call")
		return
	}
	under := make([]*laneCall, n)
	for i := range under {
		under[i] = run.start(context.Background(), "call", nil)
	}
	for _, c := range under {
		run.look(c)
	}
}
