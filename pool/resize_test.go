package pool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	lfsync "github.com/lanewright/lanewright/sync"
)

// TestAddedLanesGetWorkers checks that lanes that Resize adds run calls although the handlers of all
// other lanes block. A worker for them comes every 10 to 20 ms, because the stall monitor looks once in
// 10 ms and marks a worker that has run one task for as long. At most 1,024 come. K-125.
func TestAddedLanesGetWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		const most = 1024
		added := most + 1
		if raceEnabled {
			added = 20 // the race detector takes half a minute for all of them
		}
		processors := runtime.GOMAXPROCS(0) // the pool has a worker for each of them from the start
		must(t, p.Resize(bg, processors+added))
		start := time.Now()
		for i := range processors + added {
			f.Go(bg, i)
		}
		g.entered(t, processors)
		for n := range min(added, most) {
			g.entered(t, 1)
			if d := time.Since(start); d > time.Duration(n+1)*20*time.Millisecond {
				t.Fatalf("worker %d has come after %v", n+1, d)
			}
		}
		time.Sleep(time.Minute)
		g.none(t) // the lane behind the last worker
	})
}

// TestResize checks that lanes come and go. A lane that is taken out finishes the call that it
// runs. The calls that wait run on the lanes that are left. K-127.
func TestResize(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	var booted []int
	p := newPool(t, &h, pool.Config{Lanes: 3, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 5 {
			return errors.New("not that one")
		}
		booted = append(booted, lane)
		return nil
	}})
	t.Cleanup(g.release)
	if len(p.Lanes()) != 3 {
		t.Fatalf("%d lanes", len(p.Lanes()))
	}
	var fs []*pool.Future[int]
	for i := range 30 {
		fs = append(fs, f.Go(bg, i))
	}
	g.entered(t, 3)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	cancel(why)
	mustBe(t, p.Resize(ctx, 1), why)
	if len(p.Lanes()) != 1 || len(p.Metrics().Lanes) != 3 {
		t.Errorf("%d lanes, and %d in the metrics", len(p.Lanes()), len(p.Metrics().Lanes))
	}
	done := make(chan error)
	go func() { done <- p.Resize(within(t), 1) }()
	g.release()
	must(t, came(t, "Resize", done))
	for _, l := range p.Metrics().Lanes[1:] {
		if l.Accepted != l.Ended || l.Ended != 1 {
			t.Errorf("a lane that was taken out: %+v", l)
		}
	}
	echoed(t, fs)
	before := p.Metrics().Lanes
	for i := range 10 {
		if v, err := f.Call(bg, i); v != i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	for i, l := range p.Metrics().Lanes {
		if i > 0 && l.Accepted != before[i].Accepted {
			t.Errorf("lane %d got a call", i)
		}
	}
	must(t, p.Resize(bg, 5))
	before = p.Lanes()
	until(t, "each lane to have a call", func() bool {
		if v, err := f.Call(bg, 7); v != 7 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		return !slices.ContainsFunc(p.Lanes(), func(l pool.LaneInfo) bool { return l.Accepted == before[l.Lane].Accepted })
	})
	for i, l := range p.Lanes() {
		if l.Lane != i {
			t.Errorf("lane %d: %+v", i, l)
		}
	}
	if !slices.Equal(booted, []int{0, 1, 2, 3, 4}) {
		t.Errorf("Bootstrap was called for %v", booted)
	}
	if err := p.Resize(bg, 6); err == nil || len(p.Lanes()) != 5 {
		t.Errorf("Resize with a Bootstrap that fails = %v, %d lanes", err, len(p.Lanes()))
	} else {
		var be *pool.BootstrapError
		if !errors.As(err, &be) || be.Lane != 5 {
			t.Errorf("Resize = %v", err)
		}
	}
	for _, n := range []int{0, -1, 4097} {
		if err := p.Resize(bg, n); err == nil {
			t.Errorf("Resize(%d) succeeds", n)
		}
	}
	must(t, p.Close())
	mustBe(t, p.Resize(bg, 2), pool.ErrPoolShutdown)
}

// TestResizeStartsWaitingCalls checks that a lane that Resize adds or puts back starts calls
// that wait at once. It starts the oldest first. A lane that Resize takes out starts no more of
// them. K-127.
func TestResizeStartsWaitingCalls(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
		for i := range 20 * concurrency {
			f.Go(bg, i)
		}
		g.entered(t, 2*concurrency)
		gone, cancel := context.WithCancel(bg)
		cancel()
		mustBe(t, p.Resize(gone, 1), context.Canceled)
		ended := 0
		for p.Metrics().Lanes[1].InFlight > 0 { // any handler may return first
			g.open <- struct{}{}
			ended++
			until(t, "a call to end", func() bool { return p.Metrics().Ended == uint64(ended) })
		}
		g.entered(t, ended-concurrency) // the others have begun before
		g.none(t)
		if m := p.Metrics(); m.Lanes[1].Accepted != uint64(concurrency) || m.Lanes[0].InFlight != concurrency {
			t.Errorf("after Resize to one lane: %+v", m.Lanes)
		}
		must(t, p.Resize(within(t), 4))
		got := g.entered(t, 3*concurrency)
		g.none(t)
		slices.Sort(got)
		for i, n := range got {
			if n != ended+concurrency+i {
				t.Errorf("after Resize calls %v begin, want those from %d on", got, ended+concurrency)
				break
			}
		}
		for _, l := range p.Lanes() {
			if l.InFlight != concurrency {
				t.Errorf("after Resize to 4 lanes: %+v", l)
			}
		}
		g.release()
		balanced(t, p)
	}
}

// TestResizeUnderLoad checks that no call is lost while the lanes and their permits change.
func TestResizeUnderLoad(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	n := 3000
	if testing.Short() {
		n = 500
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range n {
				if v, err := f.Go(bg, i).Wait(bg); v != 2*i || err != nil {
					t.Errorf("Wait = %d, %v", v, err)
				}
				if v, err := f.Call(bg, i); v != 2*i || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
			}
		})
	}
	r, ctx := newRand(t)(0), within(t)
	var done atomic.Bool
	go func() { wg.Wait(); done.Store(true) }()
	for !done.Load() {
		must(t, p.Resize(ctx, 1+r.IntN(6)))
		must(t, p.SetConcurrency(1+r.IntN(4)))
		must(t, ctx.Err())
		runtime.Gosched() // with one processor, the callers would wait for the end of each time slice
	}
	wg.Wait()
	balanced(t, p)
}

// TestResizeGivesUpTheLane checks that a handler that waits for another Resize gives up its
// lane. The Bootstrap of that Resize may need the lane.
func TestResizeGivesUpTheLane(t *testing.T) {
	var hq, hp pool.Handlers
	booting, resizing := make(chan struct{}), make(chan struct{})
	var p *pool.Pool
	q := pool.Register(&hq, "resize", func(ctx context.Context, n int) (int, error) {
		if n > 0 {
			return n, nil
		}
		close(resizing)
		<-booting
		return n, p.Resize(ctx, 3)
	}, pool.TaskOptions{Remote: true})
	newPool(t, &hq, pool.Config{Lanes: 1})
	p = newPool(t, &hp, pool.Config{Lanes: 1, Bootstrap: func(ctx context.Context, lane int) error {
		if lane != 1 {
			return nil
		}
		close(booting)
		_, err := q.Call(ctx, 1)
		return err
	}})
	fu := q.Go(bg, 0)
	came(t, "the handler", resizing)
	ends(t, "Resize", func() { must(t, p.Resize(bg, 2)) })
	result(t, fu)
}

// TestResizeGrowsAtOnce checks that a Resize that puts lanes in does not wait for those that an
// earlier one has taken out. The earlier one does not wait for lanes that are back.
func TestResizeGrowsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g, b := newGate(), &fixed{}
		f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 3, Balancer: b})
		t.Cleanup(g.release)
		b.lane.Store(2)
		f.Go(bg, 1)
		g.entered(t, 1)
		shrunk, grown := make(chan error, 1), make(chan error, 2)
		go func() { shrunk <- p.Resize(bg, 1) }()
		synctest.Wait()
		go func() { grown <- p.Resize(bg, 2) }()
		must(t, came(t, "Resize to 2 lanes", grown))
		synctest.Wait()
		if len(shrunk) != 0 {
			t.Errorf("Resize to 1 lane has not waited")
		}
		go func() { grown <- p.Resize(bg, 3) }()
		must(t, came(t, "Resize to 3 lanes", grown))
		must(t, came(t, "Resize to 1 lane", shrunk))
	})
}

// TestResizeGrants checks that a goroutine that waits for any lane gets one that Resize adds.
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

// TestAcquireLaneResizedAway checks that a goroutine that waits for a lane that Resize takes
// out learns that the lane is gone.
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
		t.Error("a lane that was taken out is leased")
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

// TestSetConcurrency checks that a lane runs as many calls at once as SetConcurrency has set.
// It starts calls that wait when the number grows. When the number falls, it starts none until
// fewer calls run.
func TestSetConcurrency(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: 2})
	const calls = 60
	for i := range calls {
		f.Go(bg, i)
	}
	begun := len(g.entered(t, 2))
	running := begun
	for i, n := range []int{5, 1, 3, 4, 2, 4, 3, 1, 2} {
		if i%2 == 1 {
			must(t, p.SetConcurrency(1)) // some of the permits that this takes away are kept
		}
		must(t, p.SetConcurrency(n))
		if got := p.Metrics().Concurrency; got != n {
			t.Errorf("Metrics.Concurrency = %d, want %d", got, n)
		}
		for range n { // the next calls begin only when fewer than n run
			for ; running >= n; running-- {
				g.none(t)
				g.open <- struct{}{}
				until(t, "a call to end", func() bool { return p.Metrics().Ended == uint64(begun-running+1) })
			}
			g.entered(t, n-running)
			begun += n - running
			running = n
		}
		for range 100 {
			runtime.Gosched()
		}
		g.none(t)
	}
	g.release()
	balanced(t, p)
}

// TestSetConcurrencyOfOtherLanes checks that SetConcurrency applies to the lanes that Resize
// makes later. It also applies to those that Resize has taken out and puts back.
func TestSetConcurrencyOfOtherLanes(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	must(t, p.Resize(bg, 1))
	must(t, p.SetConcurrency(3))
	must(t, p.Resize(bg, 4))
	for i := range 20 {
		f.Go(bg, i)
	}
	g.entered(t, 4*3)
	g.none(t)
	for _, l := range p.Lanes() {
		if l.InFlight != 3 {
			t.Errorf("a lane runs %d calls: %+v", l.InFlight, l)
		}
	}
	g.release()
	balanced(t, p)
}

// TestSetConcurrencyInHandler checks that a handler of the pool may call SetConcurrency. The
// calls that wait for that handler then start beside it.
func TestSetConcurrencyInHandler(t *testing.T) {
	var h pool.Handlers
	other := make(chan struct{})
	quick := pool.Register(&h, "quick", func(context.Context, int) (int, error) { close(other); return 0, nil })
	var p *pool.Pool
	slow := pool.Register(&h, "slow", func(ctx context.Context, n int) (int, error) {
		quick.Go(ctx, 0)
		err := p.SetConcurrency(n)
		if err == nil {
			came(t, "the call beside this one", other)
		}
		return 0, err
	})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	_, err := slow.Call(bg, 2)
	must(t, err)
	balanced(t, p)
}

// TestSetConcurrencyInBootstrap checks that the Bootstrap of a lane may call SetConcurrency.
// The call applies to that lane as well.
func TestSetConcurrencyInBootstrap(t *testing.T) {
	var p *pool.Pool
	g, f, made := gated(t, pool.Config{Lanes: 1, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 0 {
			return nil
		}
		return p.SetConcurrency(2)
	}})
	p = made
	ends(t, "Resize", func() {
		if err := p.Resize(bg, 2); err != nil {
			t.Errorf("Resize = %v", err)
		}
	})
	for i := range 10 {
		f.Go(bg, i)
	}
	g.entered(t, 4)
	g.none(t)
	g.release()
	balanced(t, p)
}

// TestSetConcurrencyOfSpareLanes checks that SetConcurrency applies to lanes that a Resize has
// made before it failed.
func TestSetConcurrencyOfSpareLanes(t *testing.T) {
	fails := true
	g, f, p := gated(t, pool.Config{Lanes: 1, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 2 && fails {
			return errTask
		}
		return nil
	}})
	mustBe(t, p.Resize(bg, 3), errTask)
	must(t, p.SetConcurrency(2))
	fails = false
	must(t, p.Resize(bg, 3))
	for i := range 10 {
		f.Go(bg, i)
	}
	g.entered(t, 3*2)
	g.none(t)
	g.release()
	balanced(t, p)
}

// TestSetConcurrencyKeepsThePermit checks that a handler that calls SetConcurrency keeps its
// permit. Other goroutines may call it at the same time.
func TestSetConcurrencyKeepsThePermit(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	var running atomic.Int32
	f := pool.Register(&h, "f", func(context.Context, int) (int, error) {
		n := running.Add(1)
		defer running.Add(-1)
		return int(n), p.SetConcurrency(1)
	})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	var done atomic.Bool
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for !done.Load() {
				if err := p.SetConcurrency(1); err != nil {
					t.Errorf("SetConcurrency = %v", err)
				}
			}
		})
	}
	var fs []*pool.Future[int]
	for i := range 500 {
		fs = append(fs, f.Go(bg, i))
	}
	for _, fu := range fs {
		if n := result(t, fu); n != 1 {
			t.Fatalf("%d handlers run at once, and the lane has one permit", n)
		}
	}
	done.Store(true)
	others.Wait()
	balanced(t, p)
}

// TestSetConcurrencyErrors checks that SetConcurrency changes nothing if the number is not that
// of permits of a lane. It also changes nothing if the pool takes no calls any more.
func TestSetConcurrencyErrors(t *testing.T) {
	p := newPool(t, nil, pool.Config{Lanes: 1, Concurrency: 2})
	for _, n := range []int{-1, 0, lfsync.MaxWorkers + 1} {
		err := p.SetConcurrency(n)
		if err == nil || !strings.Contains(err.Error(), strconv.Itoa(n)) {
			t.Errorf("SetConcurrency(%d) = %v", n, err)
		}
	}
	must(t, p.Close())
	mustBe(t, p.SetConcurrency(3), pool.ErrPoolShutdown)
	if n := p.Metrics().Concurrency; n != 2 {
		t.Errorf("Metrics.Concurrency = %d, want 2", n)
	}
}
