package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

var _ io.Closer = (*pool.Pool)(nil) // K-096

// TestPause checks that calls that are accepted during a pause start after it and in order.
// Calls that ran go on. C-020, C-021, C-022, C-023.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, concurrency := range []int{1, 2} {
			g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: concurrency})
			running := f.Go(bg, 0)
			g.entered(t, 1)
			p.Pause()
			p.Pause() // again
			if !p.Metrics().Paused {
				t.Error("Metrics says that the pool runs")
			}
			var fs []*pool.Future[int]
			for i := range 50 {
				fs = append(fs, f.Go(bg, i+1))
			}
			byCall := make(chan int)
			go func() {
				v, err := f.Call(bg, 100)
				if err != nil {
					t.Error(err)
				}
				byCall <- v
			}()
			until(t, "all calls", func() bool { return p.Metrics().Accepted == 52 })
			g.open <- struct{}{}
			if v := result(t, running); v != 0 {
				t.Fatal(v)
			}
			for range 200 {
				runtime.Gosched()
			}
			g.none(t)
			p.Resume()
			p.Resume() // again
			g.release()
			for i, fu := range fs {
				if v := result(t, fu); v != i+1 {
					t.Fatalf("call %d: %d", i+1, v)
				}
			}
			if v := came(t, "the call", byCall); v != 100 {
				t.Fatal(v)
			}
			if got := g.entered(t, 51); concurrency == 1 && !slices.IsSorted(got) {
				t.Errorf("they began in the order %v", got)
			}
			balanced(t, p)
		}
	})
}

// TestPauseOften checks that each call gets an answer while the pool is paused and resumed all
// the time.
func TestPauseOften(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 2}, {Lanes: 1, Concurrency: 2}, inlineOnly()} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, c)
		n := 2000
		if testing.Short() {
			n = 300
		}
		var done atomic.Bool
		toggled := make(chan struct{})
		go func() {
			defer close(toggled)
			for !done.Load() {
				p.Pause()
				runtime.Gosched()
				p.Resume()
				runtime.Gosched()
			}
		}()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for i := range n {
					if v, err := f.Call(bg, i); v != 2*i || err != nil {
						t.Errorf("Call = %d, %v", v, err)
					}
					if v, err := f.Go(bg, i).Wait(bg); v != 2*i || err != nil {
						t.Errorf("Wait = %d, %v", v, err)
					}
				}
			})
		}
		ends(t, "the callers", wg.Wait)
		done.Store(true)
		came(t, "the end of the toggling", toggled)
		balanced(t, p)
	}
}

// TestWait checks that Wait returns when no call is queued or runs. It returns in each
// goroutine that waits. It returns with the cause of its context when that ends. C-024.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 2})
		must(t, p.Wait(bg)) // nothing was ever called
		for i := range 10 {
			f.Go(bg, i)
		}
		why := errors.New("no patience")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(why)
		mustBe(t, p.Wait(ctx), why)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if err := p.Wait(bg); err != nil {
					t.Error(err)
				}
				if m := p.Metrics(); m.Ended != 10 {
					t.Errorf("Wait returned when %d calls had ended", m.Ended)
				}
			})
		}
		g.release()
		ends(t, "the waits", wg.Wait)
		balanced(t, p)
	})
}

// TestWaitPaused checks that Wait blocks while a paused pool has calls that wait. C-025, X-28.
func TestWaitPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 1})
		must(t, err)
		p.Pause()
		must(t, p.Wait(bg)) // nothing waits
		fu := f.Go(bg, 2)
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		start := time.Now()
		mustBe(t, p.Wait(ctx), context.DeadlineExceeded)
		if d := time.Since(start); d != time.Hour {
			t.Errorf("it took %v", d)
		}
		var resumed time.Time
		time.AfterFunc(time.Minute, func() { resumed = time.Now(); p.Resume() })
		must(t, p.Wait(bg))
		if !time.Now().Equal(resumed) {
			t.Error("Wait did not return with Resume")
		}
		if v := result(t, fu); v != 4 {
			t.Fatal(v)
		}
		if n, err := p.Terminate(bg); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	})
}

// TestInsideHandlers checks on every lane that a function that would wait for its own handler
// says so. The functions are Wait, Shutdown and Terminate. TestCloseInsideThenTerminate has a
// handler that calls Close.
func TestInsideHandlers(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		var p *pool.Pool
		f := pool.Register(&h, "inside", func(ctx context.Context, n int) (int, error) {
			if err := p.Wait(ctx); !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Wait = %v", err)
			}
			if err := p.Shutdown(ctx); !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Shutdown = %v", err)
			}
			if n, err := p.Terminate(ctx); n == 0 || !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Terminate = %d, %v", n, err)
			}
			return n, nil
		}, o)
		p = newPool(t, &h, c)
		if v, err := f.Call(within(t), 3); v != 3 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		if v, err := f.Go(bg, 4).Wait(within(t)); v != 4 || err != nil {
			t.Fatalf("Wait = %d, %v", v, err)
		}
		if s := p.Metrics().Status; s != "open" {
			t.Errorf("the pool is %s", s)
		}
	})
}

// TestWaitForOneself checks that a handler that would wait for its own end gets an error that
// says so. It waits for its own lane or for its own future.
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

// TestDiscardedHandlerStaysInside checks that a handler whose lane is being taken away is a
// handler all the time. The table of the handlers without a lane is long, so the move takes a
// while.
func TestDiscardedHandlerStaysInside(t *testing.T) {
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

// TestShutdown checks that all accepted calls end with their own results, also in a paused
// pool. New calls are refused from the start. K-098, K-099, K-100.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, paused := range []bool{false, true} {
			for _, concurrency := range []int{1, 3} {
				g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
				if paused {
					p.Pause()
				}
				var fs []*pool.Future[int]
				for i := range 200 {
					fs = append(fs, f.Go(bg, i))
				}
				if !paused {
					g.entered(t, 1)
				}
				done := make(chan error)
				go func() { done <- p.Shutdown(within(t)) }()
				until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
				_, err := f.Call(bg, 1)
				mustBe(t, err, pool.ErrPoolShutdown, pool.ErrClosed, pool.ErrNotStarted)
				g.release()
				must(t, came(t, "Shutdown", done))
				for i, fu := range fs {
					if !settled(fu) {
						t.Fatalf("call %d has not ended", i)
					}
					if v := result(t, fu); v != i {
						t.Fatalf("call %d: %d", i, v)
					}
				}
				if s := p.Metrics().Status; s != "closed" {
					t.Errorf("the pool is %s", s)
				}
				balanced(t, p)
				must(t, p.Shutdown(bg)) // again
				must(t, p.Close())
			}
		}
	})
}

// TestShutdownGivesUp checks that Shutdown closes the pool when its context ends.
func TestShutdownGivesUp(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	running, queued := f.Go(bg, 0), f.Go(bg, 1)
	g.entered(t, 1)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	cancel(why)
	mustBe(t, p.Shutdown(ctx), why)
	_, err := wait(t, running)
	mustBe(t, err, pool.ErrThreadClosed)
	mustNotBe(t, err, pool.ErrNotStarted)
	_, err = wait(t, queued)
	mustBe(t, err, pool.ErrThreadClosed, pool.ErrNotStarted)
	g.none(t)
}

// TestShutdownLetsNestedCallsRun checks that handlers of a pool that shuts down make the calls
// that they need to finish.
func TestShutdownLetsNestedCallsRun(t *testing.T) {
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

// TestTerminate checks that Terminate returns how many handlers are left. It waits for them.
// C-026, C-027, C-028, K-102.
func TestTerminate(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	f.Go(bg, 0)
	f.Go(bg, 1)
	g.entered(t, 2)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if n, err := p.Terminate(ctx); n != 2 || !errors.Is(err, context.Canceled) {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	g.open <- struct{}{}
	until(t, "one to return", func() bool { n, _ := p.Terminate(ctx); return n == 1 })
	g.release()
	if n, err := p.Terminate(within(t)); n != 0 || err != nil {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	if st := p.Scheduler().Stats(); st.Workers != 0 || st.Held != 0 {
		t.Errorf("the scheduler has %+v", st)
	}
}

// TestTerminateEndsTheWorkers checks that the pool has no worker when Terminate has returned.
// The law also holds right after the last handler has returned. C-026.
func TestTerminateEndsTheWorkers(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		g, f, p := gated(t, pool.Config{Lanes: 2})
		f.Go(bg, 0)
		f.Go(bg, 1)
		g.entered(t, 2)
		done := make(chan error)
		go func() {
			_, err := p.Terminate(within(t))
			done <- err
		}()
		until(t, "the end", func() bool { return p.Metrics().Status == "closed" })
		g.release()
		must(t, came(t, "Terminate", done))
		if st := p.Scheduler().Stats(); st.Workers != 0 {
			t.Fatalf("%d workers are left", st.Workers)
		}
	}
}

// TestTerminateWaitsForHandlers checks that Terminate waits for handlers on every lane. Those
// that callers run are included.
func TestTerminateWaitsForHandlers(t *testing.T) {
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
		{"inline, plain", inlineOnly(), false, 0}, // a call without a record
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

// TestTerminateWaitsForHandlersOnCallers checks that Terminate counts the handlers that callers
// run and waits for them. Their calls may have ended before.
func TestTerminateWaitsForHandlersOnCallers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		// begin makes a call whose handler it lets begin. It returns the function that ends the call.
		begin func(p *pool.Pool, f *pool.Func[int, int]) (end func())
	}{
		{"inline, aborted", inlineOnly(), func(p *pool.Pool, f *pool.Func[int, int]) (end func()) {
			fu := f.Go(bg, 1)
			go p.RunInline(1)
			return func() { fu.Abort(nil) }
		}},
		{"inline, context", inlineOnly(), func(p *pool.Pool, f *pool.Func[int, int]) (end func()) {
			ctx, cancel := context.WithCancel(bg)
			f.Go(ctx, 1)
			go p.RunInline(1)
			return cancel
		}},
		{
			"caller runs, context",
			pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns},
			func(_ *pool.Pool, f *pool.Func[int, int]) (end func()) {
				ctx, cancel := context.WithCancel(bg)
				go f.Go(ctx, 1)
				return cancel
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h pool.Handlers
			g, mine := newGate(), newGate()
			var returned atomic.Bool
			gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
			f := pool.Register(&h, "mine", func(ctx context.Context, n int) (int, error) {
				n, err := mine.enter(ctx, n)
				returned.Store(true)
				return n, err
			})
			p := newPool(t, &h, tc.config)
			t.Cleanup(g.release)
			t.Cleanup(mine.release)
			var fs []*pool.Future[int]
			if tc.config.Overflow == pool.CallerRuns {
				fs = fill(t, g, gate, 1)
			}
			end := tc.begin(p, f)
			mine.entered(t, 1)
			end()
			g.release()
			for _, fu := range fs {
				result(t, fu)
			}
			until(t, "the end of all calls", func() bool { m := p.Metrics(); return m.Accepted == m.Ended })
			gone, cancel := context.WithCancelCause(bg)
			cancel(errWhy)
			var n int
			var err error
			until(t, "the handlers of the other calls to return", func() bool { n, err = p.Terminate(gone); return n <= 1 })
			if n != 1 {
				t.Errorf("Terminate with a handler = %d, %v", n, err)
			}
			mustBe(t, err, errWhy)
			mine.release()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil || !returned.Load() {
				t.Errorf("Terminate = %d, %v; the handler has returned: %t", n, err, returned.Load())
			}
		})
	}
}

// TestTerminateCountsHandlers checks that the handler of a call of After counts once. A call of
// After that waits for its argument or for a lane does not count.
func TestTerminateCountsHandlers(t *testing.T) {
	var h, hd pool.Handlers
	g, gd := newGate(), newGate()
	f := pool.Register(&h, "gate", g.enter)
	dep := pool.Register(&hd, "dep", gd.enter)
	p := newPool(t, &h, pool.Config{Lanes: 2, Backlog: 1, Overflow: pool.CallerRuns})
	newPool(t, &hd, pool.Config{Lanes: 2})
	t.Cleanup(g.release)
	t.Cleanup(gd.release)
	f.Go(bg, 0)
	g.entered(t, 1)
	runs := dep.Go(bg, 100)
	f.After(bg, runs)
	gd.entered(t, 1)
	gd.open <- struct{}{}
	if got := g.entered(t, 1); got[0] != 100 {
		t.Fatalf("call %d has begun", got[0])
	}
	f.After(bg, runs)            // waits for a lane
	f.After(bg, dep.Go(bg, 101)) // waits for its argument
	gd.entered(t, 1)
	over, cancel := context.WithCancel(bg)
	cancel()
	// With one processor the goroutine that waited for the argument has not returned when Terminate
	// counts.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if n, err := p.Terminate(over); n != 2 {
		t.Errorf("Terminate = %d, %v, while two handlers run", n, err)
	}
}

// TestCloseEndsTheWorkers checks that the workers of a pool end with it, although no goroutine waits
// for them. K-102.
func TestCloseEndsTheWorkers(t *testing.T) {
	for _, end := range []func(p *pool.Pool) error{(*pool.Pool).Close, func(p *pool.Pool) error { return p.Shutdown(bg) }} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 2})
			f.Go(bg, 0)
			f.Go(bg, 1)
			g.entered(t, 2)
			g.release()
			must(t, end(p))
			synctest.Wait()
			if st := p.Scheduler().Stats(); st.Workers != 0 {
				t.Errorf("%d workers are left", st.Workers)
			}
		})
	}
}

// TestNothingIsLeft checks that pools leave no goroutine. K-102.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, way := range everyWay {
		for range 10 {
			var h pool.Handlers
			f := pool.Register(&h, "double", double, way.opts)
			fails := pool.Register(&h, "fails", func(context.Context, int) (int, error) { panic("boom") }, way.opts)
			p, err := pool.New(&h, way.config)
			must(t, err)
			ctx, cancel := context.WithCancel(bg)
			for i := range 20 {
				f.Go(ctx, i)
				f.Call(ctx, i)
				fails.Call(ctx, i)
			}
			cancel()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Fatalf("Terminate = %d, %v", n, err)
			}
		}
	}
	until(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestSharedScheduler checks that pools may share a scheduler. It stays open when they end.
func TestSharedScheduler(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for range 3 {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 3, Scheduler: s})
		if p.Scheduler() != s {
			t.Fatal("it has another scheduler")
		}
		for i := range 100 {
			if v, err := f.Call(bg, i); v != 2*i || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		}
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
	}
}

// TestEndedSchedulerFailsCalls checks that all calls of a pool fail when the program ends the
// scheduler below it.
func TestEndedSchedulerFailsCalls(t *testing.T) {
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

// TestLazyWorkers checks that a pool that was never called has no goroutine, and that the first call
// starts a worker. K-092.
func TestLazyWorkers(t *testing.T) {
	least := math.MaxInt
	for range 4 { // a goroutine of an earlier test may begin beside one of the pools
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		before := runtime.NumGoroutine()
		p := newPool(t, &h, pool.Config{Lanes: 4})
		least = min(least, runtime.NumGoroutine()-before)
		if st := p.Scheduler().Stats(); st.Workers != 0 || st.Spawns != 0 {
			t.Errorf("%d workers before the first call, and %d were started", st.Workers, st.Spawns)
		}
		if v, err := f.Call(bg, 1); v != 2 || err != nil { // the lanes are ready all the same
			t.Fatalf("Call = %d, %v", v, err)
		}
		if st := p.Scheduler().Stats(); st.Spawns == 0 {
			t.Error("the first call has started no worker")
		}
	}
	if least > 0 {
		t.Errorf("a new pool has %d goroutines", least)
	}
}

// TestWorkersDoNotGrowWithLanes checks that a caller with one call at a time on a worker needs
// no worker for each lane. A worker that has ended its call and is not idle yet may be
// replaced. There may therefore be a few workers.
func TestWorkersDoNotGrowWithLanes(t *testing.T) {
	for _, lanes := range []int{16 * runtime.GOMAXPROCS(0), 1024} {
		var h pool.Handlers
		f := pool.Register(&h, "remote", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: lanes})
		for i := range 3000 {
			if v, err := f.Call(bg, i); v != 2*i || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		}
		if n := p.Metrics().Scheduler.Spawns; n > 8 {
			t.Errorf("%d lanes: %d workers were started", lanes, n)
		}
	}
}

// TestShutdownNamesItsCalls checks the error of a Shutdown whose context ends first. It wraps
// the cause, names the handlers that are left, and says how many calls wait.
func TestShutdownNamesItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		open := make(chan struct{})
		stand := pool.Register(&h, "stand", func(context.Context, int) (int, error) { <-open; return 0, nil })
		var p *pool.Pool
		blocks := pool.Register(&h, "blocks", func(context.Context, int) (int, error) {
			p.Blocking(func() { <-open })
			return 0, nil
		})
		p = newPool(t, &h, pool.Config{Lanes: 2})
		defer close(open)
		blocks.Go(bg, 0)
		synctest.Wait()
		for i := range 5 {
			stand.Go(bg, i)
		}
		synctest.Wait()
		time.Sleep(time.Hour) // no look has found them before
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		err := p.Shutdown(ctx)
		mustBe(t, err, context.DeadlineExceeded)
		var e *pool.ShutdownError
		if !errors.As(err, &e) || e.Waiting != 3 || len(e.Running) != 3 {
			t.Fatalf("Shutdown = %#v", err)
		}
		if last := e.Running[2]; last.Task != "blocks" || e.Running[0].Task != "stand" || e.Running[1].Lane != 1 {
			t.Errorf("the handlers are %+v", e.Running)
		}
		for _, text := range []string{"deadline exceeded", "3 calls wait", "3 handlers run", `"stand" on lane 0 for 2s or longer`, `"blocks" on lane 0`} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error %q does not have %q", err, text)
			}
		}
	})
}
