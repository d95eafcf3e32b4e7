package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// TestCloseTellsGuests: Close ends a call whose handler runs without a permit of a lane,
// and tells the handler, which is Abortable.
func TestCloseTellsGuests(t *testing.T) {
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

// TestCloseEndsInline: Close ends an inline call that one goroutine runs for another, although
// its handler goes on.
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

// TestTerminateWaitsForGuests: Terminate counts, and waits for, handlers that callers run,
// also when their calls have ended before.
func TestTerminateWaitsForGuests(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		// begin makes a call whose handler it lets begin, and returns what ends the call.
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
			n, err := p.Terminate(gone)
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

// TestClosedPoolGivesUpItsPlace: a handler that waits gives up its place on its scheduler
// also when its own pool is closed.
func TestClosedPoolGivesUpItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScheduler(t, sched.Config{MaxWorkers: 1})
		var hp, hq pool.Handlers
		var p *pool.Pool
		g := newGate()
		inner := pool.Register(&hq, "inner", g.enter, pool.TaskOptions{Remote: true})
		outer := pool.Register(&hp, "outer", func(context.Context, int) (int, error) {
			if err := p.Close(); err != nil {
				return 0, err
			}
			return inner.Call(bg, 1)
		}, pool.TaskOptions{Remote: true})
		p = newPool(t, &hp, pool.Config{Lanes: 1, Scheduler: s})
		newPool(t, &hq, pool.Config{Lanes: 1})
		t.Cleanup(g.release)
		fu := outer.Go(bg, 1)
		g.entered(t, 1)
		ran := make(chan struct{})
		must(t, s.Go(func() { close(ran) }))
		came(t, "another task of the scheduler", ran)
		g.release()
		_, err := wait(t, fu)
		mustBe(t, err, pool.ErrThreadClosed)
	})
}

// TestLateCall: a call whose deadline has passed before it starts is never entered, and its
// error says so, and is the cause of its context, whichever goroutine sees first that it is late.
func TestLateCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		o := pool.TaskOptions{Remote: true}
		f := pool.Register(&h, "enter", func(_ context.Context, entered *atomic.Bool) (int, error) {
			entered.Store(true)
			return 1, nil
		}, o)
		stand := pool.Register(&h, "stand", func(_ context.Context, over <-chan time.Time) (int, error) {
			<-over
			return 1, nil
		}, o)
		p := newPool(t, &h, pool.Config{Lanes: 1})
		for range 200 {
			end := time.Now().Add(time.Second)
			over := time.After(time.Second) // the handler returns at that very moment
			ctx, cancel := context.WithDeadlineCause(bg, end, errWhy)
			stand.Go(bg, over)
			var entered [20]atomic.Bool
			var fs []*pool.Future[int]
			for i := range entered {
				fs = append(fs, f.Go(ctx, &entered[i]))
			}
			for i, fu := range fs {
				_, err := wait(t, fu)
				mustBe(t, err, errWhy, pool.ErrNotStarted)
				if entered[i].Load() {
					t.Fatalf("call %d was entered", i)
				}
			}
			cancel()
		}
		balanced(t, p)
	})
}

// TestNilContext: a nil context is refused with a panic that names it, before the pool has
// the call.
func TestNilContext(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 1, Timeout: time.Hour}, inlineOnly()} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, c)
		dep := f.Go(bg, 1)
		_, err := dep.Wait(bg)
		must(t, err)
		var none context.Context
		for name, call := range map[string]func(){
			"Call":  func() { f.Call(none, 1) },
			"Go":    func() { f.Go(none, 1) },
			"After": func() { f.After(none, dep) },
		} {
			if v := fmt.Sprint(panicOf(call)); !strings.Contains(v, "pool: nil context") {
				t.Errorf("%s panics with %q", name, v)
			}
		}
		ctx, cancel := context.WithTimeout(bg, patience)
		must(t, p.Shutdown(ctx))
		cancel()
		balanced(t, p)
	}
}

// TestCallerRunsGoexit: a handler of a Remote task that calls runtime.Goexit does not end
// the goroutine of a caller for whose call there is no space.
func TestCallerRunsGoexit(t *testing.T) {
	for name, way := range map[string]func(*pool.Func[int, int]) (int, error){
		"Call": func(f *pool.Func[int, int]) (int, error) { return f.Call(bg, 1) },
		"Go":   func(f *pool.Func[int, int]) (int, error) { return f.Go(bg, 1).Wait(bg) },
	} {
		var h pool.Handlers
		g := newGate()
		gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
		exit := pool.Register(&h, "exit", goexit, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
		t.Cleanup(g.release)
		fill(t, g, gate, 1)
		survives(t, name, func() {
			if _, err := way(exit); !errors.Is(err, pool.ErrGoexit) {
				t.Errorf("%s = %v", name, err)
			}
		})
		g.release()
		balanced(t, p)
	}
}

// TestHardLimitOfGuests: the hard limit ends a call that RunInline or a caller runs, for its
// waiter, although its handler does not return.
func TestHardLimitOfGuests(t *testing.T) {
	for _, way := range []string{"RunInline", "CallerRuns"} {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h pool.Handlers
				g := newGate()
				gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
				begun := make(chan int, 1)
				stuck := pool.Register(&h, "stuck", func(_ context.Context, n int) (int, error) {
					begun <- n
					<-g.open
					return n, nil
				})
				made := make(chan *pool.Future[int], 1)
				c := inlineOnly()
				if way == "CallerRuns" {
					c = pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns}
				}
				c.HardLimit = time.Second
				p := newPool(t, &h, c)
				t.Cleanup(g.release)
				if way == "CallerRuns" {
					fill(t, g, gate, 1)
					go func() { made <- stuck.Go(bg, 1) }() // Go returns when the call ends
				} else {
					made <- stuck.Go(bg, 1)
					go p.RunInline(1)
				}
				came(t, "the handler", begun)
				start := time.Now()
				_, err := wait(t, came(t, "the future", made))
				mustBe(t, err, pool.ErrHardLimit)
				mustNotBe(t, err, pool.ErrNotStarted)
				if d := time.Since(start); d != time.Second {
					t.Errorf("it has ended after %v", d)
				}
			})
		})
	}
}

// TestNestedAfterClose: Close ends a call that runs on top of a handler of its own lane.
func TestNestedAfterClose(t *testing.T) {
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

// TestHardLimitCount: a handler that runs into the hard limit is counted, also when it has
// given up its lane.
func TestHardLimitCount(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			g, inner, _ := gated(t, pool.Config{Lanes: 1})
			outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) { return inner.Call(ctx, n) }, pool.TaskOptions{Remote: true})
			p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency, HardLimit: time.Second})
			t.Cleanup(g.release)
			_, err := outer.Call(bg, 1)
			mustBe(t, err, pool.ErrHardLimit)
			synctest.Wait()
			if m := p.Metrics(); m.Abandoned != 1 {
				t.Errorf("%d handlers are counted", m.Abandoned)
			}
		})
	}
}
