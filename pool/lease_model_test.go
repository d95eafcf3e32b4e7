//go:build interleave

package pool_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelLease checks that a lane is leased only while it has no call. No other call comes to
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
				l := w.lease()
				leased.add(1)
				w.ended(b)(pool.CallOn(background, l, w.remote, b))
				leased.add(-1)
				l.Release()
			})
		})
	}
}

// TestModelTwoLeases has two goroutines that ask for one lane while it has a call. Both get it
// in turn.
func TestModelTwoLeases(t *testing.T) {
	draw(t, "pool-two-leases", many, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrAllLeased)
		var holders note
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		for _, name := range []string{"one", "other"} {
			w.m.Go(name, func() {
				l := w.lease()
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

// TestModelCallOnDiscard lets Discard come at any step of a call through its lease. A handler
// that is entered after Discard has returned belongs to a call that has ended.
func TestModelCallOnDiscard(t *testing.T) {
	in(t, "pool-call-on-discard", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrLeaseOver, errGone)
		l := w.lease()
		var discarded note
		late := false
		a := w.step("a", func(context.Context) { late = discarded.add(0) != 0 })
		w.m.Go("caller", func() {
			w.ended(a)(pool.CallOn(background, l, w.remote, a))
			if a.err == nil && late {
				w.m.Fatalf("a call of a discarded lease has run")
			}
		})
		w.m.Go("discarder", func() {
			l.Discard(errGone)
			discarded.add(1)
		})
	})
}

// TestModelDiscardRelease checks that a Discard at any step of the Release of its lease ends no
// call that is made afterwards.
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
			l = w.lease()
			got()
			interleave.Yield() // let the other one begin
			l.Release()
			w.call(background, w.remote, a)
		})
	})
}

// TestModelCallOnRelease checks that a call through a lease at any step of its Release never
// runs while the next lease has the lane.
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
			l = w.lease()
			got()
			interleave.Yield() // let the other one begin
			l.Release()
			other := w.lease()
			leased.add(1)
			w.p.Lanes()
			leased.add(-1)
			other.Release()
		})
	})
}

// TestModelNamed has a call that names a lane by its id at any step of a lease of it. The call
// never runs while the lane is leased, and it is not stranded.
func TestModelNamed(t *testing.T) {
	for name, f := range map[string]func(w *world) *pool.Func[*step, string]{
		"pool-named-direct": direct,
		"pool-named-remote": remote,
	} {
		in(t, name, 1, pool.Config{Lanes: 1}, func(w *world) {
			w.only(nil)
			id := w.p.Lanes()[0].ID
			var leased note
			a := w.step("a", func(context.Context) {
				if leased.add(0) != 0 {
					w.m.Fatalf("a call that names a leased lane runs")
				}
			})
			w.m.Go("caller", func() { w.ended(a)(pool.CallAt(background, id, f(w), a)) })
			w.m.Go("holder", func() {
				l, err := w.p.AcquireID(background, id)
				if err != nil {
					w.m.Fatalf("AcquireID = %v", err)
				}
				leased.add(1)
				w.p.Lanes()
				leased.add(-1)
				l.Release()
			})
		})
	}
}

// TestModelNamedAfterALease has a call that waits behind a lease and ends by its context at any
// step of the Release. The lane is leased again. The counts of dead calls are right.
func TestModelNamedAfterALease(t *testing.T) {
	in(t, "pool-named-after-a-lease", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		l := w.lease()
		a := w.step("a", nil)
		future := pool.GoAt(background, l.ID(), w.remote, a)
		w.m.Go("aborter", func() {
			future.End(errGone)
			w.ended(a)(future.Await())
		})
		w.m.Go("holder", func() {
			l.Release()
			other, err := w.p.AcquireID(background, l.ID())
			if err != nil {
				w.m.Fatalf("AcquireID = %v", err)
			}
			other.Release()
		})
	})
}

// TestModelNamedInOrder checks that two calls of one caller that name a lane start in their
// order. They come at any step of the end of a lease that has the lane.
func TestModelNamedInOrder(t *testing.T) {
	in(t, "pool-named-in-order", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		l := w.lease()
		a, b := w.step("a", nil), w.step("b", nil)
		w.inOrder(a, b)
		w.m.Go("caller", func() {
			first, second := pool.GoAt(background, l.ID(), w.remote, a), pool.GoAt(background, l.ID(), w.remote, b)
			w.ended(a)(first.Await())
			w.ended(b)(second.Await())
		})
		w.m.Go("holder", l.Release)
	})
}

// TestModelNamedEnds checks that a call that names a lane ends at any step of the Close of the
// pool. It also ends at any step of a Discard and of a Resize that takes the lane out. A lease
// has the lane then.
func TestModelNamedEnds(t *testing.T) {
	in(t, "pool-named-close", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(pool.ErrThreadClosed, pool.ErrPoolShutdown)
		l := w.lease()
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.ended(a)(pool.CallAt(background, l.ID(), w.remote, a)) })
		w.m.Go("closer", func() { _ = w.p.Close() })
	})
	in(t, "pool-named-discard", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone, pool.ErrLaneDiscarded)
		id := w.p.Lanes()[0].ID
		open, ended := latch()
		a := w.step("a", nil)
		w.m.Go("caller", func() {
			w.ended(a)(pool.CallAt(background, id, w.remote, a))
			open()
		})
		w.m.Go("holder", func() {
			if err := w.p.Discard(id, errGone); err != nil {
				w.m.Fatalf("Discard = %v", err)
			}
			l := w.lease()
			ended()
			l.Release()
		})
	})
	in(t, "pool-named-resize", 1, pool.Config{Lanes: 2}, func(w *world) {
		w.only(nil, pool.ErrNoSuchLane)
		id := w.p.Lanes()[1].ID
		var out note
		a := w.step("a", func(context.Context) {
			if out.add(0) != 0 {
				w.m.Fatalf("a call begins on a lane that Resize has taken out")
			}
		})
		w.m.Go("caller", func() { w.ended(a)(pool.CallAt(background, id, w.remote, a)) })
		w.m.Go("resizer", func() {
			if err := w.p.Resize(background, 1); err != nil {
				w.m.Fatalf("Resize = %v", err)
			}
			out.add(1)
		})
	})
}

// TestModelLeaseOfAGeneration checks that AcquireID never returns a lease of another
// generation. Discard of an old generation ends no lease of the next.
func TestModelLeaseOfAGeneration(t *testing.T) {
	in(t, "pool-acquire-id", 1, pool.Config{Lanes: 1}, func(w *world) {
		id := w.p.Lanes()[0].ID
		w.m.Go("holder", func() {
			switch l, err := w.p.AcquireID(background, id); {
			case errors.Is(err, pool.ErrLaneDiscarded):
			case err != nil:
				w.m.Fatalf("AcquireID = %v", err)
			case l.ID() != id:
				w.m.Fatalf("AcquireID(%v) has returned a lease of %v", id, l.ID())
			default:
				l.Release()
			}
		})
		w.m.Go("discarder", func() { _ = w.p.Discard(id, errGone) })
	})
	check(t, "pool-stale-discard", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, func(w *world) {
		id := w.p.Lanes()[0].ID
		w.m.Go("stale", func() { _ = w.p.Discard(id, errGone) })
		w.m.Go("holder", func() {
			_ = w.p.Discard(id, errGone)
			l := w.lease()
			w.p.Lanes()
			if _, err := pool.CallOn(background, l, w.remote, new(step)); err != nil {
				w.m.Fatalf("no goroutine has discarded %v, and a call there ends with %v", l.ID(), err)
			}
			l.Release()
		})
	})
}

// TestModelDiscardID lets Discard of a lane by its id come at any step of a call that names it,
// of a lease, and of another Discard. One Discard succeeds. A handler that is entered after it
// belongs to a call that has ended.
func TestModelDiscardID(t *testing.T) {
	in(t, "pool-discard-id", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone, pool.ErrLaneDiscarded)
		id := w.p.Lanes()[0].ID
		var discarded note
		late := false
		a := w.step("a", func(context.Context) { late = discarded.add(0) != 0 })
		w.m.Go("caller", func() {
			w.ended(a)(pool.CallAt(background, id, w.remote, a))
			if a.err == nil && late {
				w.m.Fatalf("a call of a discarded lane has run")
			}
		})
		w.m.Go("discarder", func() {
			if err := w.p.Discard(id, errGone); err != nil {
				w.m.Fatalf("Discard = %v", err)
			}
			discarded.add(1)
		})
	})
	in(t, "pool-discard-id-next", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrLaneDiscarded)
		id := w.p.Lanes()[0].ID
		next := pool.LaneID{Lane: id.Lane, Generation: id.Generation + 1}
		a := w.step("a", nil)
		w.m.Go("discarder", func() {
			if err := w.p.Discard(id, errGone); err != nil {
				w.m.Fatalf("Discard = %v", err)
			}
		})
		w.m.Go("caller", func() { w.ended(a)(pool.CallAt(background, next, w.remote, a)) })
	})
	in(t, "pool-discard-id-twice", 1, pool.Config{Lanes: 1}, func(w *world) {
		id := w.p.Lanes()[0].ID
		var first note
		for _, name := range []string{"one", "other"} {
			w.m.Go(name, func() {
				switch err := w.p.Discard(id, errGone); {
				case err == nil:
					first.add(1)
				case !errors.Is(err, pool.ErrLaneDiscarded):
					w.m.Fatalf("Discard = %v", err)
				}
			})
		}
		w.m.Final(func() {
			if n := first.add(0); n != 1 {
				w.m.Fatalf("%d Discards of one generation have succeeded", n)
			}
		})
	})
	check(t, "pool-discard-id-lease", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, func(w *world) {
		id := w.p.Lanes()[0].ID
		var over interleave.Sema
		over.Init(1)
		w.m.Go("holder", func() {
			l, err := w.p.AcquireLane(background, 0)
			if errors.Is(err, pool.ErrLaneDiscarded) {
				l, err = w.p.AcquireLane(background, 0)
			}
			if err != nil {
				w.m.Fatalf("AcquireLane = %v", err)
			}
			over.Wait()
			if next := l.ID() != id; next != w.p.Lanes()[0].Leased {
				w.m.Fatalf("after Discard, a lease of the next generation (%t) has the lane (%t)", next, !next)
			}
			l.Release()
		})
		w.m.Go("discarder", func() {
			if err := w.p.Discard(id, errGone); err != nil {
				w.m.Fatalf("Discard = %v", err)
			}
			over.Post()
		})
		w.m.Final(func() {
			if i := w.p.Lanes()[0]; i.Leased || i.ID.Generation != id.Generation+1 {
				w.m.Fatalf("after Discard and Release the lane is %+v", i)
			}
		})
	})
}

// TestModelOverdue lets the call of a handler end before the handler returns. The lane is not
// leased in between. It is leased afterwards.
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
			l := w.lease()
			if inside.add(0) != 0 {
				w.m.Fatalf("a lane is leased while a handler runs there")
			}
			l.Release()
		})
	})
}

// TestModelOverdueDetached lets the permit of an overdue handler be taken away at any step. The
// lane is leased afterwards. Its counts are right when the handler has returned.
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
			l := w.lease()
			l.Release()
			leased()
		})
	})
}

// TestModelOverdueBesideAnother checks that a lane with an overdue handler is not free at any
// step of the end of another call. That call may end between its goroutine and the one that
// ends it.
func TestModelOverdueBesideAnother(t *testing.T) {
	check(t, "pool-overdue-beside-another", interleave.Options{Preemptions: 1}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		w.p.AddOverdue(0, 1) // a handler that goes on
		var future *pool.Future[string]
		assign, assigned := latch()
		begin, begun := latch()
		look, looked := latch()
		b := w.step("b", func(context.Context) {
			assigned()
			for begin(); !future.Claimed(); {
				interleave.Yield()
			}
		})
		w.m.Go("observer", func() {
			if w.p.Free(0) {
				w.m.Fatalf("the lane of an overdue handler is free")
			}
			look()
		})
		w.m.Go("caller", func() {
			var await func()
			future, await = w.start(background, w.remote, b)
			assign()
			await()
			looked()
			w.p.AddOverdue(0, -1)
		})
		w.m.Go("aborter", func() {
			begun()
			future.End(errGone)
		})
	})
}

// TestModelOccupiedBesideABlockedHandler: a lane with a handler is not free, at any step of the end of
// another handler there that has blocked.
func TestModelOccupiedBesideABlockedHandler(t *testing.T) {
	check(t, "pool-occupied-beside-a-blocked-handler", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		w.p.AddOverdue(0, 1) // a handler that goes on
		begin, begun := latch()
		end, ended := latch()
		look, looked := latch()
		z := w.step("z", func(context.Context) { w.p.Blocking(func() { begin(); ended() }) })
		_, await := w.start(background, w.remote, z)
		w.m.Go("observer", func() {
			begun()
			end()
			if w.p.Free(0) {
				w.m.Fatalf("the lane of a handler is free")
			}
			look()
		})
		w.m.Go("caller", func() {
			await()
			looked()
			w.p.AddOverdue(0, -1)
		})
	})
}

// TestModelLeaseBesideABlockedHandler: a goroutine waits for the lane of a handler at any step of the
// block of that, and the handler waits for the lease.
func TestModelLeaseBesideABlockedHandler(t *testing.T) {
	in(t, "pool-lease-beside-a-blocked-handler", 1, pool.Config{Lanes: 2}, func(w *world) {
		w.only(nil)
		id := w.p.Lanes()[0].ID
		leased, isLeased := latch()
		a, b := w.step("a", func(context.Context) { w.p.Blocking(isLeased) }), w.step("b", nil)
		w.m.Go("caller", func() { w.ended(a)(pool.CallAt(background, id, w.remote, a)) })
		w.m.Go("lessee", func() {
			l, err := w.p.AcquireID(background, id)
			if err != nil {
				w.m.Fatalf("AcquireID = %v", err)
			}
			w.ended(b)(pool.CallOn(background, l, w.remote, b))
			leased()
			l.Release()
		})
	})
}

// TestModelLeaseBesideACallersHandler: a goroutine waits for a lane whose permit becomes free at any
// step of the start of a handler that its caller runs there. That handler waits for the lease.
func TestModelLeaseBesideACallersHandler(t *testing.T) {
	in(t, "pool-lease-beside-a-callers-handler", 1, pool.Config{Lanes: 2, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns, Balancer: &fixed{}}, func(w *world) {
		w.only(nil)
		var gives []func()
		for lane := range 2 { // both have an overdue handler
			w.p.AddOverdue(lane, 1)
			gives = append(gives, w.p.TakePermit(lane))
		}
		leased, isLeased := latch()
		begin, begun := latch()
		a := w.step("a", func(context.Context) { w.p.Blocking(isLeased) })
		w.m.Go("caller", func() {
			begin()
			w.call(background, w.direct, a)
			w.p.AddOverdue(1, -1)
			gives[1]()
		})
		w.m.Go("ender", func() {
			begun()
			gives[0]()
			w.p.EndOverdue(0)
		})
		w.m.Go("lessee", func() {
			l, err := w.p.AcquireLane(background, 0)
			if err != nil {
				w.m.Fatalf("AcquireLane = %v", err)
			}
			leased()
			l.Release()
		})
	})
}
