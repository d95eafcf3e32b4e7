package pool_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestLeaseRunTask: RunTask of a lease refuses what RunTask of the pool refuses, and
// everything when the lease is over.
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

// TestCallerRunsEnds: also a call for which there is no space ends for its caller when
// its time or its limit is over, and not when its handler returns.
func TestCallerRunsEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		config pool.Config
		want   error
	}{
		"Timeout":   {pool.Config{Timeout: time.Second}, context.DeadlineExceeded},
		"HardLimit": {pool.Config{HardLimit: time.Second}, pool.ErrHardLimit},
	} {
		for way, call := range map[string]func(f *pool.Func[int, int]) error{
			"Call": func(f *pool.Func[int, int]) error { _, err := f.Call(bg, 1); return err },
			"Go":   func(f *pool.Func[int, int]) error { _, err := f.Go(bg, 1).Wait(bg); return err },
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var h pool.Handlers
					g := newGate()
					f := pool.Register(&h, "gate", g.enter)
					c := tc.config
					c.Lanes, c.Backlog, c.Overflow = 1, 1, pool.CallerRuns
					newPool(t, &h, c)
					t.Cleanup(g.release)
					fill(t, g, f, 1)
					mustBe(t, call(f), tc.want)
				})
			})
		}
	}
}

// TestDrainOnCloseInHandler: Close inside a handler does not end what was accepted, if it
// is to finish that.
func TestDrainOnCloseInHandler(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	f := pool.Register(&h, "close", func(_ context.Context, n int) (int, error) {
		if n == 0 {
			return 0, p.Close()
		}
		return n, nil
	})
	p = newPool(t, &h, pool.Config{Lanes: 1, DrainOnClose: true})
	p.Pause()
	fs := []*pool.Future[int]{f.Go(bg, 1), f.Go(bg, 0), f.Go(bg, 2), f.Go(bg, 3)}
	p.Resume()
	for _, fu := range fs {
		result(t, fu)
	}
	_, err := f.Call(bg, 4)
	mustBe(t, err, pool.ErrPoolShutdown)
}

// TestBlocking: inside Blocking a handler may wait for goroutines that call its lane.
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

// TestBootstrapAfterCheck: the hook runs for no lane when the table is at fault.
func TestBootstrapAfterCheck(t *testing.T) {
	c := pool.Config{Lanes: 3, Bootstrap: func(context.Context, int) error {
		t.Error("Bootstrap was called")
		return nil
	}}
	var bad, used pool.Handlers
	pool.Register(&bad, "request", double)
	_, err := pool.New(&bad, c)
	mustBe(t, err, pool.ErrReservedName)
	newPool(t, &used, pool.Config{Lanes: 1})
	_, err = pool.New(&used, c)
	mustBe(t, err, pool.ErrBound)
}

// TestResizeWaits: a handler that waits for another Resize gives up its lane, which the
// Bootstrap of that one may need.
func TestResizeWaits(t *testing.T) {
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
