//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelBacklog: with a mailbox of one slot calls go through the backlog as well, and
// those of one caller start in their order.
func TestModelBacklog(t *testing.T) {
	alone := func(w *world) {
		w.only(nil)
		a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			_, third := w.start(background, w.remote, c)
			first()
			second()
			third()
		})
		w.inOrder(a, b)
		w.inOrder(b, c)
	}
	draw(t, "pool-backlog-pct", many, 1, pool.Config{Lanes: 1}, alone)
	check(t, "pool-backlog", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, alone)
	in(t, "pool-backlog-shared", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
		w.m.Go("one", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			first()
			second()
		})
		w.m.Go("other", func() { w.call(background, w.remote, c) })
		w.inOrder(a, b)
	})
	// b comes to the backlog after the holder has looked there, and before it gives back
	// the slot of a; and c when b has left the backlog, and has no turn yet.
	in(t, "pool-backlog-window", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		queued, wait := latch()
		runs, waitRuns := latch()
		a := w.step("a", func(context.Context) { runs() })
		b, c := w.step("b", nil), w.step("c", nil)
		var first func()
		z := w.step("first", func(ctx context.Context) {
			_, first = w.start(ctx, w.remote, a)
			queued()
		})
		w.m.Go("first", func() {
			w.call(background, w.remote, z)
			first()
		})
		w.m.Go("caller", func() {
			wait()
			_, second := w.start(background, w.remote, b)
			waitRuns()
			_, third := w.start(background, w.remote, c)
			second()
			third()
		})
		w.inOrder(b, c)
	})
}

// TestModelOverflow: a lane with one slot, and a backlog of one, under each policy.
func TestModelOverflow(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy pool.Overflow
		err    error
	}{
		{"pool-overflow-block", pool.Block, nil},
		{"pool-overflow-fail", pool.Fail, pool.ErrBacklogFull},
		{"pool-overflow-caller-runs", pool.CallerRuns, nil},
		{"pool-overflow-drop-oldest", pool.DropOldest, pool.ErrDropped},
	} {
		in(t, tc.name, 1, pool.Config{Lanes: 1, Backlog: 1, Overflow: tc.policy}, func(w *world) {
			w.only(nil, tc.err)
			a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
			w.m.Go("one", func() {
				_, first := w.start(background, w.remote, a)
				_, second := w.start(background, w.remote, b)
				first()
				second()
			})
			w.m.Go("other", func() { w.call(background, w.remote, c) })
		})
	}
}
