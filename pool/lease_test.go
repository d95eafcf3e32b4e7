package pool_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestLease: a leased lane gets the calls of its holder, and no others, until Release.
func TestLease(t *testing.T) {
	var h, other pool.Handlers
	f := pool.Register(&h, "double", double)
	foreign := pool.Register(&other, "double", double)
	h.Handle("name", func(_ context.Context, v any) (any, error) { return v, nil })
	p := newPool(t, &h, pool.Config{Lanes: 2})
	newPool(t, &other, pool.Config{Lanes: 1})
	a, err := p.Acquire(within(t))
	must(t, err)
	if a.Lane() != 0 || !p.Lanes()[0].Leased || p.Lanes()[1].Leased {
		t.Fatalf("lane %d: %+v", a.Lane(), p.Lanes())
	}
	for i := range 10 {
		if v, err := f.Call(bg, i); v != 2*i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	if l := p.Lanes(); l[0].Accepted != 0 || l[1].Accepted != 10 {
		t.Errorf("the balancer used the leased lane: %+v", l)
	}
	if v, err := pool.CallOn(bg, a, f, 4); v != 8 || err != nil {
		t.Errorf("CallOn = %d, %v", v, err)
	}
	if v := result(t, pool.GoOn(bg, a, f, 5)); v != 10 {
		t.Errorf("GoOn = %d", v)
	}
	if v, err := a.RunTask(bg, "name", "x"); v != "x" || err != nil {
		t.Errorf("RunTask = %v, %v", v, err)
	}
	var unknown *pool.UnknownTaskError
	if _, err := a.RunTask(bg, "nobody", nil); !errors.As(err, &unknown) {
		t.Errorf("RunTask = %v", err)
	}
	if l := p.Lanes(); l[0].Accepted != 3 {
		t.Errorf("the lease was not used: %+v", l)
	}
	_, err = pool.CallOn(bg, a, foreign, 1)
	mustBe(t, err, pool.ErrForeignLane, pool.ErrNotStarted)
	_, err = wait(t, pool.GoOn(bg, a, foreign, 1))
	mustBe(t, err, pool.ErrForeignLane, pool.ErrNotStarted)
	b, err := p.AcquireLane(within(t), 1)
	must(t, err)
	_, err = f.Call(bg, 1)
	mustBe(t, err, pool.ErrAllLeased, pool.ErrNotStarted)
	_, err = wait(t, f.Go(bg, 1))
	mustBe(t, err, pool.ErrAllLeased, pool.ErrNotStarted)
	a.Release()
	a.Release() // again
	_, err = pool.CallOn(bg, a, f, 1)
	mustBe(t, err, pool.ErrLeaseOver, pool.ErrNotStarted)
	_, err = wait(t, pool.GoOn(bg, a, f, 1))
	mustBe(t, err, pool.ErrLeaseOver, pool.ErrNotStarted)
	_, err = a.RunTask(bg, "name", 1)
	mustBe(t, err, pool.ErrLeaseOver)
	if v, err := f.Call(bg, 1); v != 2 || err != nil {
		t.Errorf("Call = %d, %v", v, err)
	}
	b.Release()
	for _, n := range []int{-1, 2} {
		_, err := p.AcquireLane(bg, n)
		mustBe(t, err, pool.ErrNoSuchLane)
	}
	balanced(t, p)
}

// TestLeaseOfOneLane: the only lane of a pool can be leased, too.
func TestLeaseOfOneLane(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	l, err := p.Acquire(within(t))
	must(t, err)
	_, err = f.Call(bg, 1)
	mustBe(t, err, pool.ErrAllLeased, pool.ErrNotStarted)
	l.Release()
	if v, err := f.Call(bg, 1); v != 2 || err != nil {
		t.Errorf("Call = %d, %v", v, err)
	}
}

// TestLeasesFIFO: those who wait for a lane get one in their order, when it has no call.
func TestLeasesFIFO(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	running := f.Go(bg, 0)
	g.entered(t, 1)
	gone, cancel := context.WithCancelCause(bg)
	cancel(errWhy)
	_, err := p.Acquire(gone)
	mustBe(t, err, errWhy)
	const n = 20
	order := make(chan int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var l *pool.Lease
			var err error
			if i%2 == 0 {
				l, err = p.Acquire(bg)
			} else {
				l, err = p.AcquireLane(bg, 0)
			}
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			l.Release()
		})
		until(t, "the next to wait", func() bool { return p.LeaseWaiters() == i+1 })
	}
	ctx, giveUp := context.WithCancelCause(bg)
	left := make(chan error)
	go func() { _, err := p.Acquire(ctx); left <- err }()
	until(t, "the last to wait", func() bool { return p.LeaseWaiters() == n+1 })
	giveUp(errWhy)
	mustBe(t, came(t, "the waiter that gives up", left), errWhy)
	g.release()
	result(t, running)
	ends(t, "the leases", wg.Wait)
	for i := range n {
		if got := <-order; got != i {
			t.Fatalf("the lease number %d goes to number %d", i, got)
		}
	}
	if w := p.LeaseWaiters(); w != 0 {
		t.Errorf("%d wait", w)
	}
}

// TestLeasesEndWithThePool: a goroutine that waits for a lane learns of the end.
func TestLeasesEndWithThePool(t *testing.T) {
	for _, way := range []string{"Close", "Shutdown"} {
		var h pool.Handlers
		p := newPool(t, &h, pool.Config{Lanes: 1})
		l, err := p.Acquire(within(t))
		must(t, err)
		got := make(chan error)
		go func() { _, err := p.Acquire(bg); got <- err }()
		until(t, "a waiter", func() bool { return p.LeaseWaiters() == 1 })
		if way == "Close" {
			must(t, p.Close())
		} else {
			must(t, p.Shutdown(within(t)))
		}
		mustBe(t, came(t, "the end", got), pool.ErrPoolShutdown)
		l.Release()
		l.Discard(nil)
	}
}

// TestDiscard: Discard ends all calls of the lane, the one that runs included, and the
// lane goes on without its handler.
func TestDiscard(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		for _, why := range []error{nil, errWhy} {
			g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
			l, err := p.AcquireLane(within(t), 1)
			must(t, err)
			var fs []*pool.Future[int]
			for i := range 50 {
				fs = append(fs, pool.GoOn(bg, l, f, i))
			}
			begun := g.entered(t, concurrency)
			l.Discard(why)
			l.Discard(errors.New("again"))
			want := why
			if why == nil {
				want = pool.ErrLaneDiscarded
			}
			for i, fu := range fs {
				_, err := wait(t, fu)
				mustBe(t, err, want)
				if errors.Is(err, pool.ErrNotStarted) == (i < len(begun)) {
					t.Errorf("call %d: %v", i, err)
				}
			}
			_, err = pool.CallOn(bg, l, f, 1)
			mustBe(t, err, pool.ErrLeaseOver)
			if m := p.Metrics(); m.Outside != concurrency {
				t.Errorf("%d handlers are left behind", m.Outside)
			}
			next := []*pool.Future[int]{f.Go(bg, 100), f.Go(bg, 101)}
			g.entered(t, 2)
			g.release()
			for i, fu := range next {
				if v := result(t, fu); v != 100+i {
					t.Fatalf("afterwards: %d", v)
				}
			}
			must(t, p.Wait(within(t)))
			until(t, "the handlers to return", func() bool { return p.Metrics().Outside == 0 })
			balanced(t, p)
		}
	}
}

// TestLeaseStress: goroutines that lease lanes, call on them, discard them and give them
// back, beside others that just call, all get what is theirs.
func TestLeaseStress(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 3})
	n := 1000
	if testing.Short() {
		n = 150
	}
	var wg sync.WaitGroup
	rnd := newRand(t)
	for g := range 4 {
		wg.Go(func() {
			r := rnd(g)
			for i := range n {
				l, err := p.Acquire(bg)
				if err != nil {
					t.Error(err)
					return
				}
				fu := pool.GoOn(bg, l, f, i)
				if v, err := pool.CallOn(bg, l, f, i); v != 2*i || err != nil {
					t.Errorf("CallOn = %d, %v", v, err)
				}
				if r.IntN(3) == 0 {
					l.Discard(errWhy)
				} else {
					l.Release()
				}
				if v, err := fu.Wait(bg); err == nil && v != 2*i || err != nil && !errors.Is(err, errWhy) {
					t.Errorf("Wait = %d, %v", v, err)
				}
			}
		})
		wg.Go(func() {
			for i := range n {
				v, err := f.Call(bg, i)
				if err == nil && v != 2*i || err != nil && !errors.Is(err, pool.ErrAllLeased) && !errors.Is(err, errWhy) {
					t.Errorf("Call = %d, %v", v, err)
				}
			}
		})
	}
	ends(t, "the callers", wg.Wait)
	must(t, p.Wait(within(t)))
	balanced(t, p)
	for _, l := range p.Lanes() {
		if l.Leased {
			t.Errorf("%+v is still leased", l)
		}
	}
}
