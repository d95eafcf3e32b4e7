//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelInline: calls of the inline lane, one that its caller runs and one that waits for a
// goroutine, while two run what waits, or one closes the pool. A caller that has its call accepted
// before Close may enter the handler after it.
func TestModelInline(t *testing.T) {
	c := pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}}
	in(t, "pool-inline", 1, c, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("future", func() {
			_, await := w.start(background, w.remote, b)
			w.p.RunInline(2) // the other call may be before it
			await()
		})
		w.m.Go("runner", func() { w.p.RunInline(1) })
	})
	in(t, "pool-inline-close", 1, c, func(w *world) {
		w.only(nil, pool.ErrClosed)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("future", func() {
			_, await := w.start(background, w.remote, b)
			w.p.RunInline(2) // the other call may be before it
			await()
		})
		w.m.Go("closer", func() { _ = w.p.Close() })
	})
}

// TestModelInlineWait: a Wait for a call of the inline lane returns when another goroutine
// runs that call, also when the call settles between the first look of Wait and its park.
func TestModelInlineWait(t *testing.T) {
	in(t, "pool-inline-wait", 1, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}}, func(w *world) {
		w.only(nil)
		a := w.step("a", nil)
		w.m.Go("waiter", func() {
			future, _ := w.start(background, w.direct, a)
			w.ended(a)(future.Wait(background))
		})
		w.m.Go("runner", func() { w.p.RunInline(1) })
	})
}

// TestModelInlinePause: when the pool is paused and has no call, none starts before Resume.
func TestModelInlinePause(t *testing.T) {
	in(t, "pool-inline-pause", 1, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}}, func(w *world) {
		w.only(nil)
		var quiet note
		a := w.step("a", func(context.Context) {
			if quiet.add(0) != 0 {
				w.m.Fatalf("a call has started during the pause")
			}
		})
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("pauser", func() {
			w.p.Pause()
			if w.p.Pending() == 0 {
				quiet.add(1)
				interleave.Yield()
				quiet.add(-1)
			}
			w.p.Resume()
		})
	})
}

// TestModelPing: a ping beside a call, and a Close at any step of it. Each ping is answered
// or refused.
func TestModelPing(t *testing.T) {
	in(t, "pool-ping", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("pinger", func() {
			if err := w.p.Ping(background, 0); err != nil {
				w.m.Fatalf("Ping = %v", err)
			}
		})
	})
	in(t, "pool-ping-close", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.m.Go("pinger", func() { _ = w.p.Ping(background, 0) })
		w.m.Go("closer", w.close)
	})
}
