package stress

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/pool"
)

// laneBounded draws how many calls may wait, and how many a lane may take beside them
// at most: those that it has looked at already have no slot, and have not started.
func laneBounded(r *lawRun, k LaneKind, o pool.Overflow) (c pool.Config, least, most int) {
	backlog := r.between(1, 40)
	return pool.Config{Lanes: 1, Backlog: backlog, Overflow: o}, k.Slots + backlog, 4*k.Slots + backlog
}

// laneSlots fills a lane whose handlers are busy, again and again.
func laneSlots(r *lawRun, k LaneKind) {
	r.t.Helper()
	if k.Slots == 0 {
		r.skipf("the lane has no bound")
		return
	}
	r.shapes(func(operations int) {
		r.t.Helper()
		c, least, most := laneBounded(r, k, pool.Fail)
		rounds := max(2, operations/most)
		run := newLaneRun(r, k, rounds*(most+1+k.Concurrency), c)
		for range rounds {
			if !run.fillSlots(least, most) || r.failed {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn(pool.ErrBacklogFull)
		}
	})
}

// fillSlots makes calls of a busy lane until one is refused.
func (run *laneRun) fillSlots(least, most int) bool {
	run.r.t.Helper()
	calls, gate := run.occupy()
	if calls == nil {
		return false
	}
	var refused *laneCall
	n := 0
	if !run.ends("a full lane makes its caller wait", func() {
		for ; n <= most && refused == nil; n++ {
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
	if !run.settles("calls have not ended", calls...) {
		return false
	}
	if refused == nil {
		run.r.failf("a busy lane took %d calls, and should take %d", n, least)
		return false
	}
	run.look(refused)
	if took := n - 1; took < least {
		run.r.failf("a busy lane took %d calls, and should take %d", took, least)
	}
	run.wantEnd("a call of a full lane", refused, pool.ErrBacklogFull, false)
	return true
}

// lanePolicies makes more calls of a busy lane than there is room for.
func lanePolicies(r *lawRun, k LaneKind) {
	r.t.Helper()
	if k.Slots == 0 {
		r.skipf("the lane has no bound")
		return
	}
	r.shapes(func(int) {
		r.t.Helper()
		for _, policy := range []func(*lawRun, LaneKind){laneBlocks, laneCallerRuns, laneDrops} {
			if policy(r, k); r.failed || r.seen.Load() != nil {
				return
			}
		}
	})
}

// laneBlocks makes callers wait for room.
func laneBlocks(r *lawRun, k LaneKind) {
	r.t.Helper()
	c, least, most := laneBounded(r, k, pool.Block)
	run := newLaneRun(r, k, 2*most+k.Concurrency+1, c)
	calls, gate := run.occupy()
	if calls == nil {
		return
	}
	var made atomic.Int64
	caller := lawStart(func() {
		for range 2 * most {
			calls = append(calls, run.start(context.Background(), "call", nil))
			made.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var late *laneCall
	if !run.ends("a caller waits while there is room, or after the end of its context", func() {
		for made.Load() < int64(least) && !r.over() {
			runtime.Gosched()
		}
		lawStands(&made) // a caller that does not wait goes on
		cancel()
		late = run.call(ctx, "call")
	}) {
		return
	}
	if n := made.Load(); n > int64(most) {
		r.failf("%d calls of a busy lane did not wait for room, where there is room for %d", n, least)
	}
	run.wantEnd("a call whose context ended while it waited for room", late, context.Canceled, false)
	close(gate)
	if run.ends("callers that waited for room have not gone on", func() { <-caller }) && run.settles("calls have not ended", calls...) && run.shutdown() {
		run.checkOwn(context.Canceled)
	}
}

// laneCallerRuns makes callers run what there is no room for.
func laneCallerRuns(r *lawRun, k LaneKind) {
	r.t.Helper()
	c, least, most := laneBounded(r, k, pool.CallerRuns)
	run := newLaneRun(r, k, 2*most+k.Concurrency, c)
	calls, gate := run.occupy()
	if calls == nil {
		return
	}
	before := run.turns.Load()
	if !run.ends("a full lane makes its caller wait", func() {
		for range 2 * most {
			calls = append(calls, run.start(context.Background(), "call", nil))
		}
	}) {
		return
	}
	if n := int(run.turns.Load() - before); n < most || n > 2*most-least {
		r.failf("of %d calls of a busy lane their callers ran %d, where there is room for %d", 2*most, n, least)
	}
	close(gate)
	if run.settles("calls have not ended", calls...) && run.shutdown() {
		run.checkOwn()
	}
}

// laneDrops makes room by dropping what has waited longest.
func laneDrops(r *lawRun, k LaneKind) {
	r.t.Helper()
	c, least, most := laneBounded(r, k, pool.DropOldest)
	run := newLaneRun(r, k, 2*most+k.Concurrency, c)
	busy, gate := run.occupy()
	if busy == nil {
		return
	}
	var calls []*laneCall
	if !run.ends("a full lane makes its caller wait", func() {
		for range 2 * most {
			calls = append(calls, run.start(context.Background(), "call", nil))
		}
	}) {
		return
	}
	close(gate)
	if !run.settles("calls have not ended", append(busy, calls...)...) || !run.shutdown() {
		return
	}
	dropped := 0
	for i, c := range calls {
		if !errors.Is(c.err, pool.ErrDropped) {
			continue
		}
		dropped++
		run.wantEnd("a dropped call", c, pool.ErrDropped, false)
		if i >= len(calls)-run.backlog(least) {
			r.failf("the call before the last %d was dropped, where %d may wait", len(calls)-1-i, run.backlog(least))
		}
	}
	if dropped < most || dropped > 2*most-least {
		r.failf("of %d calls of a busy lane %d were dropped, where there is room for %d", 2*most, dropped, least)
	}
	run.checkOwn(pool.ErrDropped)
}

// backlog returns how many of those that a busy lane takes are in its backlog.
func (run *laneRun) backlog(least int) int { return least - run.k.Slots }

// lanePause makes calls during pauses.
func lanePause(r *lawRun, k LaneKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		const burst = 40
		rounds := max(1, operations/(2*burst))
		run := newLaneRun(r, k, rounds*(2*burst+k.Concurrency+1), oneLane())
		r.shape += fmt.Sprintf(", %d pauses", rounds)
		for range rounds {
			if !run.pause(burst) || r.failed {
				return
			}
		}
		if run.shutdown() {
			run.checkOwn()
		}
	})
}

// pause makes calls before a pause and while it lasts, some of which their callers wait
// for. What is in its handler when the pause begins ends.
func (run *laneRun) pause(burst int) bool {
	run.r.t.Helper()
	busy, gate := run.occupy()
	if busy == nil {
		return false
	}
	var before []*laneCall
	for range run.r.between(0, burst) {
		before = append(before, run.start(context.Background(), "call", nil))
	}
	run.l.Pause()
	var during []*laneCall
	for range run.r.between(1, burst) {
		during = append(during, run.start(context.Background(), "call", nil))
	}
	var last *laneCall
	waits := lawStart(func() { last = run.call(context.Background(), "call") })
	close(gate)
	if !run.settles("handlers have not ended in a pause", busy...) {
		return false
	}
	for range 100 {
		runtime.Gosched() // what starts now starts too early
	}
	turns := run.turns.Load()
	run.l.Resume()
	if !run.ends("a caller waits after a pause", func() { <-waits }) || !run.settles("calls have not ended after a pause", append(before, during...)...) {
		return false
	}
	for i, c := range append(during, last) {
		if c.turn.Load() <= turns {
			run.r.failf("call %d of %d that were made during a pause started before its end", i, len(during)+1)
		}
	}
	if run.k.Ordered {
		run.inOrder(append(before, during...))
	}
	return true
}
