package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/pool"
)

// idOf returns the id of a lane.
func idOf(t *testing.T, p *pool.Pool, number int) pool.LaneID {
	t.Helper()
	for _, l := range p.Lanes() {
		if l.Lane == number {
			return l.ID
		}
	}
	t.Fatalf("no lane %d", number)
	return pool.LaneID{}
}

// TestIDNamesOneGeneration checks that an id names its lane until that is discarded. The
// discard comes with a lease or without one. Then the lane has another id.
func TestIDNamesOneGeneration(t *testing.T) {
	for _, leased := range []bool{true, false} {
		t.Run(fmt.Sprintf("leased=%t", leased), func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 2})
			g.release()
			id := idOf(t, p, 1)
			lease, err := p.AcquireID(bg, id)
			must(t, err)
			if lease.ID() != id || lease.Lane() != 1 {
				t.Fatalf("the lease of %v has lane %v", id, lease.ID())
			}
			if leased {
				lease.Discard(errWhy)
			} else {
				lease.Release()
				must(t, p.Discard(id, errWhy))
			}
			_, err = p.AcquireID(bg, id)
			mustBe(t, err, pool.ErrLaneDiscarded)
			mustBe(t, p.Discard(id, errWhy), pool.ErrLaneDiscarded)
			_, err = pool.CallAt(bg, id, f, 1)
			mustBe(t, err, pool.ErrLaneDiscarded, pool.ErrNotStarted)
			_, err = pool.GoAt(bg, id, f, 1).Wait(bg)
			mustBe(t, err, pool.ErrLaneDiscarded, pool.ErrNotStarted)

			next := idOf(t, p, 1)
			if next.Lane != 1 || next.Generation != id.Generation+1 {
				t.Fatalf("after Discard the lane of %v is %v", id, next)
			}
			lease, err = p.AcquireLane(bg, 1)
			must(t, err)
			if lease.ID() != next {
				t.Fatalf("the lease has %v, want %v", lease.ID(), next)
			}
			lease.Release()
			_, err = pool.CallAt(bg, next, f, 1)
			must(t, err)
			balanced(t, p)
		})
	}
}

// TestIDOfNoLane checks that ids of no lane are refused. They are the zero id, that of the lane
// of the callers, that of a lane that Resize has taken out, and one whose number no lane has.
func TestIDOfNoLane(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2, Inline: &pool.Inline{}})
	g.release()
	out := idOf(t, p, 1)
	must(t, p.Resize(bg, 1))
	for _, id := range []pool.LaneID{{}, {Lane: 0}, idOf(t, p, -1), out, {Lane: 7, Generation: 1}} {
		_, err := p.AcquireID(bg, id)
		mustBe(t, err, pool.ErrNoSuchLane)
		mustBe(t, p.Discard(id, nil), pool.ErrNoSuchLane)
		_, err = pool.CallAt(bg, id, f, 1)
		mustBe(t, err, pool.ErrNoSuchLane, pool.ErrNotStarted)
		_, err = pool.GoAt(bg, id, f, 1).Wait(bg)
		mustBe(t, err, pool.ErrNoSuchLane, pool.ErrNotStarted)
	}
	var h pool.Handlers
	unbound := pool.Register(&h, "", double)
	_, err := pool.CallAt(bg, pool.LaneID{Lane: 0, Generation: 1}, unbound, 1)
	mustBe(t, err, pool.ErrUnbound)
}

// TestCallAtStaysAtItsLane checks that a call by an id waits for its lane while others are
// free. It counts as one that waits. It starts there in the order of its caller.
func TestCallAtStaysAtItsLane(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 3, Concurrency: concurrency})
			id := idOf(t, p, 1)
			var futures []*pool.Future[int]
			for i := range concurrency + 3 {
				futures = append(futures, pool.GoAt(bg, id, f, i))
				synctest.Wait()
			}
			g.entered(t, concurrency)
			g.none(t)
			m := p.Metrics()
			if m.Waiting != 3 || m.Backlog != 3 || m.InFlight != concurrency || m.Lanes[1].InFlight != concurrency {
				t.Fatalf("3 calls wait and %d run: %+v", concurrency, m)
			}
			for i := range 3 {
				g.open <- struct{}{}
				if got := g.entered(t, 1); got[0] != concurrency+i {
					t.Fatalf("call %d has started, want %d", got[0], concurrency+i)
				}
			}
			g.release()
			for _, fu := range futures {
				result(t, fu)
			}
			if l := p.Lanes(); l[1].Ended != uint64(len(futures)) || l[0].Accepted+l[2].Accepted != 0 {
				t.Fatalf("calls of lane 1 are counted elsewhere: %+v", l)
			}
			balanced(t, p)
		})
	}
}

// TestCallAtWaitsBehindALease checks that a call by an id waits while a lease has its lane. It
// does not keep the lane from a lease. After the lease it comes before the next one.
func TestCallAtWaitsBehindALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		lease, err := p.Acquire(bg)
		must(t, err)
		named := pool.GoAt(bg, lease.ID(), f, 1)
		called := make(chan error, 1)
		go func() {
			_, err := pool.CallAt(bg, lease.ID(), f, 2)
			called <- err
		}()
		next := make(chan *pool.Lease, 1)
		synctest.Wait()
		go func() {
			l, err := p.AcquireID(bg, lease.ID())
			if err != nil {
				t.Error(err)
			}
			next <- l
		}()
		through := pool.GoOn(bg, lease, f, 3)
		synctest.Wait()
		if got := g.entered(t, 1); got[0] != 3 {
			t.Fatalf("call %d runs on a leased lane", got[0])
		}
		g.none(t)
		g.open <- struct{}{}
		result(t, through)
		lease.Release()
		if got := g.entered(t, 1); got[0] != 1 {
			t.Fatalf("call %d runs after the lease, want the first that names the lane", got[0])
		}
		if len(next) != 0 {
			t.Fatal("a lane is leased while a call runs there")
		}
		g.open <- struct{}{}
		result(t, named)
		l := came(t, "the next lease", next) // the second call waits behind it
		g.none(t)
		l.Release()
		g.entered(t, 1)
		g.release()
		must(t, came(t, "the second call", called))
		balanced(t, p)
	})
}

// TestCallAtBeforeTheNextLease checks that after a lease the lane takes a call by its id that
// waits before the next lease. It may be the turn of the calls of the pool while none of them
// waits, or while one waits that has ended.
func TestCallAtBeforeTheNextLease(t *testing.T) {
	for _, dead := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1})
			lease, err := p.Acquire(bg)
			must(t, err)
			for round := range 2 { // in the second one it is the turn of the calls of the pool
				named := pool.GoAt(bg, lease.ID(), f, 1)
				next := make(chan *pool.Lease, 1)
				go func() {
					l, err := p.AcquireID(bg, lease.ID())
					if err != nil {
						t.Error(err)
					}
					next <- l
				}()
				synctest.Wait()
				lease.Release()
				synctest.Wait()
				if len(g.in) != 1 || len(next) != 0 {
					t.Errorf("dead=%t, round %d: the lane is leased again, and the call waits", dead, round)
				} else if g.entered(t, 1); dead {
					f.Go(bg, 2).Abort(nil)
				}
				if round == 1 {
					g.release()
				} else {
					g.open <- struct{}{}
				}
				lease = came(t, "the next lease", next)
				if round == 1 {
					lease.Release()
				}
				result(t, named)
			}
			balanced(t, p)
		})
	}
}

// TestDiscardOccupied checks that Pool.Discard ends the calls that run on a lane without a
// lease. It ends the calls that wait there by its id, the lease that has the lane, and the
// waits for it. Calls that name no lane run there afterwards. W-056.
func TestDiscardOccupied(t *testing.T) {
	for _, leased := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1})
			id := idOf(t, p, 0)
			var lease *pool.Lease
			var runs *pool.Future[int]
			if leased {
				var err error
				lease, err = p.Acquire(bg)
				must(t, err)
				runs = pool.GoOn(bg, lease, f, 0)
			} else {
				runs = f.Go(bg, 0)
			}
			g.entered(t, 1)
			ended := []*pool.Future[int]{runs, pool.GoAt(bg, id, f, 1), pool.GoAt(bg, id, f, 2)}
			if leased {
				ended = append(ended, pool.GoOn(bg, lease, f, 3))
			}
			waits := make(chan error, 2)
			go func() {
				_, err := p.AcquireID(bg, id)
				waits <- err
			}()
			go func() {
				_, err := p.AcquireLane(bg, 0)
				waits <- err
			}()
			var other *pool.Future[int]
			if !leased {
				other = f.Go(bg, 4)
			}
			synctest.Wait()
			must(t, p.Discard(id, errWhy))
			for _, fu := range ended {
				_, err := wait(t, fu)
				mustBe(t, err, errWhy)
			}
			for range 2 {
				mustBe(t, came(t, "a wait for the lane", waits), pool.ErrLaneDiscarded)
			}
			if leased {
				_, err := pool.CallOn(bg, lease, f, 5)
				mustBe(t, err, pool.ErrLeaseOver, pool.ErrNotStarted)
				lease.Release() // it has no effect
				lease.Discard(nil)
				other = f.Go(bg, 4)
			}
			if got := g.entered(t, 1); got[0] != 4 {
				t.Fatalf("call %d has started on the lane that was discarded, want 4", got[0])
			}
			g.release()
			result(t, other)
			synctest.Wait()
			if n := p.Metrics().Ends.LaneDiscarded; n != uint64(len(ended)) {
				t.Fatalf("%d calls have ended with the lane, want %d", n, len(ended))
			}
			balanced(t, p)
		})
	}
}

// TestDiscardLeavesTheNextGeneration checks that Discard of a lane ends no call that names its
// next generation. The law holds however the two meet.
func TestDiscardLeavesTheNextGeneration(t *testing.T) {
	_, f, p := doubler(t, pool.Config{Lanes: 1})
	for range 200 {
		id := idOf(t, p, 0)
		done := make(chan error)
		go func() { done <- p.Discard(id, errWhy) }()
		next := id
		for next == id {
			next = idOf(t, p, 0)
		}
		_, err := pool.CallAt(bg, next, f, 1)
		must(t, err)
		must(t, <-done)
	}
	balanced(t, p)
}

// doubler returns a pool whose handler returns at once.
func doubler(t *testing.T, c pool.Config) (*pool.Handlers, *pool.Func[int, int], *pool.Pool) {
	t.Helper()
	h := new(pool.Handlers)
	f := pool.Register(h, "double", double)
	return h, f, newPool(t, h, c)
}

// TestCallAtInsideItsLane checks that a handler that calls its own lane by the id does not wait
// for itself. It may make the call in any way, after it has blocked, and while a lease has the
// lane.
func TestCallAtInsideItsLane(t *testing.T) {
	for _, leased := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			var p *pool.Pool
			inner := pool.Register(&h, "inner", double)
			apart := pool.Register(&h, "apart", double, pool.TaskOptions{Remote: true})
			outer := pool.Register(&h, "outer", func(ctx context.Context, id pool.LaneID) (sum int, err error) {
				for range 2 {
					for _, f := range []*pool.Func[int, int]{inner, apart} {
						n, err := pool.CallAt(ctx, id, f, 1)
						if err != nil {
							return 0, err
						}
						m, err := pool.GoAt(ctx, id, f, 10).Wait(ctx)
						if err != nil {
							return 0, err
						}
						sum += n + m
					}
					p.Blocking(func() {}) // it has no permit then
				}
				return sum, nil
			})
			p = newPool(t, &h, pool.Config{Lanes: 1})
			id := idOf(t, p, 0)
			n, err := 0, error(nil)
			if leased {
				var lease *pool.Lease
				lease, err = p.Acquire(bg)
				must(t, err)
				n, err = pool.CallOn(bg, lease, outer, id)
				lease.Release()
			} else {
				n, err = outer.Call(bg, id)
			}
			if must(t, err); n != 88 {
				t.Fatalf("leased=%t: %d, want 88", leased, n)
			}
			balanced(t, p)
		})
	}
}

// TestResizeEndsNamedCalls checks that Resize ends the calls that wait for a lane by its id
// when it takes the lane out.
func TestResizeEndsNamedCalls(t *testing.T) {
	for _, leased := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 2})
			id := idOf(t, p, 1)
			if leased {
				lease, err := p.AcquireID(bg, id)
				must(t, err)
				defer lease.Release()
			} else {
				p.Pause()
			}
			named := pool.GoAt(bg, id, f, 7)
			must(t, p.Resize(bg, 1))
			_, err := wait(t, named)
			mustBe(t, err, pool.ErrNoSuchLane, pool.ErrNotStarted)
			p.Resume()
			g.release()
			synctest.Wait()
			g.none(t)
			balanced(t, p)
		})
	}
}

// TestNamedCallsThatEnd checks that calls by an id end by their context at any moment beside
// the lane that takes them.
func TestNamedCallsThatEnd(t *testing.T) {
	_, f, p := doubler(t, pool.Config{Lanes: 1})
	id := idOf(t, p, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				ctx, cancel := context.WithCancel(bg)
				named := pool.GoAt(ctx, id, f, 1)
				cancel()
				if _, err := wait(t, named); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	ends(t, "the callers", wg.Wait)
	balanced(t, p)
}

// TestCallAtBacklog checks that calls by an id count in the backlog of the pool. The policy is
// that of the pool. A caller runs its own call only while no lease has the lane.
func TestCallAtBacklog(t *testing.T) {
	for _, policy := range []pool.Overflow{pool.Fail, pool.Block, pool.DropOldest, pool.CallerRuns} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 2, Backlog: 2, Overflow: policy})
			lease, err := p.AcquireLane(bg, 1)
			must(t, err)
			id := lease.ID()
			var futures []*pool.Future[int]
			for i := range 2 {
				futures = append(futures, pool.GoAt(bg, id, f, i))
			}
			third := make(chan *pool.Future[int], 1)
			go func() { third <- pool.GoAt(bg, id, f, 2) }()
			synctest.Wait()
			g.none(t)
			switch policy {
			case pool.Fail:
				refuses(t, "the third call", <-third)
			case pool.DropOldest:
				_, err := wait(t, futures[0])
				mustBe(t, err, pool.ErrDropped, pool.ErrNotStarted)
				futures = append(futures[1:], <-third)
				running := f.Go(bg, 3) // on the other lane
				g.entered(t, 1)
				refuses(t, "a call beside calls of another queue", f.Go(bg, 4))
				futures = append(futures, running)
			case pool.Block, pool.CallerRuns:
				if len(third) != 0 {
					t.Fatalf("policy %d: the caller does not wait for space", policy)
				}
			}
			g.release()
			lease.Release()
			synctest.Wait()
			if policy == pool.Block || policy == pool.CallerRuns {
				futures = append(futures, <-third)
			}
			for _, fu := range futures {
				result(t, fu)
			}
			balanced(t, p)
		})
	}
}

// TestCallAtEnds checks that a call that waits by an id ends at once with its context and with
// the pool.
func TestCallAtEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f, p := gated(t, pool.Config{Lanes: 1})
		lease, err := p.Acquire(bg)
		must(t, err)
		ctx, cancel := context.WithCancelCause(bg)
		first, second := pool.GoAt(ctx, lease.ID(), f, 1), pool.GoAt(bg, lease.ID(), f, 2)
		called := make(chan error, 1)
		go func() {
			_, err := pool.CallAt(ctx, lease.ID(), f, 3)
			called <- err
		}()
		synctest.Wait()
		cancel(errWhy)
		_, err = wait(t, first)
		mustBe(t, err, errWhy, pool.ErrNotStarted)
		mustBe(t, came(t, "the caller", called), errWhy, pool.ErrNotStarted)
		must(t, p.Close())
		_, err = wait(t, second)
		mustBe(t, err, pool.ErrThreadClosed, pool.ErrNotStarted)
	})
}

// TestPausedCallAt checks that a call by an id that is made during a pause starts after the
// pause. It starts behind the calls before it.
func TestPausedCallAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 2})
		p.Pause()
		id := idOf(t, p, 1)
		var futures []*pool.Future[int]
		for i := range 3 {
			futures = append(futures, pool.GoAt(bg, id, f, i))
		}
		synctest.Wait()
		g.none(t)
		g.release()
		p.Resume()
		for _, fu := range futures {
			result(t, fu)
		}
		if got := g.entered(t, 3); !slices.IsSorted(got) {
			t.Errorf("the calls have started in the order %v", got)
		}
		balanced(t, p)
	})
}
