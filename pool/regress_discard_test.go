package pool_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestDiscardWaitsForRoom: Discard ends the calls of its lease that wait for space, too.
func TestDiscardWaitsForRoom(t *testing.T) {
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

// TestDiscardCallerRuns: Discard ends the calls of its lane that their callers run.
func TestDiscardCallerRuns(t *testing.T) {
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

// TestWaitOfTakenHandler: a handler whose lane is being taken away is a handler all the
// time. The table of those without a lane is long, so that the move takes a while.
func TestWaitOfTakenHandler(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			var h pool.Handlers
			var p *pool.Pool
			g := newGate()
			slow := pool.Register(&h, "slow", g.enter, pool.TaskOptions{Remote: true})
			after := pool.Register(&h, "after", double)
			in, wrong := make(chan struct{}), make(chan error, 1)
			gone, cancel := context.WithCancel(bg)
			cancel()
			waits := pool.Register(&h, "waits", func(context.Context, int) (int, error) {
				in <- struct{}{}
				for range 500 {
					if err := p.Wait(gone); !errors.Is(err, pool.ErrInHandler) {
						select {
						case wrong <- err:
						default:
						}
						break
					}
				}
				return 0, nil
			}, pool.TaskOptions{Remote: true})
			p = newPool(t, &h, pool.Config{Lanes: 2, Balancer: &fixed{}, Backlog: pool.Unlimited, Concurrency: concurrency})
			t.Cleanup(g.release)
			lease, err := p.AcquireLane(within(t), 1)
			must(t, err)
			dep := slow.Go(bg, 1)
			for range 1000 {
				after.After(bg, dep)
			}
			for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
				pool.GoOn(bg, lease, waits, 1)
				came(t, "the handler", in)
				lease.Discard(errWhy)
				select {
				case err := <-wrong:
					t.Fatalf("Wait in a handler = %v", err)
				default:
				}
				lease, err = p.AcquireLane(within(t), 1)
				must(t, err)
			}
		})
	}
}

// TestResizeGrow: a Resize that puts lanes in does not wait for those that an earlier one
// has taken out, and that one not for lanes that are back.
func TestResizeGrow(t *testing.T) {
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
