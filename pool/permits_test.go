package pool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// TestConcurrency checks that a lane runs as many calls at once as it may and never more. It
// starts them in their order.
func TestConcurrency(t *testing.T) {
	for _, n := range []int{1, 2, 5, 32} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: n})
		const calls = 100
		var fs []*pool.Future[int]
		for i := range calls {
			fs = append(fs, f.Go(bg, i))
		}
		begun := g.entered(t, n)
		for range 100 {
			runtime.Gosched()
		}
		g.none(t)
		for range calls - n {
			g.open <- struct{}{}
			begun = append(begun, g.entered(t, 1)...)
			g.none(t)
		}
		for i, arg := range begun {
			// Those that begin at the same time do so in any order.
			if d := arg - i; d < -n || d > n {
				t.Fatalf("with %d at once they began in the order %v", n, begun)
			}
		}
		if n == 1 && !slices.IsSorted(begun) {
			t.Fatalf("they began in the order %v", begun)
		}
		g.release()
		echoed(t, fs)
		balanced(t, p)
	}
}

// TestConcurrencyBound checks the bound under load with handlers that wait inside. The calls
// that do not wait are never more than the lane may run.
func TestConcurrencyBound(t *testing.T) {
	for _, n := range []int{1, 3} {
		var h pool.Handlers
		var now, most atomic.Int64
		inner := pool.Register(&h, "inner", func(_ context.Context, v int) (int, error) {
			k := now.Add(1)
			for m := most.Load(); k > m && !most.CompareAndSwap(m, k); m = most.Load() {
			}
			runtime.Gosched()
			now.Add(-1)
			return v, nil
		})
		outer := pool.Register(&h, "outer", func(ctx context.Context, v int) (int, error) {
			return inner.Go(ctx, v).Wait(ctx)
		})
		p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: n, Backlog: pool.Unlimited})
		calls := 2000
		if testing.Short() {
			calls = 300
		}
		var fs []*pool.Future[int]
		for i := range calls {
			fs = append(fs, inner.Go(bg, i), outer.Go(bg, i))
		}
		for i, fu := range fs {
			if v := result(t, fu); v != i/2 {
				t.Fatalf("call %d: %d", i, v)
			}
		}
		if m := most.Load(); m > int64(n) {
			t.Errorf("%d calls ran at once, the lane may run %d", m, n)
		}
		balanced(t, p)
	}
}

// TestPermitsStartOldest checks that a worker that becomes free starts the oldest call. That
// call may have been handed out for a worker whose handler computes now. C-023.
func TestPermitsStartOldest(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var h pool.Handlers
	started, hold := make(chan int, 10), make(chan struct{})
	f := pool.Register(&h, "f", func(_ context.Context, n int) (int, error) {
		started <- n
		if n == 1 {
			<-hold // computes
		}
		return n, nil
	})
	newPool(t, &h, pool.Config{Lanes: 1, Concurrency: 4, Scheduler: s})
	var busy [2]sched.Task // both workers have something to do
	var in, out [2]chan struct{}
	for i := range busy {
		in[i], out[i] = make(chan struct{}), make(chan struct{})
		busy[i].Fn = func(*sched.Worker, *sched.Task) { close(in[i]); <-out[i] }
		must(t, s.Schedule(&busy[i]))
		came(t, "a task", in[i])
	}
	a1, a2 := f.Go(bg, 1), f.Go(bg, 2)
	close(out[0])
	order := []int{came(t, "call 1", started)} // 2 may run, and waits for a worker
	b := f.Go(bg, 3)
	close(out[1])
	order = append(order, came(t, "the next", started), came(t, "the last", started))
	close(hold)
	wait(t, a1)
	wait(t, a2)
	wait(t, b)
	if order[1] != 2 {
		t.Fatalf("calls 1, 2, 3 start in the order %v", order)
	}
}

// TestPermitsStartInOrder checks that the calls whose handlers stand are the first ones. They
// are as many as there are workers. C-023.
func TestPermitsStartInOrder(t *testing.T) {
	const workers, calls = 4, 8
	s := newScheduler(t, sched.Config{MaxWorkers: workers})
	g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: calls, Scheduler: s})
	p.Pause()
	for i := range calls {
		f.Go(bg, i)
	}
	p.Resume()
	begun := g.entered(t, workers)
	slices.Sort(begun)
	if begun[workers-1] != workers-1 {
		t.Errorf("calls %v have begun and stand; those before them wait", begun)
	}
}

// overdue returns a pool whose lane 0 runs an overdue handler. That handler has the argument 0
// and ignores its context, and its call has ended. The returned function makes quick calls of
// the pool.
func overdue(t *testing.T, c pool.Config) (g *gate, quick *pool.Func[int, int], p *pool.Pool) {
	t.Helper()
	var h pool.Handlers
	g = newGate()
	slow := pool.Register(&h, "slow", g.enter)
	quick = pool.Register(&h, "quick", double)
	p = newPool(t, &h, c)
	t.Cleanup(g.release)
	ctx, cancel := context.WithCancel(bg)
	f := slow.Go(ctx, 0)
	g.entered(t, 1)
	cancel()
	if _, err := wait(t, f); err == nil {
		t.Fatal("the call has no error")
	}
	return g, quick, p
}

// TestOverdueHandlerKeepsItsLane checks that the lane of a handler whose call has ended is not
// free. FirstFree passes it. No lease has it before the handler returns.
func TestOverdueHandlerKeepsItsLane(t *testing.T) {
	g, quick, p := overdue(t, pool.Config{Lanes: 4, Balancer: pool.FirstFree()})
	if l := p.Lanes()[0]; l.Overdue != 1 || l.InFlight != 0 {
		t.Fatalf("the lane of an overdue handler: %+v", l)
	}
	for i := range 20 {
		if v, err := quick.Call(within(t), i); v != 2*i || err != nil {
			t.Fatalf("call %d: %d, %v", i, v, err)
		}
	}
	l, err := p.Acquire(within(t))
	must(t, err)
	if l.Lane() != 1 {
		t.Errorf("lane %d is leased, want 1", l.Lane())
	}
	l.Release()
	leased := make(chan error, 1)
	go func() {
		l, err := p.AcquireLane(within(t), 0)
		if err == nil {
			l.Release()
		}
		leased <- err
	}()
	until(t, "a waiter for the lane", func() bool { return p.LeaseWaiters() == 1 })
	g.release()
	must(t, came(t, "the lease", leased))
	if l := p.Lanes()[0]; l.Overdue != 0 {
		t.Errorf("the lane after its handler has returned: %+v", l)
	}
}

// TestOverdueHandlerKeepsResize checks that Resize returns when the overdue handlers of the
// lanes that it takes out have returned.
func TestOverdueHandlerKeepsResize(t *testing.T) {
	var to fixed
	to.lane.Store(1)
	var h pool.Handlers
	g := newGate()
	slow := pool.Register(&h, "slow", g.enter)
	p := newPool(t, &h, pool.Config{Lanes: 2, Balancer: &to})
	t.Cleanup(g.release)
	ctx, cancel := context.WithCancel(bg)
	f := slow.Go(ctx, 0)
	g.entered(t, 1)
	cancel()
	_, _ = wait(t, f)
	short, stop := context.WithCancel(bg)
	resized := make(chan error, 1)
	go func() { resized <- p.Resize(short, 1) }()
	until(t, "the resize", func() bool { return len(p.Lanes()) == 1 })
	stop()
	mustBe(t, came(t, "the end of Resize", resized), context.Canceled)
	go func() { resized <- p.Resize(within(t), 1) }()
	g.release()
	must(t, came(t, "the end of Resize", resized))
}

// TestDetachedHandlerLeavesItsLane checks that a handler that a hard limit has left behind does
// not keep its lane after its call has ended. A handler that blocks in Blocking does not keep
// it either.
func TestDetachedHandlerLeavesItsLane(t *testing.T) {
	for name, tc := range map[string]struct {
		limit  time.Duration
		blocks bool
	}{
		"hard limit": {limit: time.Millisecond},
		"blocking":   {blocks: true},
	} {
		t.Run(name, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			var p *pool.Pool
			slow := pool.Register(&h, "slow", func(ctx context.Context, n int) (v int, err error) {
				if tc.blocks {
					p.Blocking(func() { v, err = g.enter(ctx, n) })
					return v, err
				}
				return g.enter(ctx, n)
			})
			p = newPool(t, &h, pool.Config{Lanes: 1, HardLimit: tc.limit})
			t.Cleanup(g.release)
			ctx, cancel := context.WithCancel(bg)
			f := slow.Go(ctx, 0)
			g.entered(t, 1)
			if tc.blocks {
				cancel()
			}
			if _, err := wait(t, f); err == nil {
				t.Fatal("the call has no error")
			}
			l, err := p.Acquire(within(t))
			must(t, err)
			l.Release()
			if l := p.Lanes()[0]; l.Overdue != 0 {
				t.Errorf("the lane of a detached handler: %+v", l)
			}
			cancel()
		})
	}
}

// TestDiscardedHandlerLeavesItsLane checks that the lane is leased again after Discard. The
// handler of its last call has not returned.
func TestDiscardedHandlerLeavesItsLane(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	slow := pool.Register(&h, "slow", g.enter)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	l, err := p.Acquire(within(t))
	must(t, err)
	f := pool.GoOn(bg, l, slow, 0)
	g.entered(t, 1)
	l.Discard(nil)
	_, err = wait(t, f)
	mustBe(t, err, pool.ErrLaneDiscarded)
	l, err = p.Acquire(within(t))
	must(t, err)
	l.Release()
}

// blocking is the argument of a task that blocks: see blockingTasks.
type blocking struct {
	first, then *gate // entered before and while the handler blocks
	after       func(ctx context.Context) error
}

// blockingTask registers a task that stands, if its argument says so, then blocks, and then does what
// its argument says.
func blockingTask(h *pool.Handlers, p **pool.Pool) *pool.Func[blocking, int] {
	return pool.Register(h, "blocks", func(ctx context.Context, b blocking) (int, error) {
		if b.first != nil {
			_, _ = b.first.enter(ctx, 0)
		}
		(*p).Blocking(func() { _, _ = b.then.enter(ctx, 0) })
		if b.after != nil {
			return 0, b.after(ctx)
		}
		return 0, nil
	}, pool.TaskOptions{Remote: true})
}

// TestBlockedHandlerLeavesItsLane: a handler that waits for a call of another lane does not occupy its
// own. FirstFree picks that, and a lease has it. The handler continues beside the lease, also by calls
// to its lane, so the holder may wait for it.
func TestBlockedHandlerLeavesItsLane(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	inner := pool.Register(&h, "inner", g.enter, pool.TaskOptions{Remote: true})
	quick := pool.Register(&h, "quick", double)
	var ids []pool.LaneID
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
		if _, err := pool.CallAt(ctx, ids[1], inner, n); err != nil {
			return 0, err
		}
		if v, err := pool.CallAt(ctx, ids[0], quick, n); v != 2*n || err != nil {
			t.Errorf("a call to the leased lane of the handler: %d, %v", v, err)
		}
		return quick.Call(ctx, n)
	})
	p := newPool(t, &h, pool.Config{Lanes: 2, Balancer: pool.FirstFree()})
	t.Cleanup(g.release)
	for _, l := range p.Lanes() {
		ids = append(ids, l.ID)
	}
	f := outer.Go(bg, 4)
	g.entered(t, 1)
	until(t, "the handler to wait", func() bool { return len(p.Lanes()[0].Running) == 0 })
	for range 2 {
		if v, err := quick.Call(within(t), 1); v != 2 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	if l := p.Lanes()[0]; l.Accepted != 3 || l.InFlight != 1 {
		t.Errorf("FirstFree has passed the lane of a handler that waits: %+v", l)
	}
	l, err := p.AcquireLane(within(t), 0)
	must(t, err)
	if v, err := pool.CallOn(within(t), l, quick, 5); v != 10 || err != nil {
		t.Errorf("CallOn = %d, %v", v, err)
	}
	g.release()
	if v := result(t, f); v != 8 {
		t.Errorf("the handler that continues beside the lease returns %d", v)
	}
	l.Release()
	balanced(t, p)
}

// TestBlockedHandlerIsSeen: a goroutine that waits for a lane learns that the handler there blocks: a
// lease, and Resize.
func TestBlockedHandlerIsSeen(t *testing.T) {
	for name, waits := range map[string]func(p *pool.Pool) error{
		"AcquireLane": func(p *pool.Pool) error {
			l, err := p.AcquireLane(within(t), 1)
			if err == nil {
				l.Release()
			}
			return err
		},
		"Resize": func(p *pool.Pool) error { return p.Resize(within(t), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			var h pool.Handlers
			var p *pool.Pool
			blocks := blockingTask(&h, &p)
			p = newPool(t, &h, pool.Config{Lanes: 2})
			b := blocking{first: newGate(), then: newGate()}
			t.Cleanup(func() { b.first.release(); b.then.release() })
			f := pool.GoAt(bg, p.Lanes()[1].ID, blocks, b)
			b.first.entered(t, 1)
			done := make(chan error, 1)
			go func() { done <- waits(p) }()
			until(t, "a goroutine that waits", func() bool { return p.Waiters() == 1 })
			b.first.release()
			must(t, came(t, "the end of the wait", done))
			if settled(f) {
				t.Error("the handler has returned")
			}
			b.then.release()
			result(t, f)
			balanced(t, p)
		})
	}
}

// TestLastLaneIsOneThatCallsGoTo checks that a lease of a lane that Resize has taken out does not make
// another lane the last one without a lease. Its handler has blocked, so the lane is leased.
func TestLastLaneIsOneThatCallsGoTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		var p *pool.Pool
		open := make(chan struct{})
		defer close(open)
		blocks := pool.Register(&h, "blocks", func(context.Context, int) (int, error) {
			p.Blocking(func() { <-open })
			return 0, nil
		})
		p = newPool(t, &h, pool.Config{Lanes: 3})
		out, err := p.AcquireLane(bg, 2)
		must(t, err)
		defer out.Release()
		resized := make(chan error, 1)
		go func() { resized <- p.Resize(bg, 2) }()
		synctest.Wait()
		must(t, <-resized)
		pool.GoAt(bg, p.Lanes()[0].ID, blocks, 1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		lease, err := p.AcquireLane(ctx, 0)
		must(t, err)
		lease.Release()
	})
}

// TestLastLaneWaitsForBlockedHandlers: the last lane without a lease is leased only when its calls have
// ended, so a handler that has blocked finds a lane for its calls.
func TestLastLaneWaitsForBlockedHandlers(t *testing.T) {
	for _, lanes := range []int{1, 2} {
		var h pool.Handlers
		var p *pool.Pool
		quick := pool.Register(&h, "quick", double)
		blocks := blockingTask(&h, &p)
		p = newPool(t, &h, pool.Config{Lanes: lanes})
		b := blocking{then: newGate(), after: func(ctx context.Context) error {
			_, err := quick.Go(ctx, 1).Wait(ctx)
			return err
		}}
		t.Cleanup(b.then.release)
		last := lanes - 1
		for i := range last {
			l, err := p.AcquireLane(within(t), i)
			must(t, err)
			defer l.Release()
		}
		f := pool.GoAt(bg, p.Lanes()[last].ID, blocks, b)
		b.then.entered(t, 1)
		until(t, "the handler to block", func() bool { return len(p.Lanes()[last].Running) == 0 })
		leased := make(chan error, 1)
		go func() {
			l, err := p.AcquireLane(within(t), last)
			if err == nil {
				if !settled(f) {
					err = errors.New("the call of a blocked handler has not ended")
				}
				l.Release()
			}
			leased <- err
		}()
		until(t, "a waiter for the lane", func() bool { return p.LeaseWaiters() == 1 })
		b.then.release()
		result(t, f)
		must(t, came(t, "the lease", leased))
	}
}

// looking is a balancer that picks a lane and says whether the lanes are free.
type looking struct {
	fixed
	free atomic.Pointer[[]bool]
}

func (b *looking) Pick(v pool.View) int {
	var free []bool
	for i := range v.Len() {
		free = append(free, v.Free(i))
	}
	b.free.Store(&free)
	return b.fixed.Pick(v)
}

// TestInlineLaneIsFreeWithoutACall: the handlers of the inline lane have no permits, and that lane is
// free only while it has no call.
func TestInlineLaneIsFreeWithoutACall(t *testing.T) {
	b := new(looking)
	g, f, p := gated(t, pool.Config{Lanes: 1, Inline: new(pool.Inline), Balancer: b})
	standing := f.Go(bg, 0)
	g.entered(t, 1)
	b.lane.Store(1)
	ctx, cancel := context.WithCancel(bg)
	over := make(chan error, 1)
	go func() { _, err := f.Call(ctx, 1); over <- err }() // its caller runs it, and it is not plain
	g.entered(t, 1)
	if free := *b.free.Load(); !slices.Equal(free, []bool{false, true}) {
		t.Errorf("before the call to the inline lane these lanes are free: %v", free)
	}
	next := f.Go(bg, 2)
	if free := *b.free.Load(); slices.Contains(free, true) {
		t.Errorf("while both lanes run a handler these are free: %v", free)
	}
	g.release()
	must(t, came(t, "the end of Call", over))
	cancel()
	result(t, standing)
	_, err := next.Wait(within(t)) // this goroutine runs it if no other one has
	must(t, err)
	balanced(t, p)
}

// TestCallersHandlerHasNoLane: a handler that its caller runs because of CallerRuns does not keep its
// lane from being leased.
func TestCallersHandlerHasNoLane(t *testing.T) {
	var h pool.Handlers
	gates := []*gate{newGate(), newGate(), newGate()}
	f := pool.Register(&h, "gate", func(ctx context.Context, n int) (int, error) { return gates[n].enter(ctx, n) })
	p := newPool(t, &h, pool.Config{Lanes: 2, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns, Balancer: &fixed{}})
	t.Cleanup(func() {
		for _, g := range gates {
			g.release()
		}
	})
	var fs [3]*pool.Future[int]
	for n := range 2 {
		fs[n] = f.Go(bg, n) // on lane n
		gates[n].entered(t, 1)
	}
	over := make(chan struct{})
	go func() { defer close(over); fs[2] = f.Go(bg, 2) }() // on lane 0, by its caller
	gates[2].entered(t, 1)
	if l := p.Lanes()[0]; l.InFlight != 2 || len(l.Running) != 1 {
		t.Fatalf("the lane of two handlers, one with a permit: %+v", l)
	}
	gates[0].release()
	l, err := p.AcquireLane(within(t), 0)
	must(t, err)
	l.Release()
	for _, g := range gates {
		g.release()
	}
	came(t, "the end of Go", over)
	echoed(t, fs[:])
	balanced(t, p)
}
