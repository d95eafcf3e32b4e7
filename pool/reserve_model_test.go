//go:build interleave

package pool_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// occupy makes handlers that go on occupy a lane, one for each permit. The function that it returns ends
// one of them.
func (w *world) occupy(lane, handlers int) (end func()) {
	w.p.AddOverdue(lane, int64(handlers))
	var gives []func()
	for range handlers {
		gives = append(gives, w.p.TakePermit(lane))
	}
	return func() {
		give := gives[0]
		gives = gives[1:]
		w.p.EndOverdue(lane) // first, as that of a handler
		give()
		w.p.Look(lane)
	}
}

// alone returns a handler that must not run while a lease has its lane, and what a holder calls that has
// the lease.
func (w *world) alone() (handler func(context.Context), holds func()) {
	var running, leased note
	handler = func(context.Context) {
		running.add(1)
		if leased.add(0) != 0 {
			w.m.Fatalf("a call runs on a leased lane")
		}
		interleave.Yield()
		running.add(-1)
	}
	holds = func() {
		leased.add(1)
		if running.add(0) != 0 {
			w.m.Fatalf("a lane is leased beside a handler")
		}
		w.p.Lanes()
		leased.add(-1)
	}
	return handler, holds
}

// TestModelReserved has a goroutine wait for a lane that a handler occupies, and a call come at any step
// of that. A permit is free. The lease comes when the handler has returned, and the call runs before it
// or after it.
func TestModelReserved(t *testing.T) {
	for name, call := range map[string]func(w *world, s *step){
		"pool-reserved-direct": func(w *world, s *step) { w.call(background, w.direct, s) },
		"pool-reserved-remote": func(w *world, s *step) { w.call(background, w.remote, s) },
		"pool-reserved-named": func(w *world, s *step) {
			w.ended(s)(pool.CallAt(background, w.p.Lanes()[0].ID, w.remote, s))
		},
	} {
		in(t, name, 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
			w.only(nil, pool.ErrAllLeased)
			handler, holds := w.alone()
			a := w.step("a", handler)
			w.m.Go("caller", func() { call(w, a) })
			w.m.Go("ender", w.occupy(0, 1))
			w.m.Go("lessee", func() {
				l := w.lease()
				holds()
				l.Release()
			})
		})
	}
}

// TestModelReservedDiscard lets Discard come at any step of a reservation. The wait for the lane of that
// generation ends, and a wait for any lane goes on.
func TestModelReservedDiscard(t *testing.T) {
	in(t, "pool-reserved-discard", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		id := w.p.Lanes()[0].ID
		w.m.Go("ender", w.occupy(0, 1))
		w.m.Go("lessee", func() {
			switch l, err := w.p.AcquireID(background, id); {
			case err == nil:
				l.Release()
			case !errors.Is(err, pool.ErrLaneDiscarded):
				w.m.Fatalf("AcquireID = %v", err)
			}
		})
		w.m.Go("discarder", func() { w.discard(id) })
	})
	in(t, "pool-reserved-discard-any", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.m.Go("ender", w.occupy(0, 1))
		w.m.Go("lessee", func() { w.lease().Release() })
		w.m.Go("discarder", func() { w.discard(w.p.Lanes()[0].ID) })
	})
}

// discard discards the lane.
func (w *world) discard(id pool.LaneID) {
	if err := w.p.Discard(id, errGone); err != nil {
		w.m.Fatalf("Discard = %v", err)
	}
}

// TestModelReservedGivesUp lets the wait for a lane end at any step of the reservation and of a call. The
// call runs while the handler that occupies the lane goes on.
func TestModelReservedGivesUp(t *testing.T) {
	in(t, "pool-reserved-gives-up", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		end := w.occupy(0, 1)
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		w.m.Go("lessee", func() {
			if _, err := w.p.AcquireLane(background, 0); !errors.Is(err, errGone) {
				w.m.Fatalf("AcquireLane = %v", err)
			}
			end()
		})
		w.m.Go("ender", func() {
			for !w.p.EndLeaseWait(errGone) {
				interleave.Yield()
			}
		})
	})
}

// TestModelReservedPassesOn has two goroutines wait for any of two lanes, which each become free. The
// wait of the first may end. Each lane is leased once at a time, and none stays reserved.
func TestModelReservedPassesOn(t *testing.T) {
	draw(t, "pool-reserved-passes-on", many, 1, pool.Config{Lanes: 2, Concurrency: 2}, func(w *world) {
		ends := []func(){w.occupy(0, 1), w.occupy(1, 1)}
		var holders [2]note
		a := w.step("a", nil)
		w.only(nil, pool.ErrAllLeased)
		for _, name := range []string{"one", "other"} {
			w.m.Go(name, func() {
				l, err := w.p.Acquire(background)
				if errors.Is(err, errGone) {
					return
				}
				if n := holders[l.Lane()].add(1); n != 1 {
					w.m.Fatalf("lane %d has %d holders", l.Lane(), n)
				}
				w.p.Lanes()
				holders[l.Lane()].add(-1)
				l.Release()
			})
		}
		w.m.Go("ender", func() {
			ends[1]()
			w.p.EndLeaseWait(errGone)
			ends[0]()
		})
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
	})
}

// TestModelReservedClose closes the pool at any step of a reservation and of a call. Both end.
func TestModelReservedClose(t *testing.T) {
	in(t, "pool-reserved-close", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil, pool.ErrThreadClosed, pool.ErrPoolShutdown)
		end := w.occupy(0, 1)
		a := w.step("a", nil)
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			end()
		})
		w.m.Go("lessee", func() {
			l, err := w.p.AcquireLane(background, 0)
			if err != nil && !errors.Is(err, pool.ErrPoolShutdown) {
				w.m.Fatalf("AcquireLane = %v", err)
			}
			if err == nil {
				l.Release()
			}
		})
		w.m.Go("closer", func() { _ = w.p.Close() })
	})
}

// TestModelReservedLastLane has a handler of the only lane wait for a call, at any step of a reservation
// of the lane. The lease comes when both have ended.
func TestModelReservedLastLane(t *testing.T) {
	in(t, "pool-reserved-last-lane", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		var over note
		begin, begun := latch()
		b := w.step("b", nil)
		a := w.step("a", func(context.Context) {
			begin()
			w.call(background, w.remote, b)
			over.add(1)
		})
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		w.m.Go("ender", w.occupy(0, 1))
		w.m.Go("lessee", func() {
			begun()
			l := w.lease()
			if over.add(0) == 0 {
				w.m.Fatalf("the last lane is leased before its calls have ended")
			}
			l.Release()
		})
	})
}

// TestModelReservedOnTop has a handler of the only lane lose its permit at any step of a call on top of
// itself, while the lane is reserved. The call does not run beside the lease.
func TestModelReservedOnTop(t *testing.T) {
	in(t, "pool-reserved-on-top", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrHardLimit, pool.ErrAllLeased)
		handler, holds := w.alone()
		b := w.step("b", handler)
		begin, begun := latch()
		start, started := latch()
		var over note
		var overtime func()
		a := w.step("a", func(context.Context) {
			overtime = w.p.Overtime()
			begin()
			start()
			for w.p.LeaseWaiters() == 0 && over.add(0) == 0 {
				interleave.Yield()
			}
			w.call(background, w.direct, b)
		})
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("limit", func() {
			begun()
			overtime()
		})
		w.m.Go("lessee", func() {
			started()
			l := w.lease()
			holds()
			l.Release()
			over.add(1)
		})
	})
}

// TestModelOneCallBetweenLeases checks that a lane with two permits starts one of the calls that wait
// between two leases.
func TestModelOneCallBetweenLeases(t *testing.T) {
	in(t, "pool-one-call-between-leases", 2, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		w.only(nil)
		l := w.lease()
		a, b := w.step("a", nil), w.step("b", nil)
		first, second := pool.GoAt(background, l.ID(), w.remote, a), pool.GoAt(background, l.ID(), w.remote, b)
		w.m.Go("holder", func() {
			for w.p.LeaseWaiters() == 0 {
				interleave.Yield()
			}
			l.Release()
			w.ended(a)(first.Await())
			w.ended(b)(second.Await())
		})
		w.m.Go("next", func() {
			next, err := w.p.AcquireID(background, l.ID())
			if err != nil {
				w.m.Fatalf("AcquireID = %v", err)
			}
			if n := w.running.len(); n != 1 {
				w.m.Fatalf("%d calls have begun between two leases", n)
			}
			next.Release()
		})
	})
}

// TestModelReservedOther has a permit become free at any step of a search for a lane to lease, and a call come.
// The other lane, which fewer calls occupy, is reserved then. The call runs while the lease waits.
func TestModelReservedOther(t *testing.T) {
	check(t, "pool-reserved-other", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 3, Executions: 3 * many}, 1, pool.Config{Lanes: 2, Balancer: lane0{}}, func(w *world) {
		w.only(nil)
		w.p.AddOverdue(1, 2)
		end, give := w.occupy(0, 1), w.p.TakePermit(1)
		await := w.p.QueueLease(-1)
		a := w.step("a", nil)
		w.m.Go("granter", func() { w.p.GrantLeases(-1) })
		w.m.Go("returner", func() {
			give()
			w.p.Look(1)
		})
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			w.p.EndLeaseWait(errGone)
			w.p.AddOverdue(1, -2)
			end()
			if _, err := await(); !errors.Is(err, errGone) {
				w.m.Fatalf("Acquire = %v", err)
			}
		})
	})
}

// TestModelLeasesFIFO lets the only lane become free at any step of a search for lanes to lease. It goes to the
// goroutine that has asked first.
func TestModelLeasesFIFO(t *testing.T) {
	const anyLane = -1
	for name, wants := range map[string][2]int{
		"pool-leases-fifo-any-and-this":  {anyLane, 0},
		"pool-leases-fifo-this-and-any":  {0, anyLane},
		"pool-leases-fifo-this-and-this": {0, 0},
	} {
		in(t, name, 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
			end := w.occupy(0, 1)
			var leases note
			for i, lane := range wants {
				await := w.p.QueueLease(lane)
				w.m.Go([]string{"first", "second"}[i], func() {
					l, err := await()
					if err != nil {
						w.m.Fatalf("Acquire = %v", err)
					}
					if n := leases.add(1); n != i+1 {
						w.m.Fatalf("the lease number %d goes to number %d", n, i+1)
					}
					l.Release()
				})
			}
			w.m.Go("granter", func() { w.p.GrantLeases(-1) })
			w.m.Go("ender", end)
		})
	}
}

// TestModelLeaseDuringAPause has a lane owe a call that does not start during a pause, and another lane become
// free. The lane that owes is leased.
func TestModelLeaseDuringAPause(t *testing.T) {
	in(t, "pool-lease-during-a-pause", 1, pool.Config{Lanes: 2, Concurrency: 2}, func(w *world) {
		w.only(nil)
		a := w.step("a", nil)
		w.p.Pause()
		future := pool.GoAt(background, w.p.Lanes()[0].ID, w.remote, a)
		w.p.Owe(0)
		await := w.p.QueueLease(0)
		w.m.Go("granter", func() { w.p.GrantLeases(1) })
		w.m.Go("lessee", func() {
			l, err := await()
			if err != nil {
				w.m.Fatalf("Acquire = %v", err)
			}
			l.Release()
			w.p.Resume()
			w.ended(a)(future.Await())
		})
	})
}

// TestModelDebtOfEndedCalls checks that a lane that owes a call is leased when only calls wait that have ended,
// and another lane takes these out.
func TestModelDebtOfEndedCalls(t *testing.T) {
	in(t, "pool-debt-of-ended-calls", 1, pool.Config{Lanes: 2, Concurrency: 2, Balancer: lane0{}}, func(w *world) {
		w.only(errGone)
		end := w.occupy(1, 1)
		first := w.lease()
		w.p.Pause()
		future, ended := w.start(background, w.remote, w.step("ended", nil))
		first.Release()
		future.End(errGone)
		ended()
		w.p.ResumeSilently()
		w.m.Go("drain", func() { w.p.Drain(1) })
		w.m.Go("lessee", func() {
			l, err := w.p.AcquireID(background, first.ID())
			if err != nil {
				w.m.Fatalf("AcquireID = %v", err)
			}
			l.Release()
			end()
		})
	})
}

// TestModelDebtOfPausedCalls checks that a lane that owes a call is not leased before it has run that, if a
// Pause has kept the call from its start while the lease ended.
func TestModelDebtOfPausedCalls(t *testing.T) {
	in(t, "pool-debt-of-paused-calls", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		first := w.lease()
		w.p.Pause()
		a := w.step("a", nil)
		future := pool.GoAt(background, first.ID(), w.remote, a)
		first.Release()
		w.m.Go("lessee", func() {
			w.p.Resume()
			l, err := w.p.AcquireID(background, first.ID())
			if err != nil {
				w.m.Fatalf("AcquireID = %v", err)
			}
			if w.running.len() != 1 {
				w.m.Fatalf("the lane was leased again before the call that waited")
			}
			l.Release()
			w.ended(a)(future.Await())
		})
	})
}
