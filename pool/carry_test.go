package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/pool"
)

// elsewhere calls fn on another goroutine. It waits for fn outside of [pool.Pool.Blocking].
func elsewhere(fn func()) {
	var wg sync.WaitGroup
	wg.Go(fn)
	wg.Wait()
}

// runHandlers returns a pool and what calls fn in a handler of it. The handler runs on a worker
// unless there is none. The function double is another one of the pool.
func runHandlers(t *testing.T, c pool.Config) (p *pool.Pool, run func(fn func(ctx context.Context)), doubles *pool.Func[int, int]) {
	t.Helper()
	var h pool.Handlers
	handler := pool.Register(&h, "handler", func(ctx context.Context, fn func(context.Context)) (int, error) {
		fn(ctx)
		return 0, nil
	}, pool.TaskOptions{Remote: true})
	doubles = pool.Register(&h, "double", double)
	p = newPool(t, &h, c)
	return p, func(fn func(ctx context.Context)) {
		t.Helper()
		if _, err := handler.Call(within(t), fn); err != nil {
			t.Errorf("the handler: %v", err)
		}
	}, doubles
}

// inside reports whether p takes the calling goroutine with ctx for a part of one of its handlers.
func inside(ctx context.Context, p *pool.Pool) bool {
	ended, end := context.WithCancel(ctx)
	end() // a wait that is not refused returns
	return errors.Is(p.Wait(ended), pool.ErrInHandler)
}

// TestCarryOutsideHandlers checks that Carry returns its argument outside of handlers.
func TestCarryOutsideHandlers(t *testing.T) {
	ctx := within(t)
	if got := pool.Carry(ctx); got != ctx {
		t.Errorf("Carry = %v", got)
	}
	if r := panicOf(func() { pool.Carry(nil) }); r != "pool: nil context" { //nolint:staticcheck // that is the test
		t.Errorf("Carry(nil) panicked with %v", r)
	}
}

// TestCarryOnce checks that Carry of a context that names the handler returns it. Each other
// Carry after the first one of a handler allocates twice.
func TestCarryOnce(t *testing.T) {
	_, run, _ := runHandlers(t, pool.Config{Lanes: 1})
	run(func(ctx context.Context) {
		carried := pool.Carry(ctx)
		if again := pool.Carry(carried); again != carried {
			t.Error("the second Carry of the same call returned another context")
		}
		if n := testing.AllocsPerRun(100, func() { pool.Carry(ctx) }); n != 2 {
			t.Errorf("Carry allocates %v times", n)
		}
	})
}

// TestCarryIsAcceptedWhileDraining checks that a pool that shuts down accepts the calls of
// other goroutines with the context of a handler. Any function may make the call. The pool
// refuses calls without that context.
func TestCarryIsAcceptedWhileDraining(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 2}, {Lanes: 1}, {Lanes: 1, Concurrency: 2}, inlineOnly()} {
		p, run, double := runHandlers(t, c)
		id := p.Lanes()[0].ID
		done := make(chan error, 1)
		run(func(ctx context.Context) {
			carried := pool.Carry(ctx)
			go func() { done <- p.Shutdown(bg) }()
			until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
			elsewhere(func() {
				calls := map[string]func(ctx context.Context) error{
					"Call": func(ctx context.Context) error { _, err := double.Call(ctx, 1); return err },
					"Go":   func(ctx context.Context) error { _, err := double.Go(ctx, 1).Wait(ctx); return err },
					"After": func(ctx context.Context) error {
						_, err := double.After(ctx, double.Go(carried, 1)).Wait(ctx)
						return err
					},
					"RunTask": func(ctx context.Context) error { _, err := p.RunTask(ctx, "double", 1); return err },
					"request": func(ctx context.Context) error { _, err := p.RunTask(ctx, "request", nil); return err },
					"TryCall": func(ctx context.Context) error { _, err := double.TryCall(ctx, 1); return err },
				}
				if c.Inline == nil {
					calls["CallAt"] = func(ctx context.Context) error { _, err := pool.CallAt(ctx, id, double, 1); return err }
					calls["Ping"] = func(ctx context.Context) error { return p.Ping(ctx, 0) }
				}
				for name, call := range calls {
					if err := call(carried); err != nil {
						t.Errorf("%s with the context: %v", name, err)
					}
					if err := call(bg); !errors.Is(err, pool.ErrPoolShutdown) {
						t.Errorf("%s without it: %v", name, err)
					}
				}
			})
		})
		must(t, came(t, "Shutdown", done))
	}
}

// TestCarryDoesNotWaitForItself checks that a function that would wait for the handler that its
// context names returns ErrInHandler at once.
func TestCarryDoesNotWaitForItself(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	var own *pool.Future[int]
	made := make(chan struct{})
	handler := pool.Register(&h, "handler", func(ctx context.Context, _ int) (int, error) {
		<-made
		ctx = pool.Carry(ctx)
		elsewhere(func() {
			for name, do := range map[string]func() error{
				"Wait for itself": func() error { _, err := own.Wait(ctx); return err },
				"Pool.Wait":       func() error { return p.Wait(ctx) },
				"Shutdown":        func() error { return p.Shutdown(ctx) },
				"Terminate":       func() error { _, err := p.Terminate(ctx); return err },
				"Resize":          func() error { return p.Resize(ctx, 2) },
				"Acquire":         func() error { _, err := p.Acquire(ctx); return err },
				"AcquireLane":     func() error { _, err := p.AcquireLane(ctx, 0); return err },
			} {
				if err := do(); !errors.Is(err, pool.ErrInHandler) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		return 0, nil
	}, pool.TaskOptions{Remote: true})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	own = handler.Go(bg, 0)
	close(made)
	result(t, own)
	balanced(t, p)
}

// TestCarryReleasesThePermit checks that a goroutine that works for a handler never waits for
// its permit. The handler gives the permit up, wherever the goroutine waits.
func TestCarryReleasesThePermit(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 1, Backlog: 1}, {Lanes: 1, Timeout: patience.Limit}} {
		p, run, double := runHandlers(t, c)
		id := p.Lanes()[0].ID
		for name, call := range map[string]func(ctx context.Context) error{
			"Call":   func(ctx context.Context) error { _, err := double.Call(ctx, 1); return err },
			"Go":     func(ctx context.Context) error { _, err := double.Go(bg, 1).Wait(ctx); return err },
			"CallAt": func(ctx context.Context) error { _, err := pool.CallAt(ctx, id, double, 1); return err },
			"GoAt":   func(ctx context.Context) error { _, err := pool.GoAt(bg, id, double, 1).Wait(ctx); return err },
			"Ping":   func(ctx context.Context) error { return p.Ping(ctx, 0) },
			"space": func(ctx context.Context) error {
				first, second := double.Go(ctx, 1), double.Go(ctx, 1)
				_, err := first.Wait(ctx)
				_, err2 := second.Wait(ctx)
				return errors.Join(err, err2)
			},
		} {
			run(func(ctx context.Context) {
				carried := pool.Carry(ctx)
				elsewhere(func() { must(t, call(carried)) })
				if _, err := double.Call(ctx, 1); err != nil {
					t.Errorf("%s: a call of the handler afterwards: %v", name, err)
				}
			})
			balanced(t, p)
			until(t, "the lane to be free after "+name, func() bool { return len(p.Lanes()[0].Running) == 0 })
		}
	}
}

// TestCarryKeepsThePermit checks that a handler keeps its permit while the goroutines that work
// for it do not wait.
func TestCarryKeepsThePermit(t *testing.T) {
	p, run, double := runHandlers(t, pool.Config{Lanes: 2})
	run(func(ctx context.Context) {
		carried := pool.Carry(ctx)
		elsewhere(func() {
			double.Go(carried, 1) // the other lane has a permit
		})
		if n := len(p.Lanes()[0].Running) + len(p.Lanes()[1].Running); p.Metrics().Detached != 0 || n == 0 {
			t.Errorf("the handler has lost its permit: %+v", p.Metrics())
		}
	})
	balanced(t, p)
}

// TestCarryOnItsGoroutine checks that the context changes nothing on the goroutine of the
// handler.
func TestCarryOnItsGoroutine(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		double := pool.Register(&h, "double", double)
		remote := pool.Register(&h, "remote", func(_ context.Context, n int) (int, error) { return 2 * n, nil }, pool.TaskOptions{Remote: true})
		handler := pool.Register(&h, "handler", func(ctx context.Context, n int) (int, error) {
			carried := pool.Carry(ctx)
			ending, end := context.WithTimeout(carried, patience.Limit)
			defer end()
			for _, ctx := range []context.Context{carried, ending} {
				for _, f := range []*pool.Func[int, int]{double, remote} {
					if v, err := f.Call(ctx, 2); v != 4 || err != nil {
						t.Errorf("Call = %d, %v", v, err)
					}
					if v, err := f.Go(ctx, 2).Wait(ctx); v != 4 || err != nil {
						t.Errorf("Wait = %d, %v", v, err)
					}
				}
			}
			return n, nil
		}, o)
		p := newPool(t, &h, c)
		if _, err := handler.Call(within(t), 1); err != nil {
			t.Error(err)
		}
		balanced(t, p)
	})
}

// TestCarryAfterReturn checks that the context of a handler that has returned names no handler.
// The law includes a plain call of the inline lane and a panic. The name has ended when the
// call has.
func TestCarryAfterReturn(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 1, HardLimit: patience.Limit}, inlineOnly()} {
		for _, o := range []pool.TaskOptions{{}, {Remote: true}, {Abortable: true}} {
			for _, end := range []func(){func() {}, func() { panic("a panic of the test") }} {
				var h pool.Handlers
				var carried context.Context
				handler := pool.Register(&h, "handler", func(ctx context.Context, _ int) (int, error) {
					carried = pool.Carry(context.WithoutCancel(ctx))
					end()
					return 0, nil
				}, o)
				double := pool.Register(&h, "double", double)
				p := newPool(t, &h, c)
				_, _ = handler.Call(bg, 1)
				if inside(carried, p) {
					t.Error("the name outlives the call")
				}
				if v, err := double.Call(carried, 2); v != 4 || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
				if pool.AbortSignalOf(carried) != (pool.AbortSignal{}) {
					t.Error("the context has a signal")
				}
				balanced(t, p)
				must(t, p.Shutdown(carried))
			}
		}
	}
}

// TestCarryAfterReturnBesideAnother checks that a pool that shuts down takes no call for a
// handler that has returned. A context names another handler at the same time. No permit of
// that handler is given up.
func TestCarryAfterReturnBesideAnother(t *testing.T) {
	p, run, double := runHandlers(t, pool.Config{Lanes: 1})
	var returned context.Context
	run(func(ctx context.Context) { returned = pool.Carry(ctx) })
	done := make(chan error, 1)
	run(func(ctx context.Context) {
		pool.Carry(ctx)
		ended, end := context.WithCancel(returned)
		queued := double.Go(ctx, 1)
		end()
		elsewhere(func() { _, _ = queued.Wait(ended) })
		if len(p.Lanes()[0].Running) != 1 {
			t.Error("a wait for a handler that has returned has taken the permit of another one")
		}
		go func() { done <- p.Shutdown(bg) }()
		until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
		elsewhere(func() {
			if _, err := double.Call(returned, 1); !errors.Is(err, pool.ErrPoolShutdown) {
				t.Errorf("Call = %v, want %v", err, pool.ErrPoolShutdown)
			}
		})
	})
	must(t, came(t, "Shutdown", done))
}

// TestCarriedSignal checks that AbortSignalOf gives other goroutines the signal of the call.
// The context that is carried need not be that of the handler.
func TestCarriedSignal(t *testing.T) {
	for _, own := range []bool{false, true} {
		var h pool.Handlers
		started := make(chan struct{})
		handler := pool.Register(&h, "handler", func(ctx context.Context, _ int) (int, error) {
			if !own {
				ctx = bg
			}
			carried := pool.Carry(ctx)
			elsewhere(func() {
				signal := pool.AbortSignalOf(carried)
				if signal.Aborted() {
					t.Error("the signal says that the call was aborted")
				}
				close(started)
				until(t, "the signal", signal.Aborted)
			})
			return 0, nil
		}, pool.TaskOptions{Abortable: true})
		p := newPool(t, &h, pool.Config{Lanes: 1})
		fu := handler.Go(bg, 0)
		<-started
		fu.Abort(nil)
		must(t, p.Wait(within(t)))
	}
}

// TestCarryInCalledHandlers checks that a handler of another pool that gets the context works
// for the handler that the context names. It may have carried the context or another one itself
// before.
func TestCarryInCalledHandlers(t *testing.T) {
	for _, carry := range []func(ctx context.Context) context.Context{
		func(ctx context.Context) context.Context { return ctx },
		pool.Carry,
		func(context.Context) context.Context { return pool.Carry(within(t)) },
	} {
		p, run, double := runHandlers(t, pool.Config{Lanes: 1})
		q, _, _ := runHandlers(t, pool.Config{Lanes: 1})
		var h pool.Handlers
		middle := pool.Register(&h, "middle", func(ctx context.Context, _ int) (int, error) {
			ctx = carry(ctx)
			elsewhere(func() {
				if !inside(ctx, p) {
					t.Error("a wait for the first pool is not refused")
				}
				if inside(ctx, q) {
					t.Error("a wait for a pool without handlers is refused")
				}
				if v, err := double.Call(ctx, 1); v != 2 || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
			})
			return 0, nil
		}, pool.TaskOptions{Remote: true})
		newPool(t, &h, pool.Config{Lanes: 1})
		run(func(ctx context.Context) {
			carried := pool.Carry(ctx)
			elsewhere(func() {
				if _, err := middle.Call(carried, 1); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCarryKeepsTheNamesOfItsContext checks that a context that Carry makes in a handler of
// another pool names the handlers of its argument as well. The call of that handler need not
// have come with it.
func TestCarryKeepsTheNamesOfItsContext(t *testing.T) {
	p, run, _ := runHandlers(t, pool.Config{Lanes: 1})
	q, runOther, _ := runHandlers(t, pool.Config{Lanes: 1})
	run(func(ctx context.Context) {
		carried := pool.Carry(ctx)
		runOther(func(context.Context) {
			both := pool.Carry(carried)
			elsewhere(func() {
				if !inside(both, p) || !inside(both, q) {
					t.Errorf("the context names a handler of the first pool: %t, of the second one: %t", inside(both, p), inside(both, q))
				}
			})
		})
	})
}

// TestCarryByTheGoroutineOfACalledHandler checks the goroutine of a handler that was called
// with the context. It works for the handler that the context names, with any context and in
// Blocking. Any goroutine may run the called handler.
func TestCarryByTheGoroutineOfACalledHandler(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, inlineOnly()} {
		for _, o := range []pool.TaskOptions{{}, {Remote: true}} {
			for _, blocks := range []bool{false, true} {
				p, run, double := runHandlers(t, pool.Config{Lanes: 1})
				var h pool.Handlers
				var q *pool.Pool
				middle := pool.Register(&h, "middle", func(_ context.Context, _ int) (v int, err error) {
					if !inside(bg, p) {
						t.Error("a wait for the first pool is not refused")
					}
					if !blocks {
						return double.Call(within(t), 1)
					}
					q.Blocking(func() { elsewhere(func() { v, err = double.Call(within(t), 1) }) })
					return v, err
				}, o)
				q = newPool(t, &h, c)
				run(func(ctx context.Context) {
					carried := pool.Carry(context.WithoutCancel(ctx))
					elsewhere(func() {
						if v, err := middle.Call(carried, 1); v != 2 || err != nil {
							t.Errorf("Call = %d, %v", v, err)
						}
					})
				})
			}
		}
	}
}

// askedContext counts how often its channel is asked for.
type askedContext struct {
	context.Context
	asked atomic.Int32
}

func (c *askedContext) Done() <-chan struct{} {
	c.asked.Add(1)
	return c.Context.Done()
}

// TestCarryReleasesInEveryWait checks that a handler gives up its permit wherever a goroutine
// waits for it. The goroutine may therefore wait for something behind the handler.
func TestCarryReleasesInEveryWait(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, q *pool.Pool) error{
		"Wait": func(ctx context.Context, q *pool.Pool) error { return q.Wait(ctx) },
		"Wait behind another": func(ctx context.Context, q *pool.Pool) error {
			first := &askedContext{Context: bg}
			go func() { _ = q.Wait(first) }()
			for first.asked.Load() < 3 && ctx.Err() == nil { // the third time it is about to park as the leader
				runtime.Gosched()
			}
			return q.Wait(ctx)
		},
		"Shutdown": func(ctx context.Context, q *pool.Pool) error { return q.Shutdown(ctx) },
		"Acquire": func(ctx context.Context, q *pool.Pool) error {
			l, err := q.Acquire(ctx)
			if err == nil {
				l.Release()
			}
			return err
		},
	} {
		p, run, double := runHandlers(t, pool.Config{Lanes: 1})
		q, runOther, _ := runHandlers(t, pool.Config{Lanes: 1})
		entered, done := make(chan struct{}), make(chan struct{})
		run(func(ctx context.Context) {
			carried := pool.Carry(ctx)
			go func() {
				defer close(done)
				runOther(func(context.Context) {
					close(entered)
					if _, err := double.Call(bg, 1); err != nil { // behind the handler
						t.Errorf("%s: %v", name, err)
					}
				})
			}()
			<-entered
			elsewhere(func() {
				if err := wait(carried, q); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		})
		<-done
		balanced(t, p)
	}
}

// TestCarryReleasesHandlersBelow checks that a goroutine that works for a handler never waits
// for the permit of a handler that has called that one. Any goroutine may run the call.
func TestCarryReleasesHandlersBelow(t *testing.T) {
	for _, remote := range []bool{false, true} {
		var below, above pool.Handlers
		double := pool.Register(&below, "double", double)
		inner := pool.Register(&above, "inner", func(ctx context.Context, n int) (int, error) {
			carried := pool.Carry(ctx)
			elsewhere(func() {
				ctx, end := context.WithTimeout(carried, patience.Limit)
				defer end()
				if v, err := double.Call(ctx, n); v != 2*n || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
			})
			return n, nil
		}, pool.TaskOptions{Remote: remote})
		outer := pool.Register(&below, "outer", func(ctx context.Context, n int) (int, error) { return inner.Call(ctx, n) })
		p, q := newPool(t, &below, pool.Config{Lanes: 1}), newPool(t, &above, pool.Config{Lanes: 1})
		if v, err := outer.Call(bg, 3); v != 3 || err != nil {
			t.Errorf("Call = %d, %v", v, err)
		}
		balanced(t, p)
		balanced(t, q)
	}
}

// TestCarriersOfTwoHandlersDoNotDeadlock has two handlers that have all permits. A goroutine of
// each makes a call.
func TestCarriersOfTwoHandlersDoNotDeadlock(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 2}, {Lanes: 1, Concurrency: 2}} {
		var h pool.Handlers
		double := pool.Register(&h, "double", double)
		var both sync.WaitGroup
		both.Add(2)
		handler := pool.Register(&h, "handler", func(ctx context.Context, _ int) (int, error) {
			both.Done()
			both.Wait() // outside of Blocking: both have their permits
			carried := pool.Carry(ctx)
			var err error
			elsewhere(func() { _, err = double.Call(carried, 1) })
			return 0, err
		}, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, c)
		first, second := handler.Go(bg, 0), handler.Go(bg, 0)
		result(t, first)
		result(t, second)
		balanced(t, p)
	}
}

// TestCarriedCallIsAPartOfTheLease checks that a call for a handler of a leased lane that names
// the lane does not wait for the lease. A call by the handler does not wait for it either.
func TestCarriedCallIsAPartOfTheLease(t *testing.T) {
	var h pool.Handlers
	double := pool.Register(&h, "double", double)
	handler := pool.Register(&h, "handler", func(ctx context.Context, id pool.LaneID) (int, error) {
		carried := pool.Carry(ctx)
		v := 0
		var err error
		elsewhere(func() {
			ctx, end := context.WithTimeout(carried, patience.Limit)
			defer end()
			v, err = pool.CallAt(ctx, id, double, 2)
		})
		return v, err
	})
	p := newPool(t, &h, pool.Config{Lanes: 1})
	lease, err := p.Acquire(bg)
	must(t, err)
	defer lease.Release()
	if v, err := pool.CallOn(bg, lease, handler, lease.ID()); v != 4 || err != nil {
		t.Errorf("CallOn = %d, %v", v, err)
	}
}

// TestCarryWaitsOffItsStack checks that a goroutine that waits with the context of a handler
// runs no other call of the inline lane on its stack. That call may wait for the handler.
func TestCarryWaitsOffItsStack(t *testing.T) {
	var h pool.Handlers
	waiter := make(chan uintptr, 1)
	last := pool.Register(&h, "last", double)
	other := pool.Register(&h, "other", func(context.Context, int) (int, error) {
		if park.Self() == came(t, "the goroutine that waits", waiter) {
			t.Error("the call runs on the goroutine that waits for another one")
		}
		return 0, nil
	})
	p := newPool(t, &h, inlineOnly())
	_, run, _ := runHandlers(t, pool.Config{Lanes: 1})
	run(func(ctx context.Context) {
		carried := pool.Carry(ctx)
		elsewhere(func() {
			waiter <- park.Self()
			other.Go(bg, 1)
			if v, err := last.Go(bg, 2).Wait(carried); v != 4 || err != nil {
				t.Errorf("Wait = %d, %v", v, err)
			}
		})
	})
	balanced(t, p)
}
