package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// inlineOnly is the configuration of a pool that has the inline lane only.
func inlineOnly() pool.Config {
	return pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}}
}

// TestInlineGo: a call that waits for the inline lane is run by its waiter.
func TestInlineGo(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, inlineOnly())
	futures := []*pool.Future[int]{f.Go(bg, 1), f.Go(bg, 2), f.Go(bg, 3)}
	for i, fu := range futures {
		if v, err := fu.Wait(within(t)); v != 2*(i+1) || err != nil {
			t.Fatalf("call %d: %d, %v", i, v, err)
		}
	}
	balanced(t, p)
}

// TestInlinePaused: a waiter for an inline call of a paused pool runs it after Resume.
func TestInlinePaused(t *testing.T) {
	for _, way := range []string{"Call", "Wait"} {
		t.Run(way, func(t *testing.T) {
			var h pool.Handlers
			f := pool.Register(&h, "double", double)
			p := newPool(t, &h, inlineOnly())
			p.Pause()
			got := make(chan int)
			go func() {
				var v int
				var err error
				if way == "Call" {
					v, err = f.Call(within(t), 4)
				} else {
					v, err = f.Go(bg, 4).Wait(within(t))
				}
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
			until(t, "the call", func() bool { return p.Metrics().Accepted == 1 })
			for range 100 {
				runtime.Gosched()
			}
			p.Resume()
			if v := came(t, "the call to end after Resume", got); v != 8 {
				t.Fatalf("got %d", v)
			}
		})
	}
}

// TestInlineWhileWaiting: a goroutine that waits for the end of all calls runs inline calls that
// come while it is blocked.
func TestInlineWhileWaiting(t *testing.T) {
	for _, way := range []string{"Wait", "Shutdown"} {
		t.Run(way, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			defer g.release()
			inline := pool.Register(&h, "inline", double)
			outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
				_, err := g.enter(ctx, n)
				return n, err
			})
			b := &fixed{}
			p := newPool(t, &h, pool.Config{Lanes: 1, Balancer: b, Inline: &pool.Inline{}})
			f := outer.Go(bg, 1)
			g.entered(t, 1)
			done := make(chan error)
			go func() {
				if way == "Wait" {
					done <- p.Wait(within(t))
				} else {
					done <- p.Shutdown(within(t))
				}
			}()
			b.lane.Store(1) // the inline lane
			var late *pool.Future[int]
			if way == "Wait" {
				for range 100 {
					runtime.Gosched()
				}
				late = inline.Go(bg, 5)
			}
			g.release()
			must(t, came(t, way, done))
			result(t, f)
			if late != nil && result(t, late) != 10 {
				t.Fatal("wrong result")
			}
		})
	}
}

// fixed is a balancer that picks the lane whose number is stored in it.
type fixed struct{ lane atomic.Int64 }

func (b *fixed) Pick(pool.View) int { return int(b.lane.Load()) }

// TestInlineCrowd: goroutines that share the inline lane, and run calls of each
// other, all get their own results, again and again with the same memory.
func TestInlineCrowd(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) {
		runtime.Gosched()
		return 2 * n, nil
	})
	p := newPool(t, &h, inlineOnly())
	n := 3000
	if testing.Short() {
		n = 300
	}
	ends(t, "the crowd", func() {
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range n {
					switch i % 3 {
					case 0:
						fu := f.Go(bg, i)
						if v, err := f.Call(bg, g); v != 2*g || err != nil {
							t.Errorf("Call = %d, %v", v, err)
							return
						}
						if v, err := fu.Wait(bg); v != 2*i || err != nil {
							t.Errorf("Wait = %d, %v", v, err)
							return
						}
					default:
						if v, err := f.Call(bg, i); v != 2*i || err != nil {
							t.Errorf("Call = %d, %v", v, err)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	})
	balanced(t, p)
}

// TestInlineTimeouts: inline calls whose time ends while another goroutine runs them
// give back their memory only when that is done with it.
func TestInlineTimeouts(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) {
		runtime.Gosched()
		return 2 * n, nil
	}, pool.TaskOptions{Timeout: 50 * time.Microsecond})
	p := newPool(t, &h, inlineOnly())
	n := 2000
	if testing.Short() {
		n = 200
	}
	ends(t, "the crowd", func() {
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for i := range n {
					fu := f.Go(bg, i)
					if v, err := f.Call(bg, i); err == nil && v != 2*i || err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Call = %d, %v", v, err)
						return
					}
					<-fu.Done()
				}
			})
		}
		wg.Wait()
	})
	balanced(t, p)
}

// TestRefusedAndReused: a call that its pool refuses leaves nothing behind that the next
// one, on another goroutine, could meet. It fails under the race detector.
func TestRefusedAndReused(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) {
		runtime.Gosched()
		return 2 * n, nil
	}, pool.TaskOptions{Abortable: true})
	p := newPool(t, &h, pool.Config{Lanes: 2, AbortCapacity: 1})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 500 {
				v, err := f.Call(bg, g)
				if err == nil && v != 2*g || err != nil && (v != 0 || !errors.Is(err, pool.ErrAbortSlotsExhausted)) {
					t.Errorf("Call(%d) = %d, %v", g, v, err)
				}
			}
		})
	}
	wg.Wait()
	balanced(t, p)
}

// TestGoWithEndedContext: a context that ends while the call is made ends the call. It
// fails under the race detector.
func TestGoWithEndedContext(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	for range 500 {
		ctx, cancel := context.WithCancel(bg)
		cancel()
		fu := f.Go(ctx, 1)
		if v, err := wait(t, fu); err != nil {
			mustBe(t, err, context.Canceled)
		} else if v != 2 {
			t.Fatal(v)
		}
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
}

// TestLateAbortable: abortable calls whose time is over when their turn comes give back their
// abort slots once, whichever goroutine sees it first.
func TestLateAbortable(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Abortable: true, Timeout: 30 * time.Microsecond})
	p := newPool(t, &h, pool.Config{Lanes: 1, AbortCapacity: 4096})
	n := 200
	if testing.Short() {
		n = 30
	}
	for range n {
		var fs []*pool.Future[int]
		for i := range 50 {
			fs = append(fs, f.Go(bg, i))
		}
		for i, fu := range fs {
			if v, err := wait(t, fu); err == nil && v != 2*i || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%d, %v", v, err)
			}
		}
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
}

// TestCloseWithFullPermits: calls of a lane with a permit for each of them end with
// the pool, also those that have not begun.
func TestCloseWithFullPermits(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		var h pool.Handlers
		f := pool.Register(&h, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
		p, err := pool.New(&h, pool.Config{Lanes: 1, Concurrency: 64})
		must(t, err)
		var fs []*pool.Future[int]
		for i := range 64 {
			fs = append(fs, f.Go(bg, i))
		}
		must(t, p.Close())
		for i, fu := range fs {
			if v, err := wait(t, fu); err == nil && v != 2*i || err != nil && err.Error() != "Thread closed" {
				t.Fatalf("call %d: %d, %v", i, v, err)
			}
		}
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	}
}

// TestCloseDuringCalls: calls that callers run themselves end with one of the two texts
// when the pool is closed around them.
func TestCloseDuringCalls(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for round := range rounds {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 2})
		must(t, err)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					v, err := f.Call(bg, 4)
					switch {
					case err == nil && v == 8:
						continue
					case err == nil || err.Error() != "Thread closed" && err.Error() != "Pool is shut down":
						t.Errorf("Call = %d, %v", v, err)
					}
					return
				}
			})
		}
		until(t, "some calls", func() bool { return p.Metrics().Ended >= uint64(round%32) }) // or none
		must(t, p.Close())
		ends(t, "the callers", wg.Wait)
		balanced(t, p)
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	}
}

// TestDiscardBeforeTheDrain: a lane that was discarded while its drain was queued takes
// calls again.
func TestDiscardBeforeTheDrain(t *testing.T) {
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

// TestSchedulerEndedBelow: when the program ends the scheduler below a pool, all calls of the pool
// fail.
func TestSchedulerEndedBelow(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	remote := pool.Register(&h, "remote", double, pool.TaskOptions{Remote: true})
	newPool(t, &h, pool.Config{Lanes: 1, Scheduler: s})
	_, err := s.Close()
	must(t, err)
	ends(t, "calls without a scheduler", func() {
		for range 3 {
			for _, fn := range []*pool.Func[int, int]{f, remote} {
				if _, err := fn.Call(bg, 1); !errors.Is(err, pool.ErrClosed) || !errors.Is(err, pool.ErrNotStarted) {
					t.Errorf("Call = %v", err)
				}
			}
		}
	})
}

// TestAcquireOfAClosedPool: a pool that is closed leases nothing.
func TestAcquireOfAClosedPool(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 1})
	must(t, p.Close())
	l, err := p.Acquire(within(t))
	if l != nil {
		t.Error("a lease")
	}
	mustBe(t, err, pool.ErrPoolShutdown)
	_, err = p.AcquireLane(within(t), 0)
	mustBe(t, err, pool.ErrPoolShutdown)
}

// TestCloseInsideThenTerminate: a pool that a handler has closed can be terminated, and leaves no
// goroutine.
func TestCloseInsideThenTerminate(t *testing.T) {
	for _, remote := range []bool{false, true} {
		var h pool.Handlers
		var p *pool.Pool
		closer := pool.Register(&h, "closer", func(context.Context, int) (int, error) {
			return 0, p.Close()
		}, pool.TaskOptions{Remote: remote})
		p = newPool(t, &h, pool.Config{Lanes: 1})
		_, err := closer.Call(bg, 1)
		mustBe(t, err, pool.ErrThreadClosed)
		mustNotBe(t, err, pool.ErrNotStarted)
		ends(t, "Terminate", func() {
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
		})
		st := p.Scheduler().Stats()
		if st.Workers != 0 {
			t.Errorf("%d workers are left", st.Workers)
		}
	}
}

// TestTerminateWaits: Terminate waits for handlers on every lane, those that callers
// run included.
func TestTerminateWaits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		remote bool
		queued int // calls that are made before
	}{
		{"worker", pool.Config{Lanes: 1}, true, 0},
		{"direct", pool.Config{Lanes: 1}, false, 0},
		{"permits", pool.Config{Lanes: 1, Concurrency: 2}, true, 0},
		{"inline", inlineOnly(), true, 0},
		{"caller runs", pool.Config{Lanes: 1, Overflow: pool.CallerRuns, Backlog: 1}, true, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGate()
			defer g.release()
			var h pool.Handlers
			f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: tc.remote})
			p, err := pool.New(&h, tc.config)
			must(t, err)
			if tc.queued > 0 {
				fill(t, g, f, tc.queued)
			}
			go func() { _, _ = f.Call(bg, 1) }()
			g.entered(t, 1)
			ctx, cancel := context.WithCancel(bg)
			cancel()
			if n, err := p.Terminate(ctx); n == 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("Terminate with handlers = %d, %v", n, err)
			}
			g.release()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
		})
	}
}

// TestPausedCallerRuns: a paused pool starts nothing, whatever its policy.
func TestPausedCallerRuns(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Overflow: pool.CallerRuns, Backlog: 1})
	p.Pause()
	f.Go(bg, 0)
	go f.Go(bg, 1) // neither space nor leave to run
	until(t, "the call", func() bool { return p.Metrics().Accepted == 2 })
	for range 200 {
		runtime.Gosched()
	}
	g.none(t)
	g.release()
	p.Resume()
	must(t, p.Wait(within(t)))
}

// TestNotStartedOfANestedCall: that a nested call had not started does not mean that the
// call had not.
func TestNotStartedOfANestedCall(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	outer := pool.Register(&h, "outer", func(ctx context.Context, _ int) (any, error) {
		return p.RunTask(ctx, "nobody", nil)
	})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	_, err := outer.Call(bg, 1)
	var unknown *pool.UnknownTaskError
	if !errors.As(err, &unknown) || unknown.Type != "nobody" {
		t.Errorf("the cause is lost: %v", err)
	}
	mustNotBe(t, err, pool.ErrNotStarted)
}

// TestShutdownNested: handlers of a pool that shuts down make the calls that they need
// to finish.
func TestShutdownNested(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	inner := pool.Register(&h, "inner", double)
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
		if _, err := g.enter(ctx, n); err != nil {
			return 0, err
		}
		return inner.Call(ctx, n)
	})
	p := newPool(t, &h, pool.Config{Lanes: 2})
	defer g.release()
	f := outer.Go(bg, 3)
	g.entered(t, 1)
	done := make(chan error)
	go func() { done <- p.Shutdown(within(t)) }()
	until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
	g.release()
	must(t, came(t, "Shutdown", done))
	if v := result(t, f); v != 6 {
		t.Fatal(v)
	}
}
