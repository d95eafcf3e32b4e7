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

// TestInlineWaiterRunsItsCall checks that a call that waits for the inline lane is run by its
// waiter.
func TestInlineWaiterRunsItsCall(t *testing.T) {
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

// TestInlineCallsTakeNoBacklog checks that calls that wait for the inline lane take no space in the backlog, and need none:
// the goroutine that would run them may be the one that makes them.
func TestInlineCallsTakeNoBacklog(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	open := make(chan struct{})
	blocks := pool.Register(&h, "blocks", func(context.Context, int) (int, error) { <-open; return 1, nil }, pool.TaskOptions{Remote: true})
	inline := new(fixed)
	inline.lane.Store(1)
	p := newPool(t, &h, pool.Config{Lanes: 1, Inline: &pool.Inline{}, Balancer: inline, Backlog: 1, Overflow: pool.Fail})
	lane := p.Lanes()[0].ID
	busy := pool.GoAt(bg, lane, blocks, 0)
	var futures []*pool.Future[int]
	for i := range 3 {
		futures = append(futures, f.Go(bg, i))
	}
	waits, refused := pool.GoAt(bg, lane, f, 7), pool.GoAt(bg, lane, f, 8)
	if _, err := refused.Wait(within(t)); !errors.Is(err, pool.ErrBacklogFull) {
		t.Errorf("a second call that waits for the lane: %v", err)
	}
	if n := p.RunInline(10); n != len(futures) {
		t.Errorf("%d calls waited for the inline lane, want %d", n, len(futures))
	}
	echoedDouble := func(fu *pool.Future[int], want int) {
		t.Helper()
		if v, err := fu.Wait(within(t)); v != want || err != nil {
			t.Errorf("got %d, %v; want %d", v, err, want)
		}
	}
	for i, fu := range futures {
		echoedDouble(fu, 2*i)
	}
	close(open)
	echoedDouble(busy, 1)
	echoedDouble(waits, 14)
	balanced(t, p)
}

// TestInlineRunsAfterResume checks that a waiter for an inline call of a paused pool runs it
// after Resume.
func TestInlineRunsAfterResume(t *testing.T) {
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

// TestInlineRunsDuringWait checks that a goroutine that waits for the end of all calls runs
// inline calls that come while it is blocked.
func TestInlineRunsDuringWait(t *testing.T) {
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

// TestInlineCallsDelayNoAnswer checks that the calls of another lane settle while inline calls wait and
// no goroutine runs them. A goroutine that takes such an answer runs no inline call. K-086.
func TestInlineCallsDelayNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g := newGate()
		outer := pool.Register(&h, "outer", g.enter, pool.TaskOptions{Remote: true})
		var ran atomic.Int64
		inline := pool.Register(&h, "inline", func(context.Context, int) (int, error) { return int(ran.Add(1)), nil })
		b := &fixed{}
		p := newPool(t, &h, pool.Config{Lanes: 1, Balancer: b, Inline: &pool.Inline{}})
		t.Cleanup(g.release)
		answers := []*pool.Future[int]{outer.Go(bg, 0), outer.Go(bg, 1)} // the second one waits for the lane
		done := []<-chan struct{}{answers[0].Done(), answers[1].Done()}
		g.entered(t, 1)
		b.lane.Store(1) // the inline lane
		for i := range 3 {
			inline.Go(bg, i)
		}
		g.release()
		synctest.Wait()
		for i, ch := range done {
			select {
			case <-ch:
			default:
				t.Fatalf("call %d of a lane has no answer, and %d inline calls have run", i, ran.Load())
			}
		}
		echoed(t, answers)
		if n := ran.Load(); n != 0 {
			t.Errorf("%d inline calls ran before the answers were taken", n)
		}
		must(t, p.Wait(within(t)))
		if n := ran.Load(); n != 3 {
			t.Errorf("%d of 3 inline calls have run", n)
		}
		balanced(t, p)
	})
}

// TestInlineResultsDoNotMix has goroutines that share the inline lane and run calls of each
// other. All of them get their own results again and again with the same memory.
func TestInlineResultsDoNotMix(t *testing.T) {
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

// TestInlineTimeoutKeepsMemory checks the memory of inline calls whose time ends while another
// goroutine runs them. They give it back only when that goroutine is done with it.
func TestInlineTimeoutKeepsMemory(t *testing.T) {
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

// TestInlineBreaks checks that a handler of the inline lane that panics or ends its goroutine
// is entered once. Its call has ended.
func TestInlineBreaks(t *testing.T) {
	var h pool.Handlers
	entered := 0
	f := pool.Register(&h, "breaks", func(_ context.Context, exit bool) (int, error) {
		entered++
		if exit {
			runtime.Goexit()
		}
		panic(errTask)
	})
	p := newPool(t, &h, inlineOnly())
	_, err := f.Call(bg, false)
	var remote *pool.RemoteError
	if !errors.As(err, &remote) || !errors.Is(err, errTask) || remote.Stack == "" || entered != 1 {
		t.Errorf("Call = %v, and the handler was entered %d times", err, entered)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = f.Call(bg, true)
		t.Error("the goroutine goes on")
	}()
	<-gone
	if entered != 2 {
		t.Errorf("the handler was entered %d times", entered)
	}
	balanced(t, p)
}

// manyCallers is more goroutines than any table of a fixed size would hold.
const manyCallers = 40

// TestInlineBesidePump checks that a waiter for a call of the inline lane that is queued behind
// others gets its outcome. A pump may take some of these others away.
func TestInlineBesidePump(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, inlineOnly())
	gone, cancel := context.WithCancel(bg)
	cancel()
	n := 4000
	if testing.Short() {
		n = 200
	}
	for i := range n {
		for range 3 {
			came(t, "a call that is queued to end", f.Go(gone, 1).Done())
		}
		var wg sync.WaitGroup
		wg.Go(func() { p.RunInline(1) })
		wg.Go(func() {
			var v int
			var err error
			if i%2 == 0 {
				v, err = f.Call(bg, i)
			} else {
				v, err = f.Go(bg, i).Wait(bg)
			}
			if v != 2*i || err != nil {
				t.Errorf("call %d: %d, %v", i, v, err)
			}
		})
		ends(t, "the pump and the caller", wg.Wait)
	}
	balanced(t, p)
}

// TestInlineCloseBesidePump checks that Close ends the queued calls of the inline lane. A pump
// takes out calls at the same time.
func TestInlineCloseBesidePump(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, inlineOnly())
		var fs []*pool.Future[int]
		for i := range 5 {
			fs = append(fs, f.Go(bg, i))
		}
		pumped := make(chan struct{})
		go func() {
			defer close(pumped)
			p.RunInline(1)
		}()
		must(t, p.Close())
		came(t, "the pump", pumped)
		for i, fu := range fs {
			if v, err := wait(t, fu); err != nil {
				mustBe(t, err, pool.ErrThreadClosed)
			} else if v != 2*i {
				t.Fatalf("call %d: %d", i, v)
			}
		}
	}
}

// TestInlineRemoteBesidePump makes Remote calls of the inline lane whose caller waits and uses
// the memory again. Others take the call out of the queue during the wait and give it a
// goroutine. Each call has its own result.
func TestInlineRemoteBesidePump(t *testing.T) {
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

// TestInlineRunsNothingOnTop checks that a handler that waits for a call never runs another
// inline call on top of itself. That call might wait for the handler in its turn. The same
// holds for a call of another pool.
func TestInlineRunsNothingOnTop(t *testing.T) {
	t.Run("handler", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inlineOnTop(t, false) }) })
	t.Run("handler of another pool", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inlineOnTop(t, true) }) })
}

// inlineOnTop is TestInlineRunsNothingOnTop. The handler waits in the same pool or across.
func inlineOnTop(t *testing.T, across bool) {
	t.Helper()
	var h, other pool.Handlers
	ofFirst := &h
	if across {
		ofFirst = &other
	}
	var slowly, firstly *pool.Future[int]
	g := newGate()
	begun, made := make(chan int, 2), make(chan struct{})
	slow := pool.Register(&h, "slow", g.enter)
	first := pool.Register(ofFirst, "first", func(ctx context.Context, n int) (int, error) {
		begun <- n
		<-made
		return slowly.Wait(ctx)
	})
	second := pool.Register(&h, "second", func(ctx context.Context, n int) (int, error) {
		begun <- n
		return firstly.Wait(ctx)
	})
	b := &fixed{}
	p := newPool(t, &h, pool.Config{Lanes: 2, Balancer: b, Inline: &pool.Inline{}})
	newPool(t, &other, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	slowly = slow.Go(bg, 7)
	g.entered(t, 1)
	b.lane.Store(1)
	firstly = first.Go(bg, 1)
	came(t, "the first", begun)
	b.lane.Store(2) // the inline lane
	secondly := second.Go(bg, 2)
	close(made)
	came(t, "the second, while the first waits", begun)
	g.release()
	for _, f := range []*pool.Future[int]{slowly, firstly, secondly} {
		if v := result(t, f); v != 7 {
			t.Fatalf("result %d", v)
		}
	}
	balanced(t, p)
}

// TestInlineShutdownLetsNestedCallsRun checks that inline handlers make the calls that they
// need to finish during a shutdown. They run on any number of goroutines.
func TestInlineShutdownLetsNestedCallsRun(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	inner := pool.Register(&h, "inner", double)
	outer := pool.Register(&h, "outer", func(ctx context.Context, n int) (int, error) {
		if _, err := g.enter(ctx, n); err != nil {
			return 0, err
		}
		return inner.Call(ctx, n)
	})
	p := newPool(t, &h, inlineOnly())
	t.Cleanup(g.release)
	var wg sync.WaitGroup
	for i := range manyCallers {
		wg.Go(func() {
			if v, err := outer.Call(bg, i); v != 2*i || err != nil {
				t.Errorf("Call(%d) = %d, %v", i, v, err)
			}
		})
	}
	g.entered(t, manyCallers)
	done := make(chan error, 1)
	go func() { done <- p.Shutdown(within(t)) }()
	until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
	g.release()
	ends(t, "the callers", wg.Wait)
	must(t, came(t, "Shutdown", done))
}

// TestInlineWaitInHandlers checks that Wait tells each inline handler that it would wait for
// itself. The handlers run on any number of goroutines.
func TestInlineWaitInHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		var p *pool.Pool
		g := newGate()
		ctx := within(t)
		f := pool.Register(&h, "wait", func(_ context.Context, n int) (int, error) {
			if _, err := g.enter(bg, n); err != nil {
				return 0, err
			}
			return n, p.Wait(ctx)
		})
		p = newPool(t, &h, inlineOnly())
		t.Cleanup(g.release)
		errs := make(chan error, manyCallers)
		for i := range manyCallers {
			go func() { _, err := f.Call(bg, i); errs <- err }()
		}
		g.entered(t, manyCallers)
		g.release()
		for range manyCallers {
			mustBe(t, <-errs, pool.ErrInHandler)
		}
		balanced(t, p)
	})
}

// TestInlineWaitStopsWithItsContext checks that a goroutine that runs calls of the inline lane
// while it waits stops after the batch in which its context ends.
func TestInlineWaitStopsWithItsContext(t *testing.T) {
	for _, batch := range []int{1, 3} {
		var h pool.Handlers
		var ran atomic.Int64
		ctx, cancel := context.WithCancelCause(bg)
		f := pool.Register(&h, "cancel", func(context.Context, int) (int, error) {
			cancel(errWhy)
			return int(ran.Add(1)), nil
		})
		p := newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{BatchSize: batch}})
		const n = 100
		for i := range n {
			f.Go(bg, i)
		}
		last := f.Go(bg, n)
		_, err := last.Wait(ctx)
		mustBe(t, err, errWhy)
		if got := ran.Load(); got != int64(batch) {
			t.Errorf("batches of %d: Wait ran %d calls", batch, got)
		}
		if v, err := last.Wait(within(t)); v != n+1 || err != nil {
			t.Errorf("Wait = %d, %v", v, err)
		}
		balanced(t, p)
	}
}

// TestInlineSurvivesGoexit checks that a handler of a Remote task that calls runtime.Goexit
// does not end the goroutine of its caller. It does not end that of a waiter for another inline
// call either.
func TestInlineSurvivesGoexit(t *testing.T) {
	var h pool.Handlers
	exit := pool.Register(&h, "exit", goexit, pool.TaskOptions{Remote: true})
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, inlineOnly())
	survives(t, "Call", func() {
		if _, err := exit.Call(bg, 1); !errors.Is(err, pool.ErrGoexit) {
			t.Errorf("Call = %v", err)
		}
	})
	survives(t, "Wait", func() {
		if _, err := exit.Go(bg, 1).Wait(bg); !errors.Is(err, pool.ErrGoexit) {
			t.Errorf("Wait = %v", err)
		}
	})
	other := exit.Go(bg, 1)
	survives(t, "Wait for another one", func() {
		if v, err := f.Go(bg, 2).Wait(bg); v != 4 || err != nil {
			t.Errorf("Wait = %d, %v", v, err)
		}
	})
	_, err := wait(t, other)
	mustBe(t, err, pool.ErrGoexit)
	balanced(t, p)
}

// TestInlineWaiterLeavesRemoteHandler checks that a goroutine that runs a Remote call of the
// inline lane while it waits does not wait for that handler once its own wait is over.
func TestInlineWaiterLeavesRemoteHandler(t *testing.T) {
	for _, tc := range []struct {
		name string
		want error
		ends func(p *pool.Pool, fu *pool.Future[int], cancel context.CancelFunc)
	}{
		{"Abort", errWhy, func(_ *pool.Pool, fu *pool.Future[int], _ context.CancelFunc) { fu.Abort(errWhy) }},
		{"Close", pool.ErrThreadClosed, func(p *pool.Pool, _ *pool.Future[int], _ context.CancelFunc) { _ = p.Close() }},
		{"context", context.Canceled, func(_ *pool.Pool, _ *pool.Future[int], cancel context.CancelFunc) { cancel() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, f, p := gated(t, inlineOnly())
				fu := f.Go(bg, 1)
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				errs := make(chan error, 1)
				go func() {
					_, err := fu.Wait(ctx)
					errs <- err
				}()
				g.entered(t, 1)
				tc.ends(p, fu, cancel)
				mustBe(t, came(t, "Wait", errs), tc.want)
			})
		})
	}
	t.Run("Shutdown", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, inlineOnly())
			f.Go(bg, 1)
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			errs := make(chan error, 1)
			go func() { errs <- p.Shutdown(ctx) }()
			g.entered(t, 1)
			mustBe(t, came(t, "Shutdown", errs), context.DeadlineExceeded)
		})
	})
	t.Run("another lane", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			g, b := newGate(), &fixed{}
			slow := pool.Register(&h, "slow", g.enter, pool.TaskOptions{Remote: true})
			quick := pool.Register(&h, "quick", double, pool.TaskOptions{Remote: true})
			p := newPool(t, &h, pool.Config{Lanes: 1, Inline: &pool.Inline{}, Balancer: b})
			t.Cleanup(g.release)
			p.Pause()
			own := quick.Go(bg, 1)
			b.lane.Store(1)
			slow.Go(bg, 1)
			values := make(chan int, 1)
			go func() {
				v, _ := own.Wait(bg)
				values <- v
			}()
			synctest.Wait()
			p.Resume()
			if v := came(t, "Wait", values); v != 2 {
				t.Errorf("Wait = %d", v)
			}
		})
	})
}

// TestInlineRemoteCallsInTurn checks that a waiter starts goroutines for the Remote calls of
// the inline lane one after another.
func TestInlineRemoteCallsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, inlineOnly())
		for i := range 3 {
			f.Go(bg, i)
		}
		errs := make(chan error, 1)
		go func() { errs <- p.Wait(bg) }()
		for i := range 3 {
			g.entered(t, 1)
			synctest.Wait()
			if n := len(g.in); n != 0 {
				t.Fatalf("%d more handlers were entered beside that of call %d", n, i)
			}
			g.open <- struct{}{}
		}
		must(t, came(t, "Wait", errs))
		balanced(t, p)
	})
}

// TestInlinePanicAfterClose checks that a call that Close has ended says so whatever its
// handler does.
func TestInlinePanicAfterClose(t *testing.T) {
	var h pool.Handlers
	in, out := make(chan struct{}), make(chan struct{})
	f := pool.Register(&h, "panics", func(context.Context, int) (int, error) {
		close(in)
		<-out
		panic("late")
	})
	p := newPool(t, &h, inlineOnly())
	errs := make(chan error, 1)
	go func() {
		_, err := f.Call(bg, 1)
		errs <- err
	}()
	came(t, "the handler", in)
	must(t, p.Close())
	close(out)
	mustBe(t, came(t, "the call", errs), pool.ErrThreadClosed)
	if m := p.Metrics(); m.StaleResponses != 1 {
		t.Errorf("Metrics = %+v, want one stale response", m)
	}
}

// TestInlineContextEndsCall checks that a call of the inline lane whose context ends has that
// as its error although its caller runs it. The call does not start after that.
func TestInlineContextEndsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		ran := 0
		f := pool.Register(&h, "slow", func(context.Context, int) (int, error) {
			ran++
			<-time.After(2 * time.Second)
			return 7, nil
		}, pool.TaskOptions{Timeout: time.Second})
		p := newPool(t, &h, inlineOnly())
		_, err := f.Call(bg, 1)
		mustBe(t, err, context.DeadlineExceeded)
		mustNotBe(t, err, pool.ErrNotStarted)
		ctx, cancel := context.WithCancelCause(bg)
		cancel(errWhy)
		_, err = f.Call(ctx, 1)
		mustBe(t, err, errWhy, pool.ErrNotStarted)
		if ran != 1 {
			t.Errorf("%d handlers have run", ran)
		}
		balanced(t, p)
	})
}
