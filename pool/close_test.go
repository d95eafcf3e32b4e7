package pool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestClose checks that Close ends each unfinished call at once with the exact text. K-096,
// K-101, C-027.
func TestClose(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		runs   int // calls whose handlers are entered
	}{
		{"lane", pool.Config{Lanes: 1}, 1},
		{"lanes", pool.Config{Lanes: 3}, 3},
		{"permits", pool.Config{Lanes: 1, Concurrency: 4}, 4},
		{"limit", pool.Config{Lanes: 1, HardLimit: time.Hour}, 1},
		{"paused", pool.Config{Lanes: 2}, 0},
		{"inline", inlineOnly(), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, f, p := gated(t, tc.config)
			if tc.runs == 0 {
				p.Pause()
			}
			var fs []*pool.Future[int]
			for i := range 100 {
				fs = append(fs, f.Go(bg, i))
			}
			begun := g.entered(t, tc.runs)
			must(t, p.Close())
			for i, fu := range fs {
				if !settled(fu) {
					t.Fatalf("call %d has not ended when Close returns", i)
				}
				_, err := fu.Wait(bg)
				mustBe(t, err, pool.ErrThreadClosed, pool.ErrClosed)
				if err.Error() != "Thread closed" {
					t.Errorf("the text is %q", err)
				}
				if errors.Is(err, pool.ErrNotStarted) == slices.Contains(begun, i) {
					t.Errorf("call %d began: %v", i, err)
				}
			}
			g.none(t)
			_, err := f.Call(bg, 1)
			mustBe(t, err, pool.ErrPoolShutdown, pool.ErrClosed, pool.ErrNotStarted)
			if err.Error() != "Pool is shut down" {
				t.Errorf("the text is %q", err)
			}
			_, err = wait(t, f.Go(bg, 1))
			mustBe(t, err, pool.ErrPoolShutdown, pool.ErrNotStarted)
			balanced(t, p)
			g.release()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
			if st := p.Metrics().StaleResponses; st != uint64(tc.runs) {
				t.Errorf("%d late outcomes, want %d", st, tc.runs)
			}
		})
	}
}

// TestDeferredClose checks that a deferred Close ends the pool with its scope. K-097.
func TestDeferredClose(t *testing.T) {
	var f *pool.Func[int, int]
	func() {
		var h pool.Handlers
		f = pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{})
		must(t, err)
		defer p.Close()
		if v, err := f.Call(bg, 2); v != 4 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}()
	_, err := f.Call(bg, 2)
	mustBe(t, err, pool.ErrClosed)
}

// TestDrainOnClose checks that Close finishes first with that option. K-100.
func TestDrainOnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1, DrainOnClose: true})
		var fs []*pool.Future[int]
		for i := range 50 {
			fs = append(fs, f.Go(bg, i))
		}
		g.entered(t, 1)
		done := make(chan error)
		go func() { done <- p.Close() }()
		synctest.Wait() // Close waits for the calls
		if s := p.Metrics().Status; s != "draining" {
			t.Errorf("the pool is %s", s)
		}
		g.release()
		must(t, came(t, "Close", done))
		for i, fu := range fs {
			if !settled(fu) || result(t, fu) != i {
				t.Fatalf("call %d was not finished", i)
			}
		}
	})
}

// TestDrainOnCloseInHandler checks that Close inside a handler does not end the accepted calls
// if it is to finish them.
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

// TestDrainSurvivesGoexit has a handler of the inline lane that ends the goroutine on which a
// Close inside another handler drains the pool. The pool still comes to its end.
func TestDrainSurvivesGoexit(t *testing.T) {
	var h pool.Handlers
	exits := pool.Register(&h, "exits", func(context.Context, int) (int, error) {
		runtime.Goexit()
		return 0, nil
	})
	var p *pool.Pool
	closes := pool.Register(&h, "closes", func(context.Context, int) (int, error) {
		for range 3 {
			exits.Go(bg, 1)
		}
		return 0, p.Close()
	})
	p = newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}, DrainOnClose: true})
	if _, err := closes.Call(bg, 1); err != nil {
		t.Error(err)
	}
	until(t, "the pool to be closed", func() bool { return p.Metrics().Status == "closed" })
	balanced(t, p)
}

// TestCloseEndsCallsWithoutAPermit checks that Close ends the call of a handler that has given up its
// permit, with the exact text. K-101, C-027.
func TestCloseEndsCallsWithoutAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		var p *pool.Pool
		open := make(chan struct{})
		f := pool.Register(&h, "blocks", func(_ context.Context, n int) (int, error) {
			p.Blocking(func() { <-open })
			return n, nil
		}, pool.TaskOptions{Remote: true})
		p = newPool(t, &h, pool.Config{Lanes: 1})
		fu := f.Go(bg, 1)
		synctest.Wait()
		must(t, p.Close())
		if !settled(fu) {
			t.Fatal("the call has not ended when Close returns")
		}
		_, err := fu.Wait(bg)
		mustBe(t, err, pool.ErrThreadClosed)
		if err.Error() != "Thread closed" {
			t.Errorf("the text is %q", err)
		}
		close(open)
	})
}

// slowEnd is a context that holds up the end of a call.
type slowEnd struct {
	context.Context
	done chan struct{} // never closed
	open chan struct{}
}

func (x slowEnd) Done() <-chan struct{}        { return x.done }
func (x slowEnd) AfterFunc(func()) func() bool { return func() bool { <-x.open; return true } }

// TestEveryCloserWaits checks that no goroutine that ends a pool returns while another one still ends
// the calls. K-098.
func TestEveryCloserWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		open := make(chan struct{})
		fu := f.Go(slowEnd{bg, make(chan struct{}), open}, 1)
		g.entered(t, 1)
		gone, cancel := context.WithCancel(bg)
		cancel()
		var wg sync.WaitGroup
		for _, closer := range []func(){
			func() { _ = p.Close() },
			func() { _ = p.Shutdown(gone) },
			func() { _, _ = p.Terminate(gone) },
		} {
			wg.Go(func() {
				if closer(); !settled(fu) {
					t.Error("the pool is closed, and its call has not ended")
				}
			})
			synctest.Wait()
		}
		close(open)
		wg.Wait()
	})
}

// TestManyClosers checks that all goroutines that end a pool at the same time see its end.
// K-098, C-028.
func TestManyClosers(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	var fs []*pool.Future[int]
	for i := range 100 {
		fs = append(fs, f.Go(bg, i))
	}
	g.entered(t, 2)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 100 {
		wg.Go(func() {
			<-start
			gone, cancel := context.WithCancel(bg)
			cancel()
			switch i % 3 {
			case 0:
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			case 1:
				if err := p.Shutdown(gone); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			default:
				if _, err := p.Terminate(gone); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if s := p.Metrics().Status; s != "closed" {
				t.Errorf("the pool is %s", s)
			}
			for i, fu := range fs {
				if !settled(fu) {
					t.Errorf("call %d has not ended", i)
				}
			}
		})
	}
	close(start)
	ends(t, "100 closers", wg.Wait)
	g.release()
	for range 2 {
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	}
	balanced(t, p)
}

// TestCloseEndsCallsWithPermits checks that calls of a lane with a permit for each of them end
// with the pool. Calls that have not begun end too.
func TestCloseEndsCallsWithPermits(t *testing.T) {
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

// TestCloseEndsDirectCalls checks that calls that callers run themselves end with one of the
// two texts when the pool is closed around them.
func TestCloseEndsDirectCalls(t *testing.T) {
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

// TestCloseInsideThenTerminate checks that a pool that a handler has closed can be terminated.
// It leaves no goroutine.
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

// TestCloseTellsHandlersWithoutPermit checks that Close ends a call whose handler runs without
// a permit of a lane. The handler is Abortable, and Close tells the handler.
func TestCloseTellsHandlersWithoutPermit(t *testing.T) {
	for _, way := range []string{"RunInline", "CallerRuns", "nested"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h pool.Handlers
				g := newGate()
				in, told, ended := make(chan int, 1), make(chan bool, 1), make(chan error, 1)
				stand := pool.Register(&h, "stand", func(ctx context.Context, n int) (int, error) {
					in <- n
					select {
					case <-ctx.Done():
					case <-g.open:
					}
					told <- ctx.Err() != nil && (way == "RunInline" || pool.AbortSignalOf(ctx).Aborted())
					return n, nil
				}, pool.TaskOptions{Abortable: true})
				outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
					n, err := stand.Call(ctx, n)
					ended <- err
					return n, err
				})
				gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
				var p *pool.Pool
				switch way {
				case "RunInline":
					p = newPool(t, &h, inlineOnly())
					f := stand.Go(bg, 1)
					go p.RunInline(1)
					go func() { <-f.Done(); _, err := f.Wait(bg); ended <- err }()
				case "CallerRuns":
					p = newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
					fill(t, g, gate, 1)
					go func() { _, err := stand.Go(bg, 1).Wait(bg); ended <- err }()
				default:
					p = newPool(t, &h, pool.Config{Lanes: 1})
					outer.Go(bg, 1)
				}
				t.Cleanup(g.release)
				came(t, "the handler", in)
				must(t, p.Close())
				synctest.Wait()
				select {
				case ok := <-told:
					if !ok {
						t.Error("its context or its signal says nothing")
					}
				default:
					t.Error("the handler has not learned of it")
				}
				select {
				case err := <-ended:
					mustBe(t, err, pool.ErrThreadClosed)
					mustNotBe(t, err, pool.ErrNotStarted)
				default:
					t.Error("the call has not ended")
				}
			})
		})
	}
}

// TestCloseEndsInline checks that Close ends an inline call that one goroutine runs for
// another. Its handler goes on.
func TestCloseEndsInline(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter)
	p := newPool(t, &h, inlineOnly())
	t.Cleanup(g.release)
	fu := f.Go(bg, 1)
	go p.RunInline(1)
	g.entered(t, 1)
	must(t, p.Close())
	_, err := wait(t, fu)
	mustBe(t, err, pool.ErrThreadClosed)
	mustNotBe(t, err, pool.ErrNotStarted)
}

// TestCloseEndsNestedCall checks that Close ends a call that runs on top of a handler of its
// own lane.
func TestCloseEndsNestedCall(t *testing.T) {
	for _, o := range []pool.TaskOptions{{}, {Abortable: true}} {
		var h pool.Handlers
		in, out, errs := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		inner := pool.Register(&h, "inner", func(context.Context, int) (int, error) {
			close(in)
			<-out
			return 7, nil
		}, o)
		outer := pool.Register(&h, "outer", func(context.Context, int) (int, error) {
			_, err := inner.Call(bg, 1)
			errs <- err
			return 0, err
		})
		p := newPool(t, &h, pool.Config{Lanes: 1})
		go func() { _, _ = outer.Call(bg, 1) }()
		came(t, "the inner handler", in)
		must(t, p.Close())
		close(out)
		mustBe(t, came(t, "the inner call", errs), pool.ErrThreadClosed)
	}
}
