package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
)

// trial is one set of lanes under test, with the records of its calls. It is the gate
// of the handlers.
type trial struct {
	r      *harness.Run
	k      Kind
	l      Lanes
	calls  []callRecord
	next   atomic.Int64 // calls made
	yields int          // yields of each handler

	// Handlers that were entered, that run, and the most that ran at once.
	entered, running, most atomic.Int64

	lanes int  // of a trial of leases
	load  load // of these lanes
}

// callRecord records what happened to one call.
type callRecord struct {
	task   string
	lease  *leaseRecord  // through which it is made; nil: none
	hold   chan struct{} // keeps the handler until it is closed; nil: the handler is not held
	held   chan struct{} // closed when the handler is held
	future Future        // nil for a call whose caller waited for it

	value    any // the outcome, when it was first seen
	err      error
	seen     bool
	entered  atomic.Int32
	position atomic.Int64 // of the entry among the entries of all handlers
	notified atomic.Bool  // the handler has seen the abort
	aborted  atomic.Bool  // the call may have been aborted
}

// newTrial makes lanes for at most the given number of calls.
func newTrial(r *harness.Run, k Kind, calls int, c pool.Config) *trial {
	run := &trial{r: r, k: k, calls: make([]callRecord, calls), yields: r.Rand.IntN(3)}
	r.Shape = fmt.Sprintf("%d lanes, a backlog of %d", c.Lanes, c.Backlog)
	run.l = k.New(c, run)
	return run
}

// generateConfig returns a configuration with one to three lanes and a backlog of 1, 64
// or any number of calls.
func generateConfig(r *harness.Run) pool.Config {
	return pool.Config{Lanes: r.Between(1, 3), Backlog: []int{1, 64, pool.Unlimited}[r.Rand.IntN(3)]}
}

// oneLane returns a configuration with one lane and an unlimited backlog.
func oneLane() pool.Config { return pool.Config{Lanes: 1, Backlog: pool.Unlimited} }

// Reach implements [Gate].
func (run *trial) Reach(id uint64, at HandlerPoint) bool {
	if id >= uint64(run.next.Load()) {
		run.r.Record("a handler was entered for call %d, which was not made", id)
		return false
	}
	c := &run.calls[id]
	switch at {
	case HandlerEntered:
		run.enter(id, c)
	case HandlerAborted:
		if !c.aborted.Load() {
			run.r.Record("the handler of call %d saw an abort of a call that was not aborted", id)
		}
		c.notified.Store(true)
	case HandlerReturning:
		run.running.Add(-1)
		run.enterOn(c, -1)
	}
	return !run.r.IsExpired()
}

// enter counts the entry into the handler of c, and holds the handler.
func (run *trial) enter(id uint64, c *callRecord) {
	if c.entered.Add(1) > 1 {
		run.r.Record("the handler of call %d was entered twice", id)
		return
	}
	c.position.Store(run.entered.Add(1))
	run.enterOn(c, 1)
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
		close(c.held)
		run.r.Hold(c.hold)
	}
}

// add returns a record for a call that is not made yet. hold, if not nil, keeps its
// handler until it is closed.
func (run *trial) add(task string, hold chan struct{}) (id uint64, c *callRecord) {
	id = uint64(run.next.Add(1) - 1)
	c = &run.calls[id]
	c.task = task
	if hold != nil {
		c.hold, c.held = hold, make(chan struct{})
	}
	return id, c
}

// start makes a call and returns its record.
func (run *trial) start(ctx context.Context, task string, hold chan struct{}) *callRecord {
	id, c := run.add(task, hold)
	c.future = run.l.Go(ctx, task, id)
	return c
}

// call makes a call, waits for it, and returns its record.
func (run *trial) call(ctx context.Context, task string) *callRecord {
	id, c := run.add(task, nil)
	c.value, c.err = run.l.Call(ctx, task, id)
	c.seen = true
	return c
}

// record waits for the outcome of a call and records it. It returns false when the
// deadline has passed.
func (run *trial) record(c *callRecord) bool {
	if c.seen {
		return true
	}
	select {
	case <-c.future.Done():
		c.value, c.err = c.future.Wait(context.Background())
		c.seen = true
		return true
	case <-run.r.Expired():
		return false
	}
}

// await runs functions that use the lanes, and waits for them.
func (run *trial) await(what string, fns ...func()) bool {
	run.r.T.Helper()
	return run.r.Await(harness.Start(fns...), func() string {
		return fmt.Sprintf("%s: %d calls were made, %d handlers entered; %+v", what, run.next.Load(), run.entered.Load(), run.l.Counts())
	})
}

// awaitOutcomes waits for the outcomes of calls.
func (run *trial) awaitOutcomes(what string, calls ...*callRecord) bool {
	run.r.T.Helper()
	return run.await(what, func() {
		for _, c := range calls {
			run.record(c)
		}
	})
}

// occupy makes calls that occupy a lane until the gate is closed. It returns the calls
// and the gate when the calls are in their handlers, or nil when the deadline has
// passed.
func (run *trial) occupy() ([]*callRecord, chan struct{}) {
	run.r.T.Helper()
	gate := make(chan struct{})
	var busy []*callRecord
	ok := run.await("a free lane does not start calls", func() {
		for range max(1, run.k.Concurrency) {
			c := run.start(context.Background(), "call", gate)
			busy = append(busy, c)
			run.r.Hold(c.held)
		}
	})
	if !ok {
		return nil, nil
	}
	return busy, gate
}

// shutdown shuts the lanes down and reports whether that ended.
func (run *trial) shutdown() bool {
	run.r.T.Helper()
	return run.await("Shutdown has not returned", func() {
		run.noError("Shutdown", run.l.Shutdown(context.Background()))
		run.noError("Join", run.l.Join(context.Background()))
	})
}

func (run *trial) noError(what string, err error) {
	if err != nil {
		run.r.Record("%s: %v", what, err)
	}
}

// made returns the calls made so far.
func (run *trial) made() []callRecord { return run.calls[:run.next.Load()] }

// checkOwn checks that each call has its own result, or one of the allowed errors. The
// handler of a call with a result was entered, and the handler of a call that ended as
// not started was not. No handler saw an abort of a call that was not aborted.
func (run *trial) checkOwn(allowed ...error) {
	run.r.T.Helper()
	for i := range run.made() {
		run.checkOutcome(uint64(i), allowed)
	}
}

func (run *trial) checkOutcome(id uint64, allowed []error) {
	run.r.T.Helper()
	c := &run.calls[id]
	entered := c.entered.Load()
	switch {
	case !c.seen:
		run.r.Failf("call %d of %q has no outcome", id, c.task)
	case c.err == nil && c.value != any(answerOf(id)):
		run.r.Failf("call %d of %q returned %v, which is not its own result", id, c.task, c.value)
	case c.err == nil && entered == 0:
		run.r.Failf("call %d of %q has a result, and its handler was not entered", id, c.task)
	case c.err != nil && !isOneOf(c.err, allowed):
		run.r.Failf("call %d of %q ended with %q", id, c.task, c.err)
	case errors.Is(c.err, pool.ErrNotStarted) && entered > 0:
		run.r.Failf("call %d of %q ended with %q as not started, and its handler was entered", id, c.task, c.err)
	case c.notified.Load() && !c.aborted.Load():
		run.r.Failf("the handler of call %d of %q saw an abort of a call that was not aborted", id, c.task)
	}
}

// checkOnce checks that no handler was entered twice, and that no outcome has changed
// since it was recorded.
func (run *trial) checkOnce() {
	run.r.T.Helper()
	for i := range run.made() {
		c := &run.calls[i]
		if n := c.entered.Load(); n > 1 {
			run.r.Failf("the handler of call %d was entered %d times", i, n)
		}
		if c.future == nil || !c.seen {
			continue
		}
		value, err := c.future.Wait(context.Background())
		if value != c.value || !sameError(err, c.err) {
			run.r.Failf("call %d of %q ended with %v, %v, and then with %v, %v", i, c.task, c.value, c.err, value, err)
		}
	}
}

// checkCounts checks that the lanes accepted the given number of calls, and that none
// is left.
func (run *trial) checkCounts(want int) {
	run.r.T.Helper()
	if c := run.l.Counts(); c.Accepted != uint64(want) || c.Ended != c.Accepted || c.Backlog != 0 || c.InFlight != 0 {
		run.r.Failf("%d calls were accepted and have ended; the lanes count %+v", want, c)
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

// mixed returns functions that make n calls from several goroutines, in bursts of one
// to 100 calls.
func (run *trial) mixed(n int) (fns []func()) {
	harness.Divide(0, n, run.r.Between(1, 8), func(lo, hi int) {
		rng := run.r.Split()
		fns = append(fns, func() {
			for left := hi - lo; left > 0 && !run.r.IsExpired(); {
				burst := min(left, 1+rng.IntN([]int{1, 4, 100}[rng.IntN(3)]))
				left -= burst
				run.burst(rng, burst)
			}
		})
	})
	return fns
}

// burst makes n calls and waits for their outcomes. It may make a single call with
// Call.
func (run *trial) burst(rng *rand.Rand, n int) {
	if n == 1 && rng.IntN(2) == 0 {
		run.call(context.Background(), "call")
		return
	}
	calls := make([]*callRecord, n)
	for i := range calls {
		calls[i] = run.start(context.Background(), "call", nil)
	}
	for _, c := range calls {
		run.record(c)
	}
}
