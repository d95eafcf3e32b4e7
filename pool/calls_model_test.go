//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestModelTwoCallers runs two callers and the drain. Both calls run and no call is stranded,
// whichever goroutine runs them. E2 of lane.go.
func TestModelTwoCallers(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b func(w *world) *pool.Func[*step, string]
	}{
		{"pool-two-remote", remote, remote},
		{"pool-direct-and-remote", direct, remote},
		{"pool-two-direct", direct, direct},
	} {
		in(t, tc.name, 1, pool.Config{Lanes: 1}, func(w *world) {
			w.only(nil)
			a, b := w.step("a", nil), w.step("b", nil)
			w.m.Go("one", func() { w.call(background, tc.a(w), a) })
			w.m.Go("other", func() { w.call(background, tc.b(w), b) })
		})
	}
}

func direct(w *world) *pool.Func[*step, string] { return w.direct }
func remote(w *world) *pool.Func[*step, string] { return w.remote }

// TestModelDirectHandsOn has a caller that runs its own call and has the permit of the lane.
// Calls that others publish in between run after it and in their order.
func TestModelDirectHandsOn(t *testing.T) {
	in(t, "pool-direct-hands-on", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
		w.m.Go("direct", func() { w.call(background, w.direct, a) })
		w.m.Go("futures", func() {
			_, first := w.start(background, w.remote, b)
			_, second := w.start(background, w.remote, c)
			first()
			second()
		})
		w.inOrder(b, c)
	})
}

// TestModelDirectInOrder checks that a caller that could run its call does not overtake its own
// earlier one. The earlier call has come while the pool was paused.
func TestModelDirectInOrder(t *testing.T) {
	in(t, "pool-direct-in-order", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		w.p.Pause()
		a, b := w.step("a", nil), w.step("b", nil)
		open, wait := latch()
		w.m.Go("caller", func() {
			_, await := w.start(background, w.remote, a)
			open()
			w.call(background, w.direct, b)
			await()
		})
		w.m.Go("resumer", func() {
			wait()
			w.p.Resume()
		})
		w.inOrder(a, b)
	})
}

// TestModelOneAtATime checks that a lane runs one call at a time.
func TestModelOneAtATime(t *testing.T) {
	draw(t, "pool-one-at-a-time", many, 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		var running note
		alone := func(context.Context) {
			if n := running.add(1); n != 1 {
				w.m.Fatalf("%d calls run at once", n)
			}
			w.p.Lanes() // some steps
			running.add(-1)
		}
		a, b := w.step("a", alone), w.step("b", alone)
		w.m.Go("direct", func() { w.call(background, w.direct, a) })
		w.m.Go("remote", func() { w.call(background, w.remote, b) })
	})
}

// TestModelLinger has a drain that lingers while goroutines take the pick of its lane. They
// take it by a call that a worker runs, by one that its caller runs, and by Discard. Each call
// ends.
func TestModelLinger(t *testing.T) {
	one := pool.Config{Lanes: 1}
	again := func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			w.call(background, w.remote, a) // its end wakes the caller, so the drain lingers
			w.call(background, w.remote, b)
		})
	}
	in(t, "pool-linger", 2, one, again)
	for name, f := range map[string]func(w *world) *pool.Func[*step, string]{
		"pool-linger-remote": remote,
		"pool-linger-direct": direct,
	} {
		draw(t, name, many, 1, one, func(w *world) {
			again(w)
			c := w.step("c", nil)
			w.m.Go("other", func() { w.call(background, f(w), c) })
		})
	}
	draw(t, "pool-linger-both", many, 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		enter, entered := latch()
		leave, left := latch()
		a := w.step("a", func(context.Context) { enter(); left() })
		b := w.step("b", func(context.Context) { entered(); leave() })
		end, ended := latch()
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			end()
		})
		w.m.Go("other", func() {
			w.call(background, w.remote, b)
			ended()
			if err := w.s.Shutdown(background); err != nil { // returns when both drains have
				w.m.Fatalf("Shutdown = %v", err)
			}
		})
	})
	draw(t, "pool-linger-discard", many, 1, one, func(w *world) {
		w.only(nil, pool.ErrLeaseOver, errGone)
		l := w.lease()
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			w.ended(a)(pool.CallOn(background, l, w.remote, a))
			w.ended(b)(pool.CallOn(background, l, w.remote, b))
		})
		w.m.Go("discarder", func() { l.Discard(errGone) })
	})
}
