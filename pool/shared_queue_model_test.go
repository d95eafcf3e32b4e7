//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelSummary checks that the bit of each lane that is available in the end is set, so
// that a search finds it. Lanes are taken and given up at the same time.
func TestModelSummary(t *testing.T) {
	for _, tc := range []struct {
		name     string
		lanes    int
		searches []int // for each thread the lane that the balancer would have
	}{
		{"pool-summary", 1, []int{0, 0, 0}},
		{"pool-summary-lanes", 2, []int{0, 1, 0}},
	} {
		check(t, tc.name, interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: tc.lanes}, func(w *world) {
			for _, at := range tc.searches {
				w.m.Go("searcher", func() {
					if lane := w.p.TakeFree(at); lane >= 0 {
						w.p.GiveUp(lane)
					}
				})
			}
			w.m.Final(func() {
				for lane := range tc.lanes {
					if !w.p.IsMarked(lane) {
						w.m.Fatalf("lane %d is available, and no search finds it", lane)
					}
				}
			})
		})
	}
}

// TestModelCandidates checks that the bits of each lane that no call occupies in the end are set, so that a
// walk finds the lane. Calls come and end, or a lease comes and ends, during walks that clear bits.
func TestModelCandidates(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lease bool
	}{{"pool-candidates", false}, {"pool-candidates-lease", true}} {
		check(t, tc.name, interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 2}, func(w *world) {
			w.p.ClearAtOnce()
			w.m.Go("caller", func() {
				if tc.lease {
					w.lease().Release()
				} else {
					w.p.Occupy(0)()
				}
			})
			w.m.Go("walker", func() { w.p.View().FirstFree() })
			w.m.Go("counter", func() { w.p.Unused(2) })
			w.m.Final(func() {
				for lane := range 2 {
					if !w.p.HasMarks(lane) {
						w.m.Fatalf("no call occupies lane %d, and no walk finds it", lane)
					}
				}
			})
		})
	}
}

// TestModelUnusedIsExact checks that a caller whose call has ended needs no space to wait, whatever bits other
// walkers clear.
func TestModelUnusedIsExact(t *testing.T) {
	check(t, "pool-unused", interleave.Options{Preemptions: 3}, 1, pool.Config{Lanes: 1, Backlog: pool.NoBacklog}, func(w *world) {
		w.p.ClearAtOnce()
		leave := w.p.Occupy(0)
		w.m.Go("caller", func() {
			leave()
			leave, ok := w.p.AdmitUnused()
			if !ok {
				w.m.Fatalf("the lane has no call, and there is no space for one")
			}
			leave()
		})
		w.m.Go("walker", func() { w.p.Unused(1) })
	})
}

// TestModelMovesBesideAWalk checks that a call needs no space to wait beside a caller that has moved from one lane to
// the other, whether or not the walk clears bits.
func TestModelMovesBesideAWalk(t *testing.T) {
	for _, name := range []string{"pool-moves-beside-a-walk", "pool-moves-beside-a-clear"} {
		check(t, name, interleave.Options{Preemptions: 3}, 1, pool.Config{Lanes: 2, Backlog: pool.NoBacklog}, func(w *world) {
			if name == "pool-moves-beside-a-clear" {
				w.p.ClearAtOnce()
			}
			leave := w.p.Occupy(0)
			w.m.Go("mover", func() {
				leave()
				w.p.Occupy(1)()
			})
			w.m.Go("caller", func() {
				leave, ok := w.p.AdmitUnused()
				if !ok {
					w.m.Fatalf("one call occupies a lane at most, and there is no space for a second")
				}
				leave()
			})
		})
	}
}

// TestModelUnusedForEach checks that as many calls as there are unused permits need no space to wait when they
// come at the same time.
func TestModelUnusedForEach(t *testing.T) {
	check(t, "pool-unused-for-each", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 2, Backlog: pool.NoBacklog}, func(w *world) {
		w.p.ClearAtOnce()
		for _, caller := range []string{"one", "other"} {
			w.m.Go(caller, func() {
				leave, ok := w.p.AdmitUnused()
				if !ok {
					w.m.Fatalf("two permits are unused, and there is no space for two calls")
				}
				leave()
			})
		}
	})
}

// TestModelShared checks that calls that name no lane run. Each runs on a lane that has a
// permit for it, whatever the balancer picks. A call that is stranded keeps its caller waiting
// for ever. K-068.
func TestModelShared(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lanes  int
		places int
		f      func(w *world) *pool.Func[*step, string]
	}{
		{"pool-shared-direct", 2, 2, direct},
		{"pool-shared-remote", 2, 2, remote},
		{"pool-shared-one-place", 2, 1, remote},
	} {
		in(t, tc.name, tc.places, pool.Config{Lanes: tc.lanes, Balancer: lane0{}}, func(w *world) {
			w.only(nil)
			a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
			w.m.Go("one", func() {
				_, first := w.start(background, w.remote, a)
				w.call(background, tc.f(w), b)
				first()
			})
			w.m.Go("other", func() { w.call(background, tc.f(w), c) })
		})
	}
}

// lane0 is a balancer that picks the first lane.
type lane0 struct{}

func (lane0) Pick(pool.View) int { return 0 }

// TestModelNoIdleLane has a handler that waits until another call has run. The balancer picks
// the lane of that handler. The other call therefore runs on the other lane, although it may
// have waited in the queue. K-068.
func TestModelNoIdleLane(t *testing.T) {
	in(t, "pool-no-idle-lane", 2, pool.Config{Lanes: 2, Balancer: lane0{}}, func(w *world) {
		w.only(nil)
		open, opened := latch()
		a, b := w.step("a", func(context.Context) { opened() }), w.step("b", func(context.Context) { open() })
		c := w.step("c", nil)
		w.m.Go("one", func() { w.call(background, w.remote, a) })
		w.m.Go("other", func() {
			_, third := w.start(background, w.remote, c)
			w.call(background, w.remote, b)
			third()
		})
	})
}

// TestModelBlocked has space for one call. Callers of Go wait until their calls are among the
// first that wait or have ended. Another goroutine may end one of them.
func TestModelBlocked(t *testing.T) {
	in(t, "pool-blocked", 1, pool.Config{Lanes: 1, Backlog: 1}, func(w *world) {
		w.only(nil, errGone)
		steps := []*step{w.step("a", nil), w.step("b", nil), w.step("c", nil), w.step("d", nil)}
		w.m.Go("one", func() {
			_, first := w.start(background, w.remote, steps[0])
			_, second := w.start(background, w.remote, steps[1])
			first()
			second()
		})
		w.m.Go("other", func() {
			future, third := w.start(background, w.remote, steps[2])
			future.End(errGone)
			_, fourth := w.start(background, w.remote, steps[3])
			third()
			fourth()
		})
	})
}

// TestModelBlockedSpace has a handler that waits until the caller of a blocked Go continues.
// The caller continues when that handler has started, because its call is the first that waits
// then.
func TestModelBlockedSpace(t *testing.T) {
	in(t, "pool-blocked-space", 1, pool.Config{Lanes: 1, Backlog: 1}, func(w *world) {
		w.only(nil)
		open, opened := latch()
		made, hasMade := latch()
		a, b, c := w.step("a", nil), w.step("b", func(context.Context) { opened() }), w.step("c", nil)
		w.m.Go("one", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			made()
			first()
			second()
		})
		w.m.Go("other", func() {
			hasMade()
			_, third := w.start(background, w.remote, c)
			open()
			third()
		})
	})
}

// TestModelSharedLease leases a lane while a call of the pool waits. The call runs when the
// lane is released. The lease gets the lane, and no call of the pool runs there before its
// Release.
func TestModelSharedLease(t *testing.T) {
	in(t, "pool-shared-lease", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrAllLeased)
		var leased note
		steps := make([]*step, 2)
		for i := range steps {
			steps[i] = w.step("call", func(context.Context) {
				if leased.add(0) != 0 {
					w.m.Fatalf("a call of the pool runs on a leased lane")
				}
			})
		}
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, steps[0])
			_, second := w.start(background, w.remote, steps[1])
			first()
			second()
		})
		w.m.Go("holder", func() {
			l := w.lease()
			leased.add(1)
			interleave.Yield() // a drain may continue
			leased.add(-1)
			l.Release()
		})
	})
}

// TestModelCallAfterCall has a caller that has the result of its call and makes the next one.
// That call gets the permit of the first and needs no space to wait. K-038.
func TestModelCallAfterCall(t *testing.T) {
	c := pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.Fail}
	in(t, "pool-call-after-call", 1, c, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			w.call(background, w.remote, a)
			w.call(background, w.remote, b)
		})
	})
	in(t, "pool-go-after-go", 1, c, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			for _, s := range []*step{a, b} {
				_, await := w.start(background, w.remote, s)
				await()
			}
		})
	})
}

// TestModelCallersOfLanes checks that as many callers as lanes need no space to wait. Each makes its next call when
// it has the result of the one before. K-038.
func TestModelCallersOfLanes(t *testing.T) {
	c := pool.Config{Lanes: 2, Backlog: pool.NoBacklog, Overflow: pool.Fail}
	draw(t, "pool-callers-of-lanes", 5_000, 2, c, func(w *world) {
		w.only(nil)
		for _, caller := range []string{"one", "other"} {
			a, b := w.step(caller+" a", nil), w.step(caller+" b", nil)
			w.m.Go(caller, func() {
				w.call(background, w.remote, a)
				w.call(background, w.remote, b)
			})
		}
	})
	// The workers of two calls that have ended are about to give the permits up. The next call of one caller moves
	// from the queue to a lane while the other caller calls.
	in(t, "pool-call-beside-a-move", 1, c, func(w *world) {
		w.only(nil)
		w.p.TakeFree(0)
		w.p.TakeFree(1)
		leave := w.p.Occupy(1)
		a := w.step("a", nil)
		w.m.Go("one", func() { w.call(background, w.remote, a) })
		w.m.Go("worker", func() { w.p.GiveUp(0) })
		w.m.Go("other", func() {
			leave()
			leave, ok := w.p.AdmitUnused()
			if !ok {
				w.m.Fatalf("two callers have a lane each, and there is no space for the call of one")
			}
			leave()
			w.p.GiveUp(1)
		})
	})
}

// TestModelLeaseMoveBesideATally checks that a call through a lease with an unused permit needs no space to wait. It
// comes at any step of another call that waits and starts.
func TestModelLeaseMoveBesideATally(t *testing.T) {
	in(t, "pool-lease-move-beside-a-tally", 1, pool.Config{Lanes: 1, Concurrency: 2, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		w.p.TakeFree(0)
		l := w.lease()
		end, ended := latch()
		a := w.step("a", func(context.Context) { ended() })
		w.m.Go("one", func() { w.ended(a)(pool.CallOn(background, l, w.remote, a)) })
		w.m.Go("worker", func() { w.p.GiveUp(0) })
		w.m.Go("other", func() {
			leave, ok := w.p.AdmitUnusedAt(0)
			if !ok {
				w.m.Fatalf("one call has one of two permits, and there is no space for a second")
			}
			leave()
			end()
		})
	})
}

// TestModelWaitingCallLeavesThePermit checks that a walk finds a lane whose only call has begun to wait there, also if
// an earlier walk has cleared the bit of the lane.
func TestModelWaitingCallLeavesThePermit(t *testing.T) {
	check(t, "pool-waiting-call-leaves-the-permit", interleave.Options{Preemptions: 1}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.p.ClearAtOnce()
		leave := w.p.Occupy(0)
		if n := w.p.Unused(1); n != 0 {
			w.m.Fatalf("%d permits are unused beside a call that has come", n)
		}
		start := w.p.CountWaiting(0)
		if n := w.p.Unused(1); n != 1 {
			w.m.Fatalf("%d permits are unused beside a call that waits", n)
		}
		start()
		leave()
	})
}

// TestModelLeaseCallersNeedNoMoreSpace checks that through a lease one caller more than the lane has permits needs
// space for one call. The one that waits is not counted at the lane as well.
func TestModelLeaseCallersNeedNoMoreSpace(t *testing.T) {
	draw(t, "pool-lease-callers", 5_000, 1, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		l := w.lease()
		for _, caller := range []string{"one", "other"} {
			a, b := w.step(caller+" a", nil), w.step(caller+" b", nil)
			w.m.Go(caller, func() {
				w.ended(a)(pool.CallOn(background, l, w.remote, a))
				w.ended(b)(pool.CallOn(background, l, w.remote, b))
			})
		}
	})
}

// TestModelCallsBesideABlockedHandler checks the law of TestModelCallAfterCall beside a handler
// that has given its permit up.
func TestModelCallsBesideABlockedHandler(t *testing.T) {
	in(t, "pool-calls-beside-a-blocked-handler", 1, pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		begin, begun := latch()
		end, ended := latch()
		z := w.step("z", func(context.Context) { w.p.Blocking(func() { begin(); ended() }) })
		a, b := w.step("a", nil), w.step("b", nil)
		_, await := w.start(background, w.remote, z)
		w.m.Go("caller", func() {
			begun()
			w.call(background, w.remote, a)
			w.call(background, w.remote, b)
			end()
			await()
		})
	})
}

// TestModelLeaseCallAfterCallNeedsNoBacklog checks that a call through a lease needs no space
// to wait when the call before it has ended.
func TestModelLeaseCallAfterCallNeedsNoBacklog(t *testing.T) {
	in(t, "pool-lease-call-after-call", 1, pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			l := w.lease()
			w.ended(a)(pool.CallOn(background, l, w.remote, a))
			w.ended(b)(pool.CallOn(background, l, w.remote, b))
			l.Release()
		})
	})
}

// TestModelLeasePermitsNeedNoBacklog checks that as many calls through a lease as its lane has permits need no
// space to wait.
func TestModelLeasePermitsNeedNoBacklog(t *testing.T) {
	in(t, "pool-lease-permits-need-no-backlog", 1, pool.Config{Lanes: 1, Concurrency: 3, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		a, b, c := w.step("a", nil), w.step("b", nil), w.step("c", nil)
		l := w.lease()
		w.m.Go("caller", func() {
			first, second := pool.GoOn(background, l, w.remote, a), pool.GoOn(background, l, w.remote, b)
			w.ended(c)(pool.CallOn(background, l, w.remote, c))
			w.ended(a)(first.Await())
			w.ended(b)(second.Await())
			l.Release()
		})
	})
}

// TestModelPermitsNeedNoBacklog checks that as many calls as a lane has permits need no space
// to wait. They come at any step of the start of the first.
func TestModelPermitsNeedNoBacklog(t *testing.T) {
	in(t, "pool-permits-need-no-backlog", 1, pool.Config{Lanes: 1, Concurrency: 2, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		_, first := w.start(background, w.remote, a)
		w.m.Go("caller", func() {
			w.call(background, w.remote, b)
			first()
		})
	})
}

// TestModelPermitsLeaveNoSpace checks that one call more than a lane has permits finds no space without a backlog. It
// comes at any step of the start of the last call that gets a permit, which has waited in a queue.
func TestModelPermitsLeaveNoSpace(t *testing.T) {
	for _, name := range []string{"pool-permits-leave-no-space", "pool-lease-permits-leave-no-space"} {
		in(t, name, 2, pool.Config{Lanes: 1, Concurrency: 2, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
			w.only(nil)
			hold := func() (end func(), s *step) {
				end, ended := latch()
				return end, w.step("held", func(context.Context) { ended() })
			}
			endFirst, a := hold()
			endSecond, b := hold()
			start := func(s *step) func() { _, await := w.start(background, w.remote, s); return await }
			admit, release := w.p.AdmitUnused, func() {}
			if name == "pool-lease-permits-leave-no-space" {
				l := w.lease()
				start = func(s *step) func() {
					fu := pool.GoOn(background, l, w.remote, s)
					return func() { w.ended(s)(fu.Await()) }
				}
				admit, release = func() (func(), bool) { return w.p.AdmitUnusedAt(0) }, l.Release
			}
			first, second := start(a), start(b)
			w.m.Go("caller", func() {
				if _, ok := admit(); ok {
					w.m.Fatalf("two calls have the two permits, and there is space for another one")
				}
				endFirst()
				endSecond()
				first()
				second()
				release()
			})
		})
	}
}

// TestModelRefusalTakesNoPermit checks that a call that is being refused has no permit. The call that has the permit ends
// while another one is refused, or before. Afterwards there is space for a third call, unless the second one has the
// permit.
func TestModelRefusalTakesNoPermit(t *testing.T) {
	in(t, "pool-refusal-takes-no-permit", 1, pool.Config{Lanes: 1, Backlog: pool.NoBacklog, Overflow: pool.Fail}, func(w *world) {
		w.only(nil, pool.ErrBacklogFull)
		l := w.lease()
		start := func(s *step) (wait func()) {
			fu := pool.GoOn(background, l, w.remote, s)
			return func() { w.ended(s)(fu.Await()) }
		}
		end, ended := latch()
		wait := start(w.step("held", func(context.Context) { ended() }))
		second, admitted := w.step("second", nil), false
		w.m.Go("second", func() { start(second)() })
		w.m.Go("third", func() {
			end()
			wait()
			if leave, ok := w.p.AdmitUnusedAt(0); ok {
				admitted = true
				leave()
			}
		})
		w.m.Final(func() {
			if !admitted && second.err != nil {
				w.m.Fatalf("a permit is free, and there is no space: %v", second.err)
			}
		})
	})
}

// TestModelSharedResize takes a lane out while calls wait and brings it back. The calls run.
func TestModelSharedResize(t *testing.T) {
	in(t, "pool-shared-resize", 1, pool.Config{Lanes: 2, Balancer: lane0{}}, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() {
			_, first := w.start(background, w.remote, a)
			_, second := w.start(background, w.remote, b)
			first()
			second()
		})
		w.m.Go("resizer", func() {
			for _, lanes := range []int{1, 2} {
				if err := w.p.Resize(background, lanes); err != nil {
					w.m.Fatalf("Resize = %v", err)
				}
			}
		})
	})
}

// TestModelSharedClose checks that Close ends each call that waits in the queue of the pool.
// Its sender, the goroutine that ends it, or a dropper may have come to any step.
func TestModelSharedClose(t *testing.T) {
	in(t, "pool-shared-close", 1, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.DropOldest}, func(w *world) {
		w.only(nil, pool.ErrClosed, pool.ErrDropped)
		w.p.Pause()
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("one", func() { w.call(background, w.remote, a) })
		w.m.Go("other", func() { w.call(background, w.remote, b) })
		w.m.Go("closer", w.close)
	})
}

// TestModelPauseBehindEnded checks that a call that is made during a pause does not start when
// a runner has just passed one that had ended.
func TestModelPauseBehindEnded(t *testing.T) {
	in(t, "pool-pause-behind-ended", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		var paused note
		w.p.Pause()
		future, ended := w.start(background, w.remote, w.step("ended", nil))
		future.End(errGone)
		ended()
		w.p.ResumeSilently()
		a := w.step("a", func(context.Context) {
			if paused.add(0) != 0 {
				w.m.Fatalf("a call that was made during the pause has started")
			}
		})
		w.m.Go("drain", func() { w.p.Drain(0) })
		w.m.Go("pauser", func() {
			w.p.Pause()
			paused.add(1)
			_, await := w.start(background, w.remote, a)
			interleave.Yield()
			paused.add(-1)
			w.p.Resume()
			await()
		})
	})
}

// TestModelLeaseOrder checks that calls through a lease start in their order. The caller may
// run the last one itself.
func TestModelLeaseOrder(t *testing.T) {
	in(t, "pool-lease-order", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		l := w.lease()
		w.p.Pause()
		w.m.Go("caller", func() {
			future := pool.GoOn(background, l, w.remote, a)
			w.p.ResumeSilently()
			w.ended(b)(pool.CallOn(background, l, w.direct, b))
			w.ended(a)(future.Await())
			l.Release()
		})
		w.inOrder(a, b)
	})
}

// TestModelBlockedCallLeaves has a blocked call start, because its lane becomes free, while another call
// becomes a blocked one. No caller continues whose call is not the first that waits.
func TestModelBlockedCallLeaves(t *testing.T) {
	draw(t, "pool-blocked-call-leaves", many, 1, pool.Config{Lanes: 2, Backlog: 1}, func(w *world) {
		w.only(nil)
		ends := []func(){w.occupy(0, 1), w.occupy(1, 1)}
		ids := []pool.LaneID{w.p.Lanes()[0].ID, w.p.Lanes()[1].ID}
		a, b, c, d := w.step("a", nil), w.step("b", nil), w.step("c", nil), w.step("d", nil)
		var freed note
		first := pool.GoAt(background, ids[0], w.remote, a)
		w.m.Go("behind", func() {
			future := pool.GoAt(background, ids[0], w.remote, b)
			if freed.add(0) == 0 {
				w.m.Fatalf("a blocked caller continues, and two calls wait")
			}
			w.ended(b)(future.Await())
		})
		w.m.Go("other", func() {
			w.ended(c)(pool.CallAt(background, ids[1], w.remote, c))
			freed.add(1)
			ends[0]()
			w.ended(a)(first.Await())
		})
		w.m.Go("ender", ends[1])
		w.m.Go("last", func() { w.ended(d)(pool.CallAt(background, ids[0], w.remote, d)) })
	})
}
