//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelInlinePump: a call that is queued in the inline lane behind another one, which
// has ended, is run by its waiter, whatever a pump takes out.
func TestModelInlinePump(t *testing.T) {
	draw(t, "pool-inline-pump", many, 1, inlineOnly(), func(w *world) {
		w.only(nil, errGone)
		open, wait := latch()
		began, hasBegun := latch()
		stands := w.step("stands", func(context.Context) { began(); wait() })
		ended, last := w.step("ended", nil), w.step("last", func(context.Context) { open() })
		w.m.Go("stands", func() { w.call(background, w.direct, stands) })
		w.m.Go("waiter", func() { hasBegun(); _ = w.p.Wait(background) })
		w.m.Go("maker", func() {
			future, await := w.start(background, w.remote, ended)
			future.End(errGone)
			await()
			_, await = w.start(background, w.remote, last)
			await()
		})
		w.m.Go("pump", func() { w.p.RunInline(1) })
	})
}

// TestModelInlineClosePump: Close ends each queued call of the inline lane at any step of a
// pump.
func TestModelInlineClosePump(t *testing.T) {
	draw(t, "pool-inline-close-pump", many, 1, inlineOnly(), func(w *world) {
		made, wait := latch()
		var futures [3]*pool.Future[string]
		w.m.Go("pump", func() {
			wait()
			w.p.RunInline(1)
		})
		w.m.Go("closer", func() {
			for i := range futures {
				futures[i] = w.remote.Go(background, &step{name: "queued"})
			}
			made()
			_ = w.p.Close()
		})
		w.m.Final(func() {
			for i, f := range futures {
				if !f.Settled() {
					w.m.Fatalf("the pool is closed, and call %d has not ended", i)
				}
			}
		})
	})
}

// TestModelInlinePausePump: a call of the inline lane that is made during a pause is not
// started by a pump that has begun before it.
func TestModelInlinePausePump(t *testing.T) {
	draw(t, "pool-inline-pause-pump", many, 1, inlineOnly(), func(w *world) {
		w.only(nil)
		var paused note
		a := w.step("a", func(context.Context) {
			if paused.add(0) != 0 {
				w.m.Fatalf("a call that was made during the pause has started")
			}
		})
		w.m.Go("pump", func() { w.p.RunInline(1) })
		w.m.Go("pauser", func() {
			w.p.Pause()
			paused.add(1)
			_, await := w.start(background, w.remote, a)
			paused.add(-1)
			w.p.Resume()
			w.p.RunInline(1)
			await()
		})
	})
}

// TestModelDiscardRelease: a Discard at any step of the Release of its lease ends no call
// that is made afterwards.
func TestModelDiscardRelease(t *testing.T) {
	in(t, "pool-discard-release", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrAllLeased) // the latter while Discard is at it
		var l *pool.Lease
		got, wait := latch()
		a := w.step("a", nil)
		w.m.Go("discarder", func() {
			wait()
			l.Discard(errGone)
		})
		w.m.Go("holder", func() {
			var err error
			if l, err = w.p.Acquire(background); err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			got()
			interleave.Yield() // let the other one begin
			l.Release()
			w.call(background, w.remote, a)
		})
	})
}

// TestModelCallOnRelease: a call through a lease, at any step of its Release, never runs
// while the next one has the lane.
func TestModelCallOnRelease(t *testing.T) {
	in(t, "pool-call-on-release", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrLeaseOver)
		var l *pool.Lease
		var leased note
		got, wait := latch()
		a := w.step("a", func(context.Context) {
			if leased.add(0) != 0 {
				w.m.Fatalf("a call through a lease that is over runs on the lane of another one")
			}
		})
		w.m.Go("caller", func() {
			wait()
			w.ended(a)(pool.CallOn(background, l, w.direct, a))
		})
		w.m.Go("holder", func() {
			var err error
			if l, err = w.p.Acquire(background); err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			got()
			interleave.Yield() // let the other one begin
			l.Release()
			other, err := w.p.Acquire(background)
			if err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			leased.add(1)
			w.p.Lanes()
			leased.add(-1)
			other.Release()
		})
	})
}
