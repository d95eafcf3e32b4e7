package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

type contextValue struct{}

// TestHandlerContext checks that the context of a handler has the deadline of its call and the
// values of the caller. It ends with the call and for the reason of that end. So do the
// contexts that the handler has derived. It does not matter whether the handler asks for the
// channel before.
func TestHandlerContext(t *testing.T) {
	errCaller := errors.New("the caller has left")
	for _, tc := range []struct {
		name    string
		opts    pool.TaskOptions
		end     func(fu *pool.Future[int], cancel context.CancelCauseFunc)
		err     error // of the context
		cause   error
		derived error // of a context that the handler has derived
	}{
		{"aborted", pool.TaskOptions{Abortable: true}, func(fu *pool.Future[int], _ context.CancelCauseFunc) { fu.Abort(errHandler) }, context.Canceled, errHandler, context.Canceled},
		{"aborted beside a Timeout", pool.TaskOptions{Timeout: time.Hour}, func(fu *pool.Future[int], _ context.CancelCauseFunc) { fu.Abort(errHandler) }, context.Canceled, errHandler, context.Canceled},
		{"timed out", pool.TaskOptions{Timeout: time.Minute}, func(fu *pool.Future[int], _ context.CancelCauseFunc) { <-fu.Done() }, context.DeadlineExceeded, context.DeadlineExceeded, context.DeadlineExceeded},
		{"caller with an abort slot", pool.TaskOptions{Abortable: true}, func(_ *pool.Future[int], cancel context.CancelCauseFunc) { cancel(errCaller) }, context.Canceled, errCaller, context.Canceled},
		{"caller with a Timeout", pool.TaskOptions{Timeout: time.Hour}, func(_ *pool.Future[int], cancel context.CancelCauseFunc) { cancel(errCaller) }, context.Canceled, errCaller, context.Canceled},
		{"caller", pool.TaskOptions{}, func(_ *pool.Future[int], cancel context.CancelCauseFunc) { cancel(errCaller) }, context.Canceled, errCaller, context.Canceled},
	} {
		for _, asks := range []bool{false, true} {
			name := tc.name
			if asks {
				name += ", asked"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var h pool.Handlers
					inside, ended, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
					tc.opts.Remote = true
					f := pool.Register(&h, "context", func(ctx context.Context, _ int) (int, error) {
						defer close(left)
						if d, ok := ctx.Deadline(); ok != (tc.opts.Timeout != 0) || ok && time.Until(d) != tc.opts.Timeout {
							t.Errorf("the deadline is %v, %t", d, ok)
						}
						if v := ctx.Value(contextValue{}); v != 5 {
							t.Errorf("the value is %v", v)
						}
						if err := ctx.Err(); err != nil {
							t.Errorf("Err before the end = %v", err)
						}
						var derived context.Context
						if asks {
							var stop context.CancelFunc
							derived, stop = context.WithCancel(ctx)
							defer stop()
						}
						close(inside)
						<-ended
						synctest.Wait()
						if err := ctx.Err(); !errors.Is(err, tc.err) {
							t.Errorf("Err = %v", err)
						}
						<-ctx.Done()
						if err := context.Cause(ctx); !errors.Is(err, tc.cause) {
							t.Errorf("Cause = %v", err)
						}
						if asks {
							<-derived.Done()
							if err := derived.Err(); !errors.Is(err, tc.derived) || !errors.Is(context.Cause(derived), tc.cause) {
								t.Errorf("the derived context has %v, %v", err, context.Cause(derived))
							}
						}
						return 1, nil
					}, tc.opts)
					p, err := pool.New(&h, pool.Config{Lanes: 1})
					must(t, err)
					ctx, cancel := context.WithCancelCause(context.WithValue(bg, contextValue{}, 5))
					defer cancel(nil)
					fu := f.Go(ctx, 1)
					<-inside
					tc.end(fu, cancel)
					if _, err := fu.Wait(bg); !errors.Is(err, tc.cause) {
						t.Errorf("Wait = %v", err)
					}
					close(ended)
					<-left
					must(t, p.Shutdown(bg))
				})
			})
		}
	}
}

// TestContextAfterTheHandler checks that the context of a handler that has returned is over for
// the goroutines that it has left behind. They may ask before or afterwards.
func TestContextAfterTheHandler(t *testing.T) {
	for _, o := range []pool.TaskOptions{{Abortable: true}, {Timeout: time.Hour}} {
		var h pool.Handlers
		var early, late context.Context
		f := pool.Register(&h, "leaves", func(ctx context.Context, before bool) (int, error) {
			if before {
				early = ctx
				if ctx.Done() == nil {
					t.Error("the context cannot end")
				}
			} else {
				late = ctx
			}
			return 1, nil
		}, o)
		newPool(t, &h, pool.Config{Lanes: 1})
		for _, before := range []bool{true, false} {
			if _, err := f.Call(bg, before); err != nil {
				t.Fatal(err)
			}
		}
		for _, ctx := range []context.Context{early, late} {
			if err := ctx.Err(); !errors.Is(err, context.Canceled) {
				t.Errorf("Err = %v", err)
			}
			ends(t, "the context", func() { <-ctx.Done() })
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Cause = %v", err)
			}
		}
	}
}

// TestTimeoutAfterOthers checks that a call ends exactly at its own deadline. The clock that
// watches over it was used for calls with other deadlines before.
func TestTimeoutAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g := newGate()
		quick := map[time.Duration]*pool.Func[int, int]{}
		slow := map[time.Duration]*pool.Func[int, int]{}
		times := []time.Duration{time.Hour, time.Second, time.Minute}
		for _, d := range times {
			quick[d] = pool.Register(&h, "quick "+d.String(), double, pool.TaskOptions{Timeout: d})
			slow[d] = pool.Register(&h, "slow "+d.String(), g.enter, pool.TaskOptions{Timeout: d, Remote: true})
		}
		p, err := pool.New(&h, pool.Config{Lanes: 1, Concurrency: 200})
		must(t, err)
		for i := range 100 {
			before, d, pause := times[i%3], times[i/3%3], time.Duration(i%7)*100*time.Millisecond
			if v, err := quick[before].Call(bg, 1); v != 2 || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
			time.Sleep(pause)
			start := time.Now()
			_, err := slow[d].Call(bg, 1)
			if took := time.Since(start); took != d || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after a call with %v: %v, %v", d, before, took, err)
			}
		}
		g.release()
		must(t, p.Shutdown(bg))
	})
}

// TestAllocationsOfCallsThatMayEnd checks that a call with a Timeout allocates the context of
// its handler. A call whose context can end allocates nothing.
func TestAllocationsOfCallsThatMayEnd(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, and makes pools forget")
	}
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		opts pool.TaskOptions
		want float64
	}{
		{"Timeout", bg, pool.TaskOptions{Timeout: time.Hour}, 1},
		{"Timeout, remote", bg, pool.TaskOptions{Timeout: time.Hour, Remote: true}, 1},
		{"context", ctx, pool.TaskOptions{}, 0},
		{"context and Timeout", ctx, pool.TaskOptions{Timeout: time.Hour}, 1},
		{"Abortable", bg, pool.TaskOptions{Abortable: true}, 1},
	} {
		var h pool.Handlers
		f := pool.Register(&h, "call", double, tc.opts)
		newPool(t, &h, pool.Config{Lanes: 1})
		got := testing.AllocsPerRun(1000, func() {
			if v, err := f.Call(tc.ctx, 1); v != 2 || err != nil {
				t.Errorf("Call = %d, %v", v, err)
			}
		})
		if got > tc.want {
			t.Errorf("%s: %v allocations, want %v", tc.name, got, tc.want)
		}
	}
}

// watchedContext counts the contexts that were made of it and have not ended.
type watchedContext struct {
	context.Context
	children atomic.Int64
}

func (c *watchedContext) Value(any) any { return nil }

// AfterFunc is what package context calls for a context that is made of this one.
func (c *watchedContext) AfterFunc(func()) (stop func() bool) {
	c.children.Add(1)
	var once sync.Once
	return func() bool {
		once.Do(func() { c.children.Add(-1) })
		return true
	}
}

// TestCallerKeepsNoContexts checks that the context of a caller keeps nothing of calls that
// have ended. They may have timed out, and their handlers may have asked for the channel of
// their contexts.
func TestCallerKeepsNoContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "asks", func(ctx context.Context, long bool) (int, error) {
			if long {
				<-ctx.Done()
			}
			return 1, ctx.Err()
		}, pool.TaskOptions{Timeout: time.Second})
		p, err := pool.New(&h, pool.Config{Lanes: 1})
		must(t, err)
		parent, cancel := context.WithCancel(bg)
		defer cancel()
		ctx := &watchedContext{Context: parent}
		for _, long := range []bool{true, false} {
			for range 10 {
				_, err := f.Call(ctx, long)
				if long != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Call = %v", err)
				}
			}
		}
		synctest.Wait()
		if n := ctx.children.Load(); n != 0 {
			t.Errorf("the context of the caller keeps %d others", n)
		}
		must(t, p.Shutdown(bg))
	})
}

// TestCauseOfANestedCall checks that a call that ends because the call of its caller has timed
// out has not timed out itself. The cause of the context is the one of package context.
func TestCauseOfANestedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		inner := pool.Register(&h, "inner", func(ctx context.Context, n int) (int, error) {
			<-ctx.Done()
			return n, nil
		}, pool.TaskOptions{Prompt: true}) // its caller runs it, and finds out when it returns
		outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
			if v, err := inner.Call(ctx, n); v != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Call = %d, %v", v, err)
			}
			if err := context.Cause(ctx); err != context.DeadlineExceeded {
				t.Errorf("Cause = %v", err)
			}
			return n, nil
		}, pool.TaskOptions{Timeout: time.Second})
		p, err := pool.New(&h, pool.Config{Lanes: 2})
		must(t, err)
		_, err = outer.Call(bg, 1)
		mustBe(t, err, context.DeadlineExceeded)
		must(t, p.Wait(bg))
		if e := p.Metrics().Ends; e != (pool.Ends{TimedOut: 1, ContextEnded: 1}) {
			t.Errorf("Ends = %+v", e)
		}
		must(t, p.Shutdown(bg))
	})
}

// TestTimeoutInTwoBubbles checks that a call of the inline lane ends at its deadline, and at its hard limit.
// The clock of an earlier call was in another bubble.
func TestTimeoutInTwoBubbles(t *testing.T) {
	limited := inlineOnly()
	limited.HardLimit = time.Second
	for _, tc := range []struct {
		config pool.Config
		opts   pool.TaskOptions
	}{{inlineOnly(), pool.TaskOptions{Timeout: time.Second}}, {limited, pool.TaskOptions{}}} {
		var h pool.Handlers
		f := pool.Register(&h, "takes", func(_ context.Context, d time.Duration) (int, error) {
			<-time.After(d)
			return 1, nil
		}, tc.opts)
		newPool(t, &h, tc.config)
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				for _, d := range []time.Duration{0, 2 * time.Second, 0} {
					if _, err := f.Call(bg, d); (d == 0) != (err == nil) {
						t.Errorf("%+v: Call = %v", tc.opts, err)
					}
				}
			})
		}
	}
}

// TestEndedContextEndsGo checks that the outcome of Go with a context that has just ended is
// the cause of that context. A failure shows under the race detector.
func TestEndedContextEndsGo(t *testing.T) {
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
	balanced(t, p)
}

// TestCallEndsWhileALaneTakesIt checks that a call may end by its context while a lane takes it
// out of the queue. Neither side reads what the other one writes, which is I3 of call. The race
// detector sees a violation.
func TestCallEndsWhileALaneTakesIt(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "f", func(_ context.Context, n int) (int, error) {
		runtime.Gosched()
		return n, nil
	})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	calls := 3000
	if testing.Short() {
		calls = 500
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range calls {
				ctx, cancel := context.WithTimeout(bg, time.Duration(10+(i*7+g*13)%200)*time.Microsecond)
				if n, err := f.Call(ctx, i); err == nil && n != i {
					t.Errorf("call %d returns %d", i, n)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	balanced(t, p)
}
