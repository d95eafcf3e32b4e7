//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestModelDirectOrder checks that a call that its caller may run comes behind those that the
// same caller has queued. Another goroutine may drop some of them.
func TestModelDirectOrder(t *testing.T) {
	in(t, "pool-direct-order", 1, pool.Config{Lanes: 1, Backlog: 2, Overflow: pool.DropOldest}, func(w *world) {
		w.only(nil, pool.ErrDropped)
		open, opened := latch()
		steps := []*step{w.step("first", func(context.Context) { open() }), w.step("second", nil), w.step("third", nil)}
		made, wait := latch()
		last, other := w.step("last", nil), w.step("other", nil)
		w.m.Go("caller", func() {
			var waits []func()
			for _, s := range steps {
				_, await := w.start(background, w.remote, s)
				waits = append(waits, await)
			}
			made()
			opened()
			w.call(background, w.direct, last)
			for _, await := range waits {
				await()
			}
		})
		w.m.Go("dropper", func() {
			wait()
			w.call(background, w.remote, other)
		})
		w.inOrder(steps[1], last)
		w.inOrder(steps[2], last)
	})
}

// TestModelInlineOrder checks the law of TestModelDirectOrder on the inline lane while a pump
// takes calls out.
func TestModelInlineOrder(t *testing.T) {
	draw(t, "pool-inline-order", many, 1, inlineOnly(), func(w *world) {
		w.only(nil)
		var started note
		start := func(context.Context) { started.add(1) }
		first, second := w.step("first", start), w.step("second", start)
		third := w.step("third", func(context.Context) {
			if started.add(0) == 0 { // the pump takes out one of the two, and the caller runs the other
				w.m.Fatalf("the third overtakes those that came before it")
			}
		})
		w.m.Go("caller", func() {
			_, a := w.start(background, w.direct, first)
			_, b := w.start(background, w.direct, second)
			w.call(background, w.direct, third)
			w.p.RunInline(3)
			a()
			b()
		})
		w.m.Go("pump", func() { w.p.RunInline(1) })
	})
}

// TestModelDiscardPermit checks that Discard ends a call that gets its permit at the same time.
// Its handler returns after Discard has.
func TestModelDiscardPermit(t *testing.T) {
	in(t, "pool-discard-permit", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(errGone)
		open, opened := latch()
		a := w.step("a", func(context.Context) { opened() })
		made, hasMade := latch()
		w.m.Go("caller", func() {
			_, await := w.start(background, w.remote, a)
			made()
			await()
		})
		w.m.Go("discarder", func() {
			hasMade()
			w.p.EndLane(0, errGone)
			open()
		})
	})
}

// TestModelEndedBelow checks that calls end although the scheduler was closed below the pool.
// Discard has the pick of their lane at that time.
func TestModelEndedBelow(t *testing.T) {
	draw(t, "pool-ended-below", many, 1, pool.Config{Lanes: 1}, func(w *world) {
		_, _ = w.p.Scheduler().Close()
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			w.call(background, w.remote, b)
		})
		w.m.Go("discarder", func() { w.p.EndLane(0, errGone) })
	})
}

// slowContext can end and never does. accepted holds up a Go whose call was accepted: Go asks for AfterFunc
// then.
type slowContext struct {
	context.Context
	done     chan struct{}
	accepted func()
}

func slow(accepted func()) context.Context {
	return slowContext{background, make(chan struct{}), accepted}
}

func (c slowContext) Done() <-chan struct{} { return c.done }
func (c slowContext) AfterFunc(func()) func() bool {
	c.accepted()
	return func() bool { return true }
}
