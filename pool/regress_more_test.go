package pool_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestInlineRemotePump: a Remote call of the inline lane whose caller waits, and uses the
// memory again, while others take it out of the queue and give it a goroutine.
func TestInlineRemotePump(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, inlineOnly())
	var callers, pump sync.WaitGroup
	stop := make(chan struct{})
	pump.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				p.RunInline(2)
			}
		}
	})
	for c := range 3 {
		callers.Go(func() {
			for i := range 1000 {
				if c == 0 {
					f.Go(bg, i) // so that the calls of the others are queued
				} else if v, err := f.Call(bg, i); v != 2*i || err != nil {
					t.Errorf("Call = %d, %v", v, err)
					return
				}
			}
		})
	}
	ends(t, "the callers", callers.Wait)
	must(t, p.Wait(within(t)))
	close(stop)
	pump.Wait()
	balanced(t, p)
}

// TestBootstrapOnce: a lane that a Resize has prepared before it failed is not prepared
// again by the next one.
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

// noDone is a context that has a deadline and does not end.
type noDone struct{ context.Context }

func (noDone) Done() <-chan struct{} { return nil }

// TestLateWithoutEnd: a call ends when its deadline has passed, although its context does
// not keep to that.
func TestLateWithoutEnd(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Timeout: time.Hour})
	newPool(t, &h, pool.Config{Lanes: 1})
	past, cancel := context.WithDeadline(bg, time.Unix(1, 0))
	defer cancel()
	_, err := f.Call(noDone{past}, 1)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, pool.ErrNotStarted) {
		t.Errorf("Call = %v", err)
	}
}

// TestNilContexts: a call without a context panics with a text that says so, and takes no effect.
func TestNilContexts(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 1})
	var none context.Context
	for name, f := range map[string]func(){
		"Ping":        func() { _ = p.Ping(none, 0) },
		"Acquire":     func() { _, _ = p.Acquire(none) },
		"AcquireLane": func() { _, _ = p.AcquireLane(none, 0) },
		"Resize":      func() { _ = p.Resize(none, 2) },
		"Wait":        func() { _ = p.Wait(none) },
		"Shutdown":    func() { _ = p.Shutdown(none) },
		"Terminate":   func() { _, _ = p.Terminate(none) },
	} {
		if v := panicOf(f); v != "pool: nil context" {
			t.Errorf("%s panics with %v", name, v)
		}
	}
	if len(p.Lanes()) != 1 || p.Metrics().Status != "open" {
		t.Errorf("%d lanes, and the pool is %s", len(p.Lanes()), p.Metrics().Status)
	}
	balanced(t, p)
}

// TestManyPings: pings without a waiter do not pile up in a lane that stands.
func TestManyPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		fu := f.Go(bg, 1)
		g.entered(t, 1)
		gone, cancel := context.WithCancel(bg)
		cancel()
		for range 1000 {
			mustBe(t, p.Ping(gone, 0), context.Canceled)
		}
		mustBe(t, p.Ping(gone, 0), pool.ErrBacklogFull)
		g.release()
		_ = result(t, fu)
		synctest.Wait() // the lane has answered them
		must(t, p.Ping(within(t), 0))
		balanced(t, p)
	})
}
