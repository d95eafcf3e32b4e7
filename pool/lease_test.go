package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// TestLease checks that a leased lane gets the calls of its holder and no others until Release.
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

// TestLeaseRunTask checks that RunTask of a lease refuses the tasks that RunTask of the pool
// refuses. It refuses all tasks when the lease is over.
func TestLeaseRunTask(t *testing.T) {
	var h pool.Handlers
	pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	l, err := p.Acquire(bg)
	must(t, err)
	if v, err := l.RunTask(bg, "double", 2); v != 4 || err != nil {
		t.Errorf("double(2) = %v, %v", v, err)
	}
	_, err = l.RunTask(bg, "double", "two")
	mustBe(t, err, pool.ErrPayloadType, pool.ErrNotStarted)
	l.Release()
	for _, name := range []string{"double", "request", "unknown"} {
		_, err = l.RunTask(bg, name, 2)
		mustBe(t, err, pool.ErrLeaseOver, pool.ErrNotStarted)
	}
}

// TestLeaseOfOneLane checks that the only lane of a pool can be leased too.
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

// TestLeasesFIFO checks that goroutines that wait for a lane get one in their order when it has
// no call.
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
		t.Errorf("%d goroutines wait for a lease, want 0", w)
	}
}

// TestAcquireInHandler checks that a handler may lease a lane that is not its own.
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

// TestLeasesEndWithThePool checks that a goroutine that waits for a lane learns of the end.
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

// TestClosedPoolLeasesNothing checks that a pool that is closed leases nothing.
func TestClosedPoolLeasesNothing(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 1})
	must(t, p.Close())
	l, err := p.Acquire(within(t))
	if l != nil {
		t.Error("a closed pool has leased a lane")
	}
	mustBe(t, err, pool.ErrPoolShutdown)
	_, err = p.AcquireLane(within(t), 0)
	mustBe(t, err, pool.ErrPoolShutdown)
}

// TestDiscard checks that Discard ends all calls of the lane. The one that runs is included.
// The lane goes on without its handler.
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
			if m := p.Metrics(); m.Detached != concurrency {
				t.Errorf("%d handlers are left behind", m.Detached)
			}
			next := []*pool.Future[int]{f.Go(bg, 100), f.Go(bg, 101)}
			g.entered(t, 2)
			g.release()
			for i, fu := range next {
				if v := result(t, fu); v != 100+i {
					t.Fatalf("after Discard call %d returned %d, want %d", i, v, 100+i)
				}
			}
			must(t, p.Wait(within(t)))
			until(t, "the handlers to return", func() bool { return p.Metrics().Detached == 0 })
			balanced(t, p)
		}
	}
}

// TestDiscardEndsCallsThatWaitForSpace checks that Discard also ends the calls of its lease
// that wait for space.
func TestDiscardEndsCallsThatWaitForSpace(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Concurrency: concurrency})
			lease, err := p.Acquire(bg)
			must(t, err)
			var futures []*pool.Future[int]
			for i := range concurrency {
				futures = append(futures, pool.GoOn(bg, lease, f, i))
				g.entered(t, 1)
			}
			futures = append(futures, pool.GoOn(bg, lease, f, 10))
			errs := make(chan error, 4)
			for i := range cap(errs) {
				go func() {
					var err error
					if i%2 == 0 {
						_, err = pool.CallOn(bg, lease, f, 99)
					} else {
						_, err = pool.GoOn(bg, lease, f, 99).Wait(bg)
					}
					errs <- err
				}()
			}
			synctest.Wait() // they wait for space
			lease.Discard(errWhy)
			for _, fu := range futures {
				_, err := wait(t, fu)
				mustBe(t, err, errWhy)
			}
			for range cap(errs) {
				mustBe(t, came(t, "the caller", errs), errWhy)
			}
			if n := len(g.in); n != 0 {
				t.Errorf("after Discard %d handlers were entered", n)
			}
			g.release()
			balanced(t, p)
		})
	}
}

// TestDiscardEndsCallerRuns checks that Discard ends the calls of its lane that their callers
// run.
func TestDiscardEndsCallerRuns(t *testing.T) {
	for _, remote := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: remote})
			p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
			t.Cleanup(g.release)
			lease, err := p.Acquire(bg)
			must(t, err)
			futures := []*pool.Future[int]{pool.GoOn(bg, lease, f, 0)}
			g.entered(t, 1)
			futures = append(futures, pool.GoOn(bg, lease, f, 1))
			errs := make(chan error, 1)
			go func() {
				_, err := pool.CallOn(bg, lease, f, 99)
				errs <- err
			}()
			g.entered(t, 1)
			lease.Discard(errWhy)
			for _, fu := range futures {
				_, err := wait(t, fu)
				mustBe(t, err, errWhy)
			}
			if !remote {
				g.release() // the handler has the goroutine of its caller
			}
			mustBe(t, came(t, "the caller", errs), errWhy)
			g.release()
			balanced(t, p)
		})
	}
}

// TestDiscardedLaneGoesOn checks that a lane that was discarded while its drain was queued
// takes calls again.
func TestDiscardedLaneGoesOn(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1, Spawner: unborn{}})
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1, Scheduler: s})
	l, err := p.Acquire(within(t))
	must(t, err)
	why := errors.New("not wanted")
	first := pool.GoOn(bg, l, f, 1)
	l.Discard(why)
	_, err = wait(t, first)
	mustBe(t, err, why, pool.ErrNotStarted)
	second := f.Go(bg, 2)
	must(t, s.Shutdown(within(t))) // runs what is queued
	if v, err := wait(t, second); v != 4 || err != nil {
		t.Fatalf("the next call: %d, %v", v, err)
	}
}

// hooked is a context that never ends. It reports when a function is registered for its end. It
// also reports when that function is removed.
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

// Done is first asked while the call is being made. The question comes after the look at its
// lease and before its lane accepts it.
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

// TestDiscardDuringRelease has a Discard that is ending the calls of its lane when the lease is
// released. It ends no call that is made from then on.
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

// TestDiscardBesideRelease checks that a Discard beside the Release of the lease ends no call
// that was made after the Release.
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

// TestCallOnDuringRelease has a call that is being made through a lease when that is released
// and another lease gets the lane. The call does not run.
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

// TestCallOnBesideRelease checks that a call through a lease that is being released does not
// run while another lease has the lane.
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

// TestLeaseStress has goroutines that lease lanes, call on them, discard them and give them
// back. Some give up their wait. Others just call. All of them get their own outcomes.
func TestLeaseStress(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 150
	}
	for _, concurrency := range []int{1, 2, 3} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, pool.Config{Lanes: 3, Concurrency: concurrency})
		var wg sync.WaitGroup
		rnd := newRand(t)
		for g := range 4 {
			wg.Go(func() {
				r := rnd(g)
				for i := range n {
					ctx, cancel := bg, context.CancelFunc(func() {})
					if r.IntN(4) == 0 {
						ctx, cancel = context.WithTimeout(bg, time.Duration(r.IntN(100))*time.Microsecond)
					}
					var l *pool.Lease
					var err error
					if r.IntN(2) == 0 {
						l, err = p.Acquire(ctx)
					} else {
						l, err = p.AcquireLane(ctx, r.IntN(3))
					}
					cancel()
					if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, pool.ErrLaneDiscarded) {
						continue
					}
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
		balanced(t, p)
		for _, l := range p.Lanes() {
			if l.Leased {
				t.Errorf("%+v is still leased", l)
			}
		}
		if r := p.Reserved(); len(r) != 0 {
			t.Errorf("lanes %v are still reserved", r)
		}
	}
}
