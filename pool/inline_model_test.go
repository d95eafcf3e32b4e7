//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelInline makes two calls of the inline lane. The caller of one runs it, and the other
// one waits for a goroutine. Two goroutines run calls that wait, or one closes the pool. A
// caller that has its call accepted before Close may enter the handler after it. Close ends a call that no
// goroutine runs.
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
	in(t, "pool-inline-close-go", 1, c, func(w *world) {
		w.only(pool.ErrClosed)
		a := w.step("a", nil)
		w.m.Go("caller", func() {
			_, await := w.start(background, w.remote, a)
			await()
		})
		w.m.Go("closer", func() { _ = w.p.Close() })
	})
}

// TestModelInlineWait checks that a Wait for a call of the inline lane returns when another
// goroutine runs that call. The call may settle between the first look of Wait and its park.
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

// TestModelInlinePause checks that no call starts before Resume when the pool is paused and has
// no call.
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

// TestModelInlinePump has two calls that are queued in the inline lane. A goroutine that waits for a third one
// runs the call that a pump does not take out, although the pump is held in the other one until then.
func TestModelInlinePump(t *testing.T) {
	draw(t, "pool-inline-pump", many, 1, inlineOnly(), func(w *world) {
		w.only(nil)
		open, wait := latch()
		began, hasBegun := latch()
		pumps, mayPump := latch()
		stands := w.step("stands", func(context.Context) { began(); pumps(); wait() })
		ran, hasRun := latch()
		made, hasMade := latch()
		first := w.step("first", func(context.Context) { hasRun() })
		last := w.step("last", func(context.Context) { open(); ran() })
		future, _ := w.start(background, w.direct, stands)
		w.m.Go("stands", func() { w.p.RunInline(1) })
		w.m.Go("waiter", func() {
			hasBegun()
			w.ended(stands)(future.Wait(background))
		})
		w.m.Go("maker", func() {
			_, first := w.start(background, w.remote, first)
			_, last := w.start(background, w.remote, last)
			made()
			first()
			last()
		})
		w.m.Go("pump", func() {
			mayPump()
			if w.p.RunInline(1) == 0 { // it was too early
				hasMade()
				w.p.RunInline(1)
			}
		})
	})
}

// TestModelInlineClosePump checks that Close ends each queued call of the inline lane at any
// step of a pump.
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

// TestModelInlinePausePump checks that a pump that has begun before a pause starts no call of
// the inline lane that is made during the pause.
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

// TestModelPing makes a ping beside a call, and a ping beside a Close. The call and the Close
// come at any step of the ping. A ping beside a call is answered. A ping beside a Close is
// answered or refused.
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
