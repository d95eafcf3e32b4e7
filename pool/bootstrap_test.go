package pool_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestBootstrap checks that the hook runs once for each lane before any call. When it fails, no
// pool is made. K-091, K-120.
func TestBootstrap(t *testing.T) {
	var h pool.Handlers
	var booted atomic.Int64
	f := pool.Register(&h, "booted", func(context.Context, int) (int64, error) { return booted.Load(), nil })
	newPool(t, &h, pool.Config{Lanes: 4, Bootstrap: func(_ context.Context, lane int) error {
		if int64(lane) != booted.Add(1)-1 {
			t.Errorf("lane %d is number %d", lane, booted.Load())
		}
		return nil
	}})
	for range 10 {
		if v, err := f.Call(bg, 1); v != 4 || err != nil {
			t.Fatalf("%d lanes have been prepared, %v", v, err)
		}
	}
	var again pool.Handlers
	g := pool.Register(&again, "double", double)
	var calls []int
	_, err := pool.New(&again, pool.Config{Lanes: 4, Bootstrap: func(_ context.Context, lane int) error {
		calls = append(calls, lane)
		if lane == 2 {
			return errWhy
		}
		return nil
	}})
	mustBe(t, err, errWhy)
	var be *pool.BootstrapError
	if !errors.As(err, &be) || be.Lane != 2 || err.Error() != "pool: bootstrap of lane 2: "+errWhy.Error() || len(calls) != 3 {
		t.Errorf("%v after %v", err, calls)
	}
	_, err = g.Call(bg, 1)
	mustBe(t, err, pool.ErrUnbound, pool.ErrNotStarted, errWhy)
	if be = nil; !errors.As(err, &be) || !strings.Contains(err.Error(), "bootstrap of lane 2: "+errWhy.Error()) {
		t.Errorf("a call after a failed Bootstrap: %v", err)
	}
	newPool(t, &again, pool.Config{Lanes: 1}) // the table is still free
	if v, err := g.Call(bg, 1); v != 2 || err != nil {
		t.Errorf("Call = %d, %v", v, err)
	}
}

// TestBootstrapAfterCheck checks that the hook runs for no lane when the table is at fault.
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

// TestBootstrapMakesThePool checks that New fails if its hook has made a pool of the same table, and
// that the calls of that pool stay counted.
func TestBootstrapMakesThePool(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	var inner *pool.Pool
	_, err := pool.New(&h, pool.Config{Lanes: 1, Bootstrap: func(context.Context, int) error {
		inner = newPool(t, &h, pool.Config{Lanes: 1})
		_, err := f.Call(bg, 1)
		return err
	}})
	mustBe(t, err, pool.ErrBound)
	if n := inner.Metrics().Tasks[0].Ends.Returned; n != 1 {
		t.Errorf("the task of the pool has %d returned calls, want 1", n)
	}
}

// TestBootstrapPanics checks that a pool whose Bootstrap panics in Resize has the lanes that it
// had. The pool goes on.
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

// TestBootstrapOnce checks that a lane that a Resize has prepared before it failed is not
// prepared again by the next one.
func TestBootstrapOnce(t *testing.T) {
	var h pool.Handlers
	times := map[int]int{}
	p := newPool(t, &h, pool.Config{Lanes: 1, Bootstrap: func(_ context.Context, n int) error {
		if times[n]++; n == 2 && times[n] == 1 {
			return errTask
		}
		return nil
	}})
	mustBe(t, p.Resize(bg, 3), errTask)
	if n := len(p.Lanes()); n != 1 {
		t.Errorf("%d lanes after a Resize that failed", n)
	}
	must(t, p.Resize(bg, 3))
	if n := len(p.Lanes()); n != 3 || times[0] != 1 || times[1] != 1 || times[2] != 2 {
		t.Errorf("%d lanes, prepared %v times", n, times)
	}
}

// TestBootstrapMayWait checks that a Bootstrap that waits for the calls of its pool does not
// wait for the Resize that it is part of.
func TestBootstrapMayWait(t *testing.T) {
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
