package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/pool"
)

// hooked is a context that never ends. It reports when a function is registered for its end, and
// when that is removed.
type hooked struct {
	context.Context
	done      chan struct{}
	asked     atomic.Int32
	stopped   sync.Once
	ask, stop func() // called once each
}

func newHooked() *hooked {
	none := func() {}
	return &hooked{Context: bg, done: make(chan struct{}), ask: none, stop: none}
}

// Done is first asked while the call is being made: after the look at its lease, and before its
// lane accepts it.
func (c *hooked) Done() <-chan struct{} {
	if c.asked.Add(1) == 1 {
		c.ask()
	}
	return c.done
}

// AfterFunc returns what is called while such a call ends.
func (c *hooked) AfterFunc(func()) (stop func() bool) {
	return func() bool {
		c.stopped.Do(c.stop)
		return true
	}
}

// TestDiscardDuringRelease: a Discard that is ending the calls of its lane when the lease is
// released ends no call that is made from then on.
func TestDiscardDuringRelease(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Abortable: true})
		p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency})
		p.Pause()
		l, err := p.Acquire(within(t))
		must(t, err)
		ctx := newHooked()
		var next *pool.Future[int]
		ctx.stop = func() {
			l.Release()
			next = f.Go(bg, 2)
		}
		discarded := pool.GoOn(ctx, l, f, 1)
		ends(t, "Discard", func() { l.Discard(errWhy) })
		_, err = wait(t, discarded)
		mustBe(t, err, errWhy, pool.ErrNotStarted)
		p.Resume()
		if v, err := wait(t, next); err != nil {
			mustBe(t, err, pool.ErrAllLeased, pool.ErrNotStarted)
		} else if v != 4 {
			t.Errorf("result %d", v)
		}
		if v, err := f.Call(bg, 3); v != 6 || err != nil {
			t.Errorf("afterwards: %d, %v", v, err)
		}
		balanced(t, p)
	}
}

// TestCallOnDuringRelease: a call that is being made through a lease, when that is released
// and another one gets the lane, does not run.
func TestCallOnDuringRelease(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Abortable: true})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	for name, call := range map[string]func(context.Context, *pool.Lease) (int, error){
		"CallOn": func(ctx context.Context, l *pool.Lease) (int, error) { return pool.CallOn(ctx, l, f, 1) },
		"GoOn":   func(ctx context.Context, l *pool.Lease) (int, error) { return pool.GoOn(ctx, l, f, 1).Wait(bg) },
	} {
		mine, err := p.Acquire(within(t))
		must(t, err)
		var others *pool.Lease
		ctx := newHooked()
		ctx.ask = func() {
			mine.Release()
			if others, err = p.Acquire(within(t)); err != nil {
				t.Errorf("Acquire = %v", err)
			}
		}
		before := p.Lanes()[0].Accepted
		v, err := call(ctx, mine)
		if err == nil {
			t.Errorf("%s = %d on the lane of another one", name, v)
		} else {
			mustBe(t, err, pool.ErrLeaseOver, pool.ErrNotStarted)
		}
		if v, err := pool.CallOn(bg, others, f, 2); v != 4 || err != nil {
			t.Errorf("the call of the other one: %d, %v", v, err)
		}
		if n := p.Lanes()[0].Accepted - before; n != 1 {
			t.Errorf("%s: the lane has taken %d calls", name, n)
		}
		others.Release()
	}
	balanced(t, p)
}

// TestDiscardBesideRelease: a Discard beside the Release of the lease ends no call that was
// made after that.
func TestDiscardBesideRelease(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for round := range rounds {
		l, err := p.Acquire(within(t))
		must(t, err)
		p.Pause()
		first := pool.GoOn(bg, l, f, 0)
		for range 100 {
			pool.GoOn(bg, l, f, 0)
		}
		var wg sync.WaitGroup
		wg.Go(func() { l.Discard(errWhy) })
		until(t, "Discard", func() bool { return round%2 == 0 || settled(first) })
		l.Release()
		var fs []*pool.Future[int]
		for i := range 5 {
			fs = append(fs, f.Go(bg, i))
		}
		p.Resume()
		for i, fu := range fs {
			if v, err := wait(t, fu); err != nil {
				mustBe(t, err, pool.ErrAllLeased) // Discard was not over
			} else if v != 2*i {
				t.Fatalf("call %d: %d", i, v)
			}
		}
		ends(t, "Discard", wg.Wait)
	}
	balanced(t, p)
}

// TestCallOnBesideRelease: a call through a lease that is being released does not run
// while another one has leased the lane.
func TestCallOnBesideRelease(t *testing.T) {
	for _, remote := range []bool{false, true} {
		var h pool.Handlers
		var leased atomic.Bool
		var intruders atomic.Int64
		f := pool.Register(&h, "look", func(context.Context, int) (int, error) {
			if leased.Load() {
				intruders.Add(1)
			}
			return 0, nil
		}, pool.TaskOptions{Remote: remote})
		p := newPool(t, &h, pool.Config{Lanes: 1})
		var current atomic.Pointer[pool.Lease]
		var stop atomic.Bool
		var wg sync.WaitGroup
		for _, call := range []func(l *pool.Lease) error{
			func(l *pool.Lease) error { _, err := pool.CallOn(bg, l, f, 1); return err },
			func(l *pool.Lease) error { _, err := pool.GoOn(bg, l, f, 1).Wait(bg); return err },
		} {
			wg.Go(func() {
				for !stop.Load() {
					l := current.Load()
					if l == nil {
						runtime.Gosched()
						continue
					}
					if err := call(l); err != nil && !errors.Is(err, pool.ErrLeaseOver) {
						t.Errorf("a call through a lease: %v", err)
					}
				}
			})
		}
		rounds := 300
		if testing.Short() {
			rounds = 50
		}
		for range rounds {
			mine, err := p.Acquire(within(t))
			must(t, err)
			current.Store(mine)
			p.Metrics() // takes a while
			current.Store(nil)
			mine.Release()
			others, err := p.Acquire(within(t))
			must(t, err)
			leased.Store(true)
			p.Metrics()
			leased.Store(false)
			others.Release()
		}
		stop.Store(true)
		ends(t, "the callers", wg.Wait)
		if n := intruders.Load(); n != 0 {
			t.Errorf("%d calls through leases that were over ran on the lane of another one", n)
		}
		balanced(t, p)
	}
}

// TestResizeGrants: a goroutine that waits for any lane gets one that Resize adds.
func TestResizeGrants(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 1})
	mine, err := p.Acquire(within(t))
	must(t, err)
	got := acquire(t, p.Acquire)
	until(t, "a waiter", func() bool { return p.LeaseWaiters() == 1 })
	must(t, p.Resize(within(t), 2))
	a := came(t, "the lease of the new lane", got)
	must(t, a.err)
	if n := a.lease.Lane(); n != 1 {
		t.Errorf("it is lane %d", n)
	}
	a.lease.Release()
	mine.Release()
}

// TestAcquireLaneResizedAway: a goroutine that waits for a lane that Resize takes out learns that
// the lane is gone.
func TestAcquireLaneResizedAway(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 2})
	mine, err := p.AcquireLane(within(t), 1)
	must(t, err)
	got := acquire(t, func(ctx context.Context) (*pool.Lease, error) { return p.AcquireLane(ctx, 1) })
	until(t, "a waiter", func() bool { return p.LeaseWaiters() == 1 })
	must(t, p.Resize(within(t), 1))
	mine.Release()
	a := came(t, "the end of the wait", got)
	if a.lease != nil {
		t.Error("a lease")
	}
	mustBe(t, a.err, pool.ErrNoSuchLane)
}

// acquired is what Acquire has returned.
type acquired struct {
	lease *pool.Lease
	err   error
}

// acquire waits for a lane on a goroutine of its own.
func acquire(t *testing.T, from func(context.Context) (*pool.Lease, error)) <-chan acquired {
	t.Helper()
	ctx, got := within(t), make(chan acquired, 1)
	go func() {
		l, err := from(ctx)
		got <- acquired{l, err}
	}()
	return got
}

// TestBootstrapPanics: a pool whose Bootstrap panics in Resize has the lanes that it had,
// and goes on.
func TestBootstrapPanics(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	var quiet atomic.Bool
	p := newPool(t, &h, pool.Config{Lanes: 1, Bootstrap: func(_ context.Context, lane int) error {
		if lane > 0 && !quiet.Load() {
			panic("no lane today")
		}
		return nil
	}})
	if v := panicOf(func() { _ = p.Resize(within(t), 2) }); v != "no lane today" {
		t.Errorf("Resize panics with %v", v)
	}
	ends(t, "a pool whose Bootstrap has panicked", func() {
		if n := len(p.Lanes()); n != 1 {
			t.Errorf("%d lanes", n)
		}
		if v, err := f.Call(bg, 2); v != 4 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
		quiet.Store(true)
		if err := p.Resize(bg, 2); err != nil {
			t.Errorf("Resize = %v", err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
}

// TestBootstrapWaits: a Bootstrap that waits for the calls of its pool does not wait for
// the Resize that it is part of.
func TestBootstrapWaits(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	p = newPool(t, &h, pool.Config{Lanes: 1, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 0 {
			return nil
		}
		return p.Wait(bg)
	}})
	ends(t, "Resize", func() {
		if err := p.Resize(bg, 2); err != nil {
			t.Errorf("Resize = %v", err)
		}
	})
	if n := len(p.Lanes()); n != 2 {
		t.Errorf("%d lanes", n)
	}
}

// TestWaitForOneself: a handler that would wait for its own end, because it waits for its own lane
// or its own future, gets an error that says so.
func TestWaitForOneself(t *testing.T) {
	for _, remote := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			var p *pool.Pool
			var own *pool.Future[int]
			limit := within(t)
			o, made := pool.TaskOptions{Remote: remote}, make(chan struct{})
			any1 := pool.Register(&h, "any lane", func(context.Context, int) (int, error) {
				_, err := p.Acquire(limit)
				return 0, err
			}, o)
			this := pool.Register(&h, "this lane", func(_ context.Context, n int) (int, error) {
				_, err := p.AcquireLane(limit, n)
				return 0, err
			}, o)
			self := pool.Register(&h, "own future", func(context.Context, int) (int, error) {
				<-made
				return own.Wait(limit)
			}, o)
			p = newPool(t, &h, pool.Config{Lanes: 1})
			_, err := any1.Call(bg, 0)
			mustBe(t, err, pool.ErrInHandler)
			_, err = this.Call(bg, 0)
			mustBe(t, err, pool.ErrInHandler)
			own = self.Go(bg, 0)
			close(made)
			_, err = wait(t, own)
			mustBe(t, err, pool.ErrInHandler)
			if n := p.LeaseWaiters(); n != 0 {
				t.Errorf("%d wait for a lane", n)
			}
			balanced(t, p)
		})
	}
}

// TestAcquireInHandler: a handler may lease a lane that is not its own.
func TestAcquireInHandler(t *testing.T) {
	for _, remote := range []bool{false, true} {
		var h pool.Handlers
		var p *pool.Pool
		limit := within(t)
		f := pool.Register(&h, "acquire", func(_ context.Context, n int) (int, error) {
			any1, err := p.Acquire(limit)
			if err != nil {
				return 0, err
			}
			any1.Release()
			l, err := p.AcquireLane(limit, n)
			if err != nil {
				return 0, err
			}
			defer l.Release()
			return l.Lane(), nil
		}, pool.TaskOptions{Remote: remote})
		p = newPool(t, &h, pool.Config{Lanes: 2, Balancer: &fixed{}})
		if v, err := f.Call(bg, 1); v != 1 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
	}
}

// TestPingTakesNoRoom: a lane that stands, with a full backlog, does not answer
// before its handler returns, whatever the policy; and the ping costs no call.
func TestPingTakesNoRoom(t *testing.T) {
	for _, policy := range []pool.Overflow{pool.Block, pool.Fail, pool.CallerRuns, pool.DropOldest} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Overflow: policy})
			fs := fill(t, g, f, 1)
			ctx, cancel := context.WithCancelCause(bg)
			given, kept := ping(ctx, p), ping(bg, p)
			synctest.Wait() // until every waiter has given up
			for _, answer := range []chan error{given, kept} {
				select {
				case err := <-answer:
					t.Fatalf("policy %d: a lane that stands: Ping = %v", policy, err)
				default:
				}
			}
			cancel(errWhy)
			mustBe(t, came(t, "the waiter that gives up", given), errWhy)
			g.release()
			must(t, came(t, "the answer", kept))
			for i, fu := range fs {
				if v := result(t, fu); v != i {
					t.Fatalf("policy %d: call %d: %d", policy, i, v)
				}
			}
			balanced(t, p)
		})
	}
}

// ping pings lane 0 on a goroutine of its own.
func ping(ctx context.Context, p *pool.Pool) chan error {
	answer := make(chan error, 1)
	go func() { answer <- p.Ping(ctx, 0) }()
	return answer
}

// TestPingFirst: the answer to a ping comes before the calls that wait, except for one, which may
// have begun before.
func TestPingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		const n = 20
		for i := range n {
			f.Go(bg, i)
		}
		g.open <- struct{}{} // the others have their turns now
		g.entered(t, 2)
		answer := ping(bg, p)
		synctest.Wait()
		for range 2 { // that which runs, and one that may have begun before the answer
			g.open <- struct{}{}
			synctest.Wait()
		}
		select {
		case err := <-answer:
			must(t, err)
		default:
			t.Error("no answer after two calls")
		}
		g.release()
		must(t, p.Wait(within(t)))
	})
}

// TestPingPaused: the lane of a paused pool answers, and starts nothing for it.
func TestPingPaused(t *testing.T) {
	for _, queued := range []int{0, 3} {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		p.Pause()
		for i := range queued {
			f.Go(bg, i)
		}
		must(t, p.Ping(within(t), 0))
		g.none(t)
		g.release()
		p.Resume()
		balanced(t, p)
	}
}
