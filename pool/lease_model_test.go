//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelLease: a lane is leased only while it has no call, and no other call comes to
// it before it is given back.
func TestModelLease(t *testing.T) {
	for name, f := range map[string]func(w *world) *pool.Func[*step, string]{
		"pool-lease-direct": direct,
		"pool-lease-remote": remote,
	} {
		in(t, name, 1, pool.Config{Lanes: 1}, func(w *world) {
			w.only(nil, pool.ErrAllLeased)
			var leased note
			a := w.step("a", func(context.Context) {
				if leased.add(0) != 0 {
					w.m.Fatalf("a call has come to a leased lane")
				}
			})
			b := w.step("b", nil)
			w.m.Go("caller", func() { w.call(background, f(w), a) })
			w.m.Go("holder", func() {
				l, err := w.p.Acquire(background)
				if err != nil {
					w.m.Fatalf("Acquire = %v", err)
				}
				leased.add(1)
				w.ended(b)(pool.CallOn(background, l, w.remote, b))
				leased.add(-1)
				l.Release()
			})
		})
	}
}

// TestModelTwoLeases: two ask for one lane, which has a call: both get it in turn.
func TestModelTwoLeases(t *testing.T) {
	draw(t, "pool-two-leases", many, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrAllLeased)
		var holders note
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		for _, name := range []string{"one", "other"} {
			w.m.Go(name, func() {
				l, err := w.p.Acquire(background)
				if err != nil {
					w.m.Fatalf("Acquire = %v", err)
				}
				if n := holders.add(1); n != 1 {
					w.m.Fatalf("the lane has %d holders", n)
				}
				w.p.Lanes()
				holders.add(-1)
				l.Release()
			})
		}
	})
}

// TestModelCallOnDiscard: Discard comes at any step of a call through its lease. A handler that is
// entered after Discard has returned belongs to a call that has ended.
func TestModelCallOnDiscard(t *testing.T) {
	in(t, "pool-call-on-discard", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrLeaseOver, errGone)
		l, err := w.p.Acquire(background)
		if err != nil {
			w.m.Fatalf("Acquire = %v", err)
		}
		var discarded note
		late := false
		a := w.step("a", func(context.Context) { late = discarded.add(0) != 0 })
		w.m.Go("caller", func() {
			w.ended(a)(pool.CallOn(background, l, w.remote, a))
			if late && a.err == nil {
				w.m.Fatalf("a call of a discarded lease has run")
			}
		})
		w.m.Go("discarder", func() {
			l.Discard(errGone)
			discarded.add(1)
		})
	})
}

// TestModelOverdue: the call of a handler ends before the handler returns. The lane is not leased in
// between, and is leased afterwards.
func TestModelOverdue(t *testing.T) {
	in(t, "pool-overdue", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone, pool.ErrAllLeased)
		var inside note
		open, opened := latch()
		a := w.step("a", func(context.Context) {
			inside.add(1)
			opened()
			inside.add(-1)
		})
		future, await := w.start(background, w.remote, a)
		w.m.Go("aborter", func() {
			future.End(errGone)
			open()
			await()
		})
		w.m.Go("lessee", func() {
			l, err := w.p.Acquire(background)
			if err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			if inside.add(0) != 0 {
				w.m.Fatalf("a lane is leased while a handler runs there")
			}
			l.Release()
		})
	})
}

// TestModelOverdueDetached: the permit of an overdue handler is taken away at any step. The lane is
// leased afterwards, and its counts are right when the handler has returned.
func TestModelOverdueDetached(t *testing.T) {
	draw(t, "pool-overdue-detached", many, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone, pool.ErrAllLeased)
		open, opened := latch()
		leased, isLeased := latch()
		a := w.step("a", func(context.Context) {
			w.p.Blocking(opened)
			isLeased()
		})
		future, await := w.start(background, w.remote, a)
		w.m.Go("aborter", func() {
			future.End(errGone)
			open()
			await()
		})
		w.m.Go("lessee", func() {
			l, err := w.p.Acquire(background)
			if err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			l.Release()
			leased()
		})
	})
}

// TestModelOverdueBesideAnother: a lane with an overdue handler is not free, at any step of the end
// of another call.
func TestModelOverdueBesideAnother(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 5, Executions: many}
	check(t, "pool-overdue-beside-another", o, 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		var inside note
		open, opened := latch()
		begun, hasBegun := latch()
		begunB, hasBegunB := latch()
		a := w.step("a", func(context.Context) { inside.add(1); begun(); opened(); inside.add(-1) })
		b := w.step("b", func(context.Context) { begunB() })
		futureA, awaitA := w.start(background, w.remote, a)
		w.m.Go("caller", func() {
			hasBegun()
			futureA.End(errGone)
			awaitA()
			done, isDone := latch()
			interleave.Go("observer", func() {
				if w.p.Free(0) && inside.add(0) == 1 {
					w.m.Fatalf("the lane of an overdue handler is free")
				}
				done()
			})
			futureB, awaitB := w.start(background, w.remote, b)
			hasBegunB()
			futureB.End(errGone)
			awaitB()
			isDone()
			open()
		})
	})
}
