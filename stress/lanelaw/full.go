package lanelaw

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/stress/internal/harness"
)

// boundedConfig generates the number of calls that may wait for a busy lane.
func boundedConfig(r *harness.Run, o pool.Overflow) (c pool.Config, backlog int) {
	backlog = r.Between(1, 60)
	return pool.Config{Lanes: 1, Backlog: backlog, Overflow: o}, backlog
}

// lawBacklog fills the backlog of a busy lane, repeatedly.
func lawBacklog(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.Bounded {
		r.Skipf("the lane has no bound")
		return
	}
	r.EachShape(func(operations int) {
		r.T.Helper()
		c, backlog := boundedConfig(r, pool.Fail)
		rounds := max(2, operations/backlog)
		run := newTrial(r, k, rounds*(backlog+1+k.Concurrency), c)
		for range rounds {
			if !run.fillBacklog(backlog) || r.Failed() {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(pool.ErrBacklogFull)
		}
	})
}

// fillBacklog makes calls of a busy lane until the lane refuses one.
func (run *trial) fillBacklog(backlog int) bool {
	run.r.T.Helper()
	calls, gate := run.occupy()
	if calls == nil {
		return false
	}
	var refused *callRecord
	n := 0
	if !run.await("a full lane makes its caller wait", func() {
		for ; n <= backlog && refused == nil; n++ {
			c := run.start(context.Background(), "call", nil)
			select {
			case <-c.future.Done():
				refused = c
			default:
				calls = append(calls, c)
			}
		}
	}) {
		return false
	}
	close(gate)
	if !run.awaitOutcomes("calls have not ended", calls...) {
		return false
	}
	if refused == nil {
		run.r.Failf("a busy lane accepted %d calls, want %d", n, backlog)
		return false
	}
	run.record(refused)
	if accepted := n - 1; accepted < backlog {
		run.r.Failf("a busy lane accepted %d calls, want %d", accepted, backlog)
	}
	run.wantEnd("a call of a full lane", refused, pool.ErrBacklogFull, false)
	return true
}

// lawPolicies makes more calls of a busy lane than the lane accepts, with each overflow
// policy.
func lawPolicies(r *harness.Run, k Kind) {
	r.T.Helper()
	if !k.Bounded {
		r.Skipf("the lane has no bound")
		return
	}
	r.EachShape(func(int) {
		r.T.Helper()
		policies := []func(*harness.Run, Kind){policyBlock, policyDropOldest, policyCallerRuns}
		if k.NoCallerRuns {
			policies = policies[:2]
		}
		for _, policy := range policies {
			if policy(r, k); r.Failed() || r.Recorded() {
				return
			}
		}
	})
}

// policyBlock checks that callers of a full lane wait.
func policyBlock(r *harness.Run, k Kind) {
	r.T.Helper()
	c, backlog := boundedConfig(r, pool.Block)
	run := newTrial(r, k, 2*backlog+k.Concurrency+1, c)
	calls, gate := run.occupy()
	if calls == nil {
		return
	}
	var made atomic.Int64
	caller := harness.Start(func() {
		for range 2 * backlog {
			calls = append(calls, run.start(context.Background(), "call", nil))
			made.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var late *callRecord
	if !run.await("a caller waits although the lane is not full or its context has ended", func() {
		for made.Load() < int64(backlog) && !r.IsExpired() {
			runtime.Gosched()
		}
		harness.AwaitStable(&made) // a caller that does not wait makes more calls
		cancel()
		late = run.call(ctx, "call")
	}) {
		return
	}
	if n := made.Load(); n > int64(backlog) {
		r.Failf("%d callers of a busy lane did not wait, which accepts %d calls", n, backlog)
	}
	run.wantEnd("a call whose context ended while its caller waited", late, context.Canceled, false)
	close(gate)
	if run.await("callers that waited have not continued", func() { <-caller }) && run.awaitOutcomes("calls have not ended", calls...) && run.shutdown() {
		run.checkOwn(context.Canceled)
	}
}

// policyCallerRuns checks that callers of a full lane run their calls.
func policyCallerRuns(r *harness.Run, k Kind) {
	r.T.Helper()
	c, backlog := boundedConfig(r, pool.CallerRuns)
	run := newTrial(r, k, 2*backlog+k.Concurrency, c)
	calls, gate := run.occupy()
	if calls == nil {
		return
	}
	before := run.entered.Load()
	if !run.await("a full lane makes its caller wait", func() {
		for range 2 * backlog {
			calls = append(calls, run.start(context.Background(), "call", nil))
		}
	}) {
		return
	}
	if n := int(run.entered.Load() - before); n != backlog {
		r.Failf("of %d calls of a busy lane their callers ran %d; the lane accepts %d", 2*backlog, n, backlog)
	}
	close(gate)
	if run.awaitOutcomes("calls have not ended", calls...) && run.shutdown() {
		run.checkOwn()
	}
}

// policyDropOldest checks that a full lane drops the calls that have waited longest.
func policyDropOldest(r *harness.Run, k Kind) {
	r.T.Helper()
	c, backlog := boundedConfig(r, pool.DropOldest)
	run := newTrial(r, k, 2*backlog+k.Concurrency, c)
	busy, gate := run.occupy()
	if busy == nil {
		return
	}
	var calls []*callRecord
	if !run.await("a full lane makes its caller wait", func() {
		for range 2 * backlog {
			calls = append(calls, run.start(context.Background(), "call", nil))
		}
	}) {
		return
	}
	close(gate)
	if !run.awaitOutcomes("calls have not ended", append(busy, calls...)...) || !run.shutdown() {
		return
	}
	dropped := 0
	for i, c := range calls {
		if !errors.Is(c.err, pool.ErrDropped) {
			continue
		}
		dropped++
		run.wantEnd("a dropped call", c, pool.ErrDropped, false)
		if i >= len(calls)-backlog {
			r.Failf("the call before the last %d was dropped, and %d may wait", len(calls)-1-i, backlog)
		}
	}
	if dropped != backlog {
		r.Failf("of %d calls of a busy lane %d were dropped; the lane accepts %d", 2*backlog, dropped, backlog)
	}
	run.checkOwn(pool.ErrDropped)
}

// lawPause makes calls during pauses.
func lawPause(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		const burst = 40
		rounds := max(1, operations/(2*burst))
		run := newTrial(r, k, rounds*(2*burst+k.Concurrency+1), oneLane())
		r.Shape += fmt.Sprintf(", %d pauses", rounds)
		for range rounds {
			if !run.pause(burst) || r.Failed() {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn()
		}
	})
}

// pause makes calls before and during a pause, and waits for some of them. The handlers
// that run when the pause begins have to return.
func (run *trial) pause(burst int) bool {
	run.r.T.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	var before []*callRecord
	for range run.r.Between(0, burst) {
		before = append(before, run.start(context.Background(), "call", nil))
	}
	run.l.Pause()
	var during []*callRecord
	for range run.r.Between(1, burst) {
		during = append(during, run.start(context.Background(), "call", nil))
	}
	var last *callRecord
	waits := harness.Start(func() { last = run.call(context.Background(), "call") })
	close(gate)
	if !run.awaitOutcomes("handlers have not ended in a pause", busy...) {
		return false
	}
	for range 100 {
		runtime.Gosched() // a call that starts here starts too early
	}
	entered := run.entered.Load()
	run.l.Resume()
	if !run.await("a caller still waits after a pause", func() { <-waits }) || !run.awaitOutcomes("calls have not ended after a pause", append(before, during...)...) {
		return false
	}
	for i, c := range append(during, last) {
		if c.position.Load() <= entered {
			run.r.Failf("call %d of %d that were made during a pause started before its end", i, len(during)+1)
		}
	}
	if run.k.Ordered {
		run.inOrder(append(before, during...))
	}
	return true
}
