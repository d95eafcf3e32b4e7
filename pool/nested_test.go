package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// TestNestedDepth checks that calls inside calls to any depth end. One lane and one worker are
// enough.
func TestNestedDepth(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		for _, way := range []string{"Call", "Go", "RunTask"} {
			var h pool.Handlers
			var p *pool.Pool
			var depth *pool.Func[int, int]
			depth = pool.Register(&h, "depth", func(ctx context.Context, n int) (int, error) {
				if n == 0 {
					return 0, nil
				}
				var v int
				var err error
				switch way {
				case "Call":
					v, err = depth.Call(ctx, n-1)
				case "Go":
					v, err = depth.Go(ctx, n-1).Wait(ctx)
				default:
					var r any
					r, err = p.RunTask(ctx, "depth", n-1)
					v, _ = r.(int)
				}
				return v + 1, err
			}, o)
			if c.Scheduler == nil && !c.LockOSThread && c.Lanes > 0 {
				c.Scheduler = newScheduler(t, sched.Config{MaxWorkers: 1})
			}
			c.AbortCapacity = 2000
			p = newPool(t, &h, c)
			n := 1000
			if c.LockOSThread || raceEnabled {
				n = 200
			}
			if v, err := depth.Call(within(t), n); v != n || err != nil {
				t.Fatalf("%s: depth %d, %v", way, v, err)
			}
			balanced(t, p)
		}
	})
}

// TestNestedAcross checks that handlers of lanes and pools that wait for each other in a circle
// all end. They have a worker each or one for all.
func TestNestedAcross(t *testing.T) {
	shared := newScheduler(t, sched.Config{MaxWorkers: 1})
	for _, tc := range []struct {
		name string
		a, b pool.Config
	}{
		{"two lanes", pool.Config{Lanes: 2}, pool.Config{Lanes: 2}},
		{"one lane each", pool.Config{Lanes: 1}, pool.Config{Lanes: 1}},
		{"permits", pool.Config{Lanes: 1, Concurrency: 2}, pool.Config{Lanes: 1}},
		{"a worker each", pool.Config{Lanes: 1, Scheduler: newScheduler(t, schedConfig)}, pool.Config{Lanes: 1, Scheduler: newScheduler(t, schedConfig)}},
		{"one worker", pool.Config{Lanes: 1, Scheduler: shared}, pool.Config{Lanes: 2, Scheduler: shared}},
		{"inline", inlineOnly(), pool.Config{Lanes: 1}},
	} {
		for _, remote := range []bool{false, true} {
			t.Run(fmt.Sprint(tc.name, " ", remote), func(t *testing.T) {
				var ha, hb pool.Handlers
				var fa, fb *pool.Func[int, int]
				o := pool.TaskOptions{Remote: remote}
				fa = pool.Register(&ha, "a", func(ctx context.Context, n int) (int, error) {
					if n == 0 {
						return 0, nil
					}
					v, err := fb.Call(ctx, n-1)
					return v + 1, err
				}, o)
				fb = pool.Register(&hb, "b", func(ctx context.Context, n int) (int, error) {
					if n == 0 {
						return 0, nil
					}
					v, err := fa.Go(ctx, n-1).Wait(ctx)
					return v + 1, err
				}, o)
				pa, pb := newPool(t, &ha, tc.a), newPool(t, &hb, tc.b)
				n := 100
				if testing.Short() {
					n = 20
				}
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for i := range n {
							if v, err := fa.Call(bg, i); v != i || err != nil {
								t.Errorf("depth %d: %d, %v", i, v, err)
							}
							if v, err := fb.Call(bg, i); v != i || err != nil {
								t.Errorf("depth %d: %d, %v", i, v, err)
							}
						}
					})
				}
				ends(t, "the callers", wg.Wait)
				for _, p := range []*pool.Pool{pa, pb} {
					balanced(t, p)
				}
			})
		}
	}
}

// TestNestedWithLock checks that a handler may hold a lock across a call. The call goes to its
// own lane, where it runs on top of the handler, or to another pool. Other calls of its lane
// want the lock at the same time. They do not run on its goroutine.
func TestNestedWithLock(t *testing.T) {
	for _, own := range []bool{true, false} {
		for _, concurrency := range []int{1, 2} {
			var h, other pool.Handlers
			var mu sync.Mutex
			table := &h
			if !own {
				table = &other
			}
			inner := pool.Register(table, "inner", double)
			outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return inner.Call(ctx, n)
			})
			p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency})
			newPool(t, &other, pool.Config{Lanes: 1})
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					var fs []*pool.Future[int]
					for i := range 50 {
						fs = append(fs, outer.Go(bg, i))
						if v, err := outer.Call(bg, i); v != 2*i || err != nil {
							t.Errorf("Call = %d, %v", v, err)
						}
					}
					for i, fu := range fs {
						if v, err := fu.Wait(bg); v != 2*i || err != nil {
							t.Errorf("Wait = %d, %v", v, err)
						}
					}
				})
			}
			ends(t, "the callers", wg.Wait)
			balanced(t, p)
		}
	}
}

// TestNestedOnItsOwnLane checks that a handler that calls its own lane has its answer. The
// calls that wait there begin in their order.
func TestNestedOnItsOwnLane(t *testing.T) {
	var h pool.Handlers
	var order []int
	inner := pool.Register(&h, "inner", func(_ context.Context, n int) (int, error) { order = append(order, n); return n, nil })
	g := newGate()
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
		if _, err := g.enter(ctx, n); err != nil {
			return 0, err
		}
		if v, err := inner.Call(ctx, 100); v != 100 || err != nil { // at once, on top
			t.Errorf("Call = %d, %v", v, err)
		}
		if v, err := inner.Go(ctx, 200).Wait(ctx); v != 200 || err != nil { // behind what waits
			t.Errorf("Wait = %d, %v", v, err)
		}
		return n, nil
	})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	defer g.release()
	first := outer.Go(bg, 0)
	g.entered(t, 1)
	var fs []*pool.Future[int]
	for i := range 40 {
		fs = append(fs, inner.Go(bg, i))
	}
	g.release()
	result(t, first)
	for _, fu := range fs {
		result(t, fu)
	}
	must(t, p.Wait(within(t)))
	if len(order) != 42 || order[0] != 100 || order[1] != 0 || order[40] != 39 || order[41] != 200 {
		t.Errorf("they ran in the order %v", order)
	}
}

// TestWaitsDoNotKeepLanes checks that the lane of a handler runs the next calls while the
// handler waits for a call.
func TestWaitsDoNotKeepLanes(t *testing.T) {
	var h, other pool.Handlers
	g := newGate()
	gated := pool.Register(&other, "gate", g.enter, pool.TaskOptions{Remote: true})
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) { return gated.Call(ctx, n) })
	quick := pool.Register(&h, "quick", double, pool.TaskOptions{Remote: true})
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	newPool(t, &other, pool.Config{Lanes: 1})
	p := newPool(t, &h, pool.Config{Lanes: 1, Scheduler: s})
	t.Cleanup(g.release)
	first := outer.Go(bg, 3)
	g.entered(t, 1)
	for i := range 100 {
		if v, err := quick.Call(within(t), i); v != 2*i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	if settled(first) {
		t.Fatal("the first call has ended")
	}
	until(t, "the handler to be outside", func() bool { return p.Metrics().Detached == 1 })
	g.release()
	if v := result(t, first); v != 3 {
		t.Fatal(v)
	}
	until(t, "the handler to return", func() bool { return p.Metrics().Detached == 0 })
}

// TestWaitsReleaseAll has a handler that runs on top of a handler of another pool on the
// goroutine of a caller. When it waits, both lanes run their next calls. The schedulers of both
// run other tasks.
func TestWaitsReleaseAll(t *testing.T) {
	one := pool.Config{Lanes: 1, Scheduler: newScheduler(t, sched.Config{MaxWorkers: 1, StallAfter: sched.NeverStalled})}
	two := one
	two.Scheduler = newScheduler(t, sched.Config{MaxWorkers: 1, StallAfter: sched.NeverStalled})
	var h, below, above pool.Handlers
	g := newGate()
	gated := pool.Register(&h, "gate", g.enter)
	inner := pool.Register(&above, "inner", func(ctx context.Context, n int) (int, error) { return gated.Go(ctx, n).Wait(ctx) })
	outer := pool.Register(&below, "outer", func(ctx context.Context, n int) (int, error) { return inner.Call(ctx, n) })
	quick := []*pool.Func[int, int]{
		pool.Register(&below, "quick", double, pool.TaskOptions{Remote: true}),
		pool.Register(&above, "quick", double, pool.TaskOptions{Remote: true}),
	}
	newPool(t, &h, pool.Config{Lanes: 1})
	p, q := newPool(t, &below, one), newPool(t, &above, two)
	t.Cleanup(g.release)
	var wg sync.WaitGroup
	wg.Go(func() {
		if v, err := outer.Call(bg, 3); v != 3 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
	})
	g.entered(t, 1)
	for _, f := range quick {
		if v, err := f.Call(within(t), 2); v != 4 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
	}
	g.release()
	ends(t, "the caller", wg.Wait)
	for _, p := range []*pool.Pool{p, q} {
		if n := p.Lanes()[0].Direct; n != 1 {
			t.Errorf("%d calls ran on the goroutine of their caller", n)
		}
		balanced(t, p)
	}
}

// TestTaskReleasesItsPlace checks that a task that waits for a call releases the place of its
// worker. The law also holds on a scheduler that no pool uses.
func TestTaskReleasesItsPlace(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1, StallAfter: sched.NeverStalled})
	var h pool.Handlers
	g := newGate()
	gated := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	newPool(t, &h, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	waits := s.NewGroup(sched.GroupConfig{})
	waits.Go(func() error {
		_, err := gated.Call(bg, 1)
		return err
	})
	g.entered(t, 1)
	ran := make(chan struct{})
	must(t, s.Go(func() { close(ran) }))
	ends(t, "the task behind the one that waits", func() { <-ran })
	g.release()
	must(t, waits.Wait())
}

// TestBlocking checks that a handler may wait inside Blocking for goroutines that call its
// lane.
func TestBlocking(t *testing.T) {
	for _, lanes := range []int{1, 2} {
		var h pool.Handlers
		var p *pool.Pool
		f := pool.Register(&h, "double", double)
		var sum atomic.Int64
		outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
			p.Blocking(func() {
				var wg sync.WaitGroup
				for i := range n {
					wg.Go(func() {
						v, _ := f.Call(ctx, i)
						sum.Add(int64(v))
					})
				}
				wg.Wait()
			})
			return n, nil
		})
		p = newPool(t, &h, pool.Config{Lanes: lanes})
		for range 20 {
			sum.Store(0)
			result(t, outer.Go(bg, 50))
			if got := sum.Load(); got != 50*49 {
				t.Fatalf("the sum is %d", got)
			}
		}
	}
	p := newPool(t, nil, pool.Config{Lanes: 1})
	ran := false
	p.Blocking(func() { ran = true })
	if !ran {
		t.Error("Blocking outside of handlers did not call its function")
	}
	if r := panicOf(func() { p.Blocking(nil) }); r != "pool: Blocking: nil function" {
		t.Errorf("Blocking(nil) panicked with %v", r)
	}
}

// TestClosedPoolGivesUpItsPlace checks that a handler that waits gives up its place on its
// scheduler although its own pool is closed.
func TestClosedPoolGivesUpItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, sched.Config{MaxWorkers: 1})
		var hp, hq pool.Handlers
		var p *pool.Pool
		g := newGate()
		inner := pool.Register(&hq, "inner", g.enter, pool.TaskOptions{Remote: true})
		outer := pool.Register(&hp, "outer", func(context.Context, int) (int, error) {
			if err := p.Close(); err != nil {
				return 0, err
			}
			return inner.Call(bg, 1)
		}, pool.TaskOptions{Remote: true})
		p = newPool(t, &hp, pool.Config{Lanes: 1, Scheduler: s})
		newPool(t, &hq, pool.Config{Lanes: 1})
		t.Cleanup(g.release)
		fu := outer.Go(bg, 1)
		g.entered(t, 1)
		ran := make(chan struct{})
		must(t, s.Go(func() { close(ran) }))
		came(t, "another task of the scheduler", ran)
		g.release()
		_, err := wait(t, fu)
		mustBe(t, err, pool.ErrThreadClosed)
	})
}

// TestNestedWithoutTheLane has a handler that has given up its lane, where another call runs
// now. The handler makes a call to that lane. That call comes after the other one.
func TestNestedWithoutTheLane(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	g := newGate()
	var returns atomic.Bool
	busy := pool.Register(&h, "busy", func(ctx context.Context, n int) (int, error) {
		defer returns.Store(true)
		return g.enter(ctx, n)
	}, pool.TaskOptions{Remote: true})
	inner := pool.Register(&h, "inner", func(_ context.Context, n int) (int, error) {
		if !returns.Load() {
			t.Error("the call runs beside the other one")
		}
		return 2 * n, nil
	})
	free, goOn := make(chan struct{}), make(chan struct{})
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
		p.Blocking(func() { close(free) })
		<-goOn
		return inner.Call(ctx, n)
	})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	var wg sync.WaitGroup
	wg.Go(func() {
		if v, err := outer.Call(bg, 3); v != 6 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
	})
	<-free
	fu := busy.Go(bg, 1)
	g.entered(t, 1)
	close(goOn)
	until(t, "the inner call to be accepted", func() bool { return p.Metrics().Accepted == 3 })
	g.release()
	result(t, fu)
	ends(t, "the caller", wg.Wait)
	balanced(t, p)
}

// TestInsideHandlersBelow checks that a goroutine that runs a handler on top of a handler of
// another pool is inside both.
func TestInsideHandlersBelow(t *testing.T) {
	var h, above pool.Handlers
	var p, q *pool.Pool
	ended, end := context.WithCancel(bg)
	end() // a wait that is not refused returns
	inner := pool.Register(&above, "inner", func(_ context.Context, n int) (int, error) {
		for _, p := range []*pool.Pool{p, q} {
			if err := p.Wait(ended); !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Wait = %v", err)
			}
		}
		if _, err := p.AcquireLane(ended, 0); !errors.Is(err, pool.ErrInHandler) {
			t.Errorf("AcquireLane = %v", err)
		}
		return n, nil
	})
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) { return inner.Call(ctx, n) })
	p, q = newPool(t, &h, pool.Config{Lanes: 1}), newPool(t, &above, pool.Config{Lanes: 1})
	if v, err := outer.Call(bg, 3); v != 3 || err != nil {
		t.Errorf("Call = %d, %v", v, err)
	}
	for _, p := range []*pool.Pool{p, q} {
		if n := p.Lanes()[0].Direct; n != 1 {
			t.Errorf("%d calls ran on the goroutine of their caller", n)
		}
	}
}
