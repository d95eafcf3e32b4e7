//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// carrying returns a handler that has another thread call fn with its context. The handler
// waits for that thread with its permit and its place, or it does not wait.
func carrying(waits bool, fn func(ctx context.Context)) func(ctx context.Context) {
	return func(ctx context.Context) {
		carried := pool.Carry(ctx)
		open, wait := latch()
		interleave.Go("carrier", func() {
			fn(carried)
			open()
		})
		if waits {
			wait()
		}
	}
}

// TestModelCarryWhileDraining checks that a pool that shuts down takes a call for a handler
// that has not returned. Shutdown waits for that call. The pool takes none for a handler whose
// call has ended.
func TestModelCarryWhileDraining(t *testing.T) {
	for name, waits := range map[string]bool{"pool-carry-draining": false, "pool-carry-draining-waits": true} {
		in(t, name, 2, pool.Config{Lanes: 1}, func(w *world) {
			if waits {
				w.only(nil)
			} else {
				w.only(nil, pool.ErrPoolShutdown)
			}
			var shut note
			b := w.step("b", func(context.Context) {
				if shut.add(0) != 0 {
					w.m.Fatalf("a handler begins after Shutdown")
				}
			})
			work := carrying(waits, func(ctx context.Context) { w.call(ctx, w.remote, b) })
			a := w.step("a", func(ctx context.Context) {
				interleave.Go("closer", func() {
					if err := w.p.Shutdown(background); err != nil {
						w.m.Fatalf("Shutdown = %v", err)
					}
					shut.add(1)
				})
				work(ctx)
			})
			w.m.Go("caller", func() { w.call(background, w.remote, a) })
		})
	}
}

// TestModelCarryEndsWithTheCall checks that the name of a handler has ended when its caller has
// the outcome of the call.
func TestModelCarryEndsWithTheCall(t *testing.T) {
	in(t, "pool-carry-ends", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		var carried context.Context
		a := w.step("a", func(ctx context.Context) { carried = pool.Carry(ctx) })
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			if w.p.IsInside(carried) {
				w.m.Fatalf("the name outlives the call")
			}
		})
	})
}

// TestModelCarryReleasesThePermit has a handler that keeps its place and waits for another
// thread. That thread makes a call to the lane of the handler beside the call of another
// caller. The permit is returned once.
func TestModelCarryReleasesThePermit(t *testing.T) {
	in(t, "pool-carry-releases", 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		b, c := w.step("b", nil), w.step("c", nil)
		a := w.step("a", carrying(true, func(ctx context.Context) { w.call(ctx, w.remote, b) }))
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		w.m.Go("other", func() { w.call(background, w.remote, c) })
	})
}

// TestModelCarryBesideDiscard has a handler that waits in the same way. Another thread ends the
// calls of the lane during the wait and takes its permits away.
func TestModelCarryBesideDiscard(t *testing.T) {
	in(t, "pool-carry-discard", 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrLaneDiscarded)
		b := w.step("b", nil)
		work := carrying(true, func(ctx context.Context) { w.call(ctx, w.remote, b) })
		returned, wait := latch()
		a := w.step("a", func(ctx context.Context) {
			interleave.Go("closer", func() { w.p.EndLane(0, pool.ErrLaneDiscarded) })
			work(ctx)
			returned()
		})
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			wait()
		})
	})
}

// TestModelCarriedCallBesideALease checks that a call that names its lane for a handler of that
// lane does not begin while a lease has the lane. The handler has returned.
func TestModelCarriedCallBesideALease(t *testing.T) {
	in(t, "pool-carry-lease", 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		var leased note
		b := w.step("b", func(context.Context) {
			if leased.add(0) != 0 {
				w.m.Fatalf("a call begins in a leased lane")
			}
		})
		id := w.p.Lanes()[0].ID
		called, wait := latch()
		work := carrying(false, func(ctx context.Context) {
			w.ended(b)(pool.CallAt(ctx, id, w.remote, b))
			called()
		})
		a := w.step("a", func(ctx context.Context) {
			interleave.Go("holder", func() {
				l := w.lease()
				leased.add(1)
				interleave.Yield() // another thread may run without a preemption
				leased.add(-1)
				l.Release()
			})
			work(ctx)
		})
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			wait()
		})
	})
}
