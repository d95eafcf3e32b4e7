//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelBacklog has one lane, which runs one call at a time, so calls wait as well. The calls of
// one caller start in their order.
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
	// b comes to the queue after the holder has looked there and before it gives back the permit
	// of a. c comes when b has left the queue and has not started yet.
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

// TestModelOverflow has one lane, which runs one call at a time, and a backlog of one. It runs under
// each policy.
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

// TestModelSetConcurrency changes the permits of a lane while its calls begin and end. A call
// that waits starts when the number has grown. After the number has fallen, at most one call
// begins before fewer calls run. The holder of the pick may be about to take that call. At the
// end the lane has as many permits as the last change says. No bit says that more are to be
// retired. P3 of permitWord.
func TestModelSetConcurrency(t *testing.T) {
	set := func(w *world, n int) {
		if err := w.p.SetConcurrency(n); err != nil {
			w.m.Fatalf("SetConcurrency = %v", err)
		}
	}
	in(t, "pool-concurrency-grows", 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		begin, wait := latch()
		a := w.step("a", func(context.Context) { wait() })
		b := w.step("b", func(context.Context) { begin() })
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			first()
			second()
		})
		w.m.Go("setter", func() { set(w, 2) })
	})
	in(t, "pool-concurrency-falls", 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		end, wait := latch()
		var running note
		a := w.step("a", func(context.Context) {
			running.add(1)
			wait()
			running.add(-1)
		})
		b := w.step("b", nil)
		c := w.step("c", nil)
		d := w.step("d", func(context.Context) {
			if running.add(0) != 0 {
				w.m.Fatalf("a call begins beside another one, and the lane has one permit")
			}
		})
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			first()
			second()
		})
		w.m.Go("setter", func() {
			set(w, 1)
			_, third := w.start(background, w.remote, c)
			_, fourth := w.start(background, w.remote, d)
			end()
			third()
			fourth()
		})
	})
	in(t, "pool-concurrency-falls-idle", 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		end, wait := latch()
		a, b := w.step("a", func(context.Context) { wait() }), w.step("b", nil)
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			second()
			first()
		})
		w.m.Go("setter", func() {
			set(w, 1)
			s := w.p.Permits(0)
			for ; s.Pick != 0; s = w.p.Permits(0) {
				interleave.Yield()
			}
			if s.Surplus && s.Top >= 0 {
				w.m.Fatalf("a permit is free and more are to be retired: %+v", s)
			}
			end()
		})
	})
	for name, changes := range map[string][]int{
		"pool-concurrency-falls-direct": {1},
		"pool-concurrency-returns":      {1, 2},
	} {
		in(t, name, 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
			w.only(nil)
			a, b := w.step("a", nil), w.step("b", nil)
			w.m.Go("one", func() { w.call(background, w.direct, a) })
			w.m.Go("other", func() { w.call(background, w.direct, b) })
			w.m.Go("setter", func() {
				for _, n := range changes {
					set(w, n)
				}
			})
		})
	}
}

// TestModelReturnDuringSetConcurrency lets a runner return its permit at any step of changes
// after which the lane has a surplus again. No permit is free then. P3 of permitWord.
func TestModelReturnDuringSetConcurrency(t *testing.T) {
	check(t, "pool-concurrency-put", interleave.Options{Preemptions: 4}, 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		first, second := w.p.TakePermit(0), w.p.TakePermit(0)
		returned, waitReturned := latch()
		w.m.Go("runner", func() {
			first()
			returned()
		})
		w.m.Go("setter", func() {
			for _, n := range []int{1, 2, 1} {
				if err := w.p.SetConcurrency(n); err != nil {
					w.m.Fatalf("SetConcurrency = %v", err)
				}
			}
			waitReturned()
			if s := w.p.Permits(0); s.Surplus && s.Top >= 0 {
				w.m.Fatalf("a permit is free, and one is to be retired: %+v", s)
			}
			second()
		})
	})
}
