package pool_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestTimeoutInTheQueue checks that the time of a call counts from when it is made. A call that
// is still queued when its time is over never starts. K-138, K-109.
func TestTimeoutInTheQueue(t *testing.T) {
	for _, c := range []pool.Config{
		{Lanes: 1, Timeout: time.Second},
		{Lanes: 1, Timeout: time.Second, Concurrency: 1, HardLimit: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			ran := 0
			slow := pool.Register(&h, "slow", func(context.Context, int) (int, error) {
				time.Sleep(10 * time.Second)
				return 1, nil
			}, pool.TaskOptions{Timeout: time.Hour, Remote: true})
			fast := pool.Register(&h, "fast", func(context.Context, int) (int, error) { ran++; return 2, nil })
			p, err := pool.New(&h, c)
			must(t, err)
			start := time.Now()
			first := slow.Go(bg, 1)
			synctest.Wait()
			queued := fast.Go(bg, 1)
			_, err = fast.Call(bg, 1)
			mustBe(t, err, context.DeadlineExceeded, pool.ErrNotStarted)
			if d := time.Since(start); d != time.Second {
				t.Errorf("the caller waited for %v", d)
			}
			_, err = queued.Wait(bg)
			mustBe(t, err, context.DeadlineExceeded, pool.ErrNotStarted)
			if d := time.Since(start); d != time.Second {
				t.Errorf("the future settled after %v", d)
			}
			if v, err := first.Wait(bg); v != 1 || err != nil {
				t.Errorf("the slow call: %d, %v", v, err)
			}
			if ran != 0 {
				t.Error("a late call ran")
			}
			if v, err := fast.Call(bg, 1); v != 2 || err != nil {
				t.Errorf("afterwards: %d, %v", v, err)
			}
			if n, err := p.Terminate(bg); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
		})
	}
}

// TestTimeoutWhileRunning checks that the caller has its outcome when the time is over. The
// handler learns of it by its context, and its result is dropped. K-109, K-110.
func TestTimeoutWhileRunning(t *testing.T) {
	for _, abortable := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			var learned atomic.Int64
			start := time.Now()
			slow := pool.Register(&h, "slow", func(ctx context.Context, _ int) (int, error) {
				<-ctx.Done()
				learned.Store(int64(time.Since(start)))
				if abortable && !pool.AbortSignalOf(ctx).Aborted() {
					synctest.Wait()
					if !pool.AbortSignalOf(ctx).Aborted() {
						t.Error("the signal is not there")
					}
				}
				time.Sleep(time.Minute)
				return 1, nil
			}, pool.TaskOptions{Timeout: 3 * time.Second, Abortable: abortable})
			p, err := pool.New(&h, pool.Config{Lanes: 1, Timeout: time.Hour})
			must(t, err)
			_, err = slow.Call(bg, 1)
			mustBe(t, err, context.DeadlineExceeded)
			mustNotBe(t, err, pool.ErrNotStarted)
			if d := time.Since(start); d != 3*time.Second {
				t.Errorf("the caller waited for %v", d)
			}
			must(t, p.Wait(bg)) // the call has ended, the handler has not
			time.Sleep(2 * time.Minute)
			if d := time.Duration(learned.Load()); d != 3*time.Second {
				t.Errorf("the handler learned of it after %v", d)
			}
			if m := p.Metrics(); m.StaleResponses != 1 {
				t.Errorf("Metrics = %+v, want one stale response", m)
			}
			if n, err := p.Terminate(bg); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
		})
	}
}

// TestDeadlineOfTheCaller checks that the deadline of a context does as Config.Timeout, with
// its cause. K-138.
func TestDeadlineOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		slow := pool.Register(&h, "slow", func(context.Context, int) (int, error) {
			time.Sleep(10 * time.Second)
			return 1, nil
		})
		p, err := pool.New(&h, pool.Config{Lanes: 1, Timeout: time.Hour})
		must(t, err)
		why := errors.New("too slow")
		ctx, cancel := context.WithTimeoutCause(bg, time.Second, why)
		defer cancel()
		start := time.Now()
		_, err = slow.Call(ctx, 1)
		mustBe(t, err, why)
		if d := time.Since(start); d != time.Second {
			t.Errorf("the caller waited for %v", d)
		}
		_, err = slow.Call(ctx, 1) // over before it is made
		mustBe(t, err, why, pool.ErrNotStarted)
		if d := time.Since(start); d != time.Second {
			t.Errorf("the caller waited for %v", d)
		}
		if n, err := p.Terminate(bg); n != 0 || err != nil {
			t.Errorf("Terminate = %d, %v", n, err)
		}
	})
}

// TestLateCallIsNotEntered checks that a call whose deadline has passed before it starts is
// never entered. Its error says so and is the cause of its context. Any goroutine may see first
// that the call is late.
func TestLateCallIsNotEntered(t *testing.T) {
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

// noDone is a context that has a deadline and does not end.
type noDone struct{ context.Context }

func (noDone) Done() <-chan struct{} { return nil }

// TestDeadlineEndsCallWithoutDone checks that a call ends when its deadline has passed although
// its context does not keep to that.
func TestDeadlineEndsCallWithoutDone(t *testing.T) {
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

// TestHardLimit checks that a handler that does not return loses its lane. The lane goes on.
// The handler is counted, and its late result is dropped. X-08, K-125.
func TestHardLimit(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			release := make(chan struct{})
			stuck := pool.Register(&h, "stuck", func(context.Context, int) (int, error) { <-release; return 1, nil })
			fast := pool.Register(&h, "fast", double)
			p, err := pool.New(&h, pool.Config{Lanes: 1, Concurrency: concurrency, HardLimit: time.Second})
			must(t, err)
			start := time.Now()
			var fs []*pool.Future[int]
			for range 3 * concurrency {
				fs = append(fs, stuck.Go(bg, 1))
			}
			last := fast.Go(bg, 4)
			for _, fu := range fs {
				_, err := fu.Wait(bg)
				mustBe(t, err, pool.ErrHardLimit)
				mustNotBe(t, err, pool.ErrNotStarted)
			}
			if v, err := last.Wait(bg); v != 8 || err != nil {
				t.Fatalf("behind them: %d, %v", v, err)
			}
			// Handlers that were left behind keep workers. The scheduler replaces these workers.
			if d := time.Since(start); d < 3*time.Second || d > 3*time.Second+200*time.Millisecond {
				t.Errorf("it took %v", d)
			}
			synctest.Wait()
			if m := p.Metrics(); m.Abandoned != uint64(3*concurrency) || m.Detached != 3*concurrency || m.StaleResponses != 0 {
				t.Errorf("Metrics = %+v, want %d abandoned handlers that have not returned", m, 3*concurrency)
			}
			must(t, p.Wait(bg))
			close(release)
			synctest.Wait()
			if m := p.Metrics(); m.Detached != 0 || m.StaleResponses != uint64(3*concurrency) {
				t.Errorf("Metrics = %+v, want %d stale responses and no detached handler", m, 3*concurrency)
			}
			if v, err := fast.Call(bg, 5); v != 10 || err != nil {
				t.Fatalf("afterwards: %d, %v", v, err)
			}
			if n, err := p.Terminate(bg); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
		})
	}
}

// slowDeadline is a context whose Deadline takes long.
type slowDeadline struct {
	context.Context
	d time.Duration
}

func (c slowDeadline) Deadline() (time.Time, bool) {
	<-time.After(c.d)
	return c.Context.Deadline()
}

// TestHardLimitFromStart checks that the time that a worker takes before it enters the handler
// is not that of the handler.
func TestHardLimitFromStart(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			f := pool.Register(&h, "double", double)
			newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency, HardLimit: time.Second})
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			if v, err := f.Call(slowDeadline{ctx, time.Minute}, 4); v != 8 || err != nil {
				t.Errorf("concurrency %d: %d, %v", concurrency, v, err)
			}
		})
	}
}

// TestHardLimitInTime checks that a handler that is quick enough never meets the limit. It runs
// again and again with the same memory.
func TestHardLimitInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "quick", func(_ context.Context, n int) (int, error) {
			time.Sleep(time.Second - 1)
			return n, nil
		})
		p, err := pool.New(&h, pool.Config{Lanes: 1, HardLimit: time.Second})
		must(t, err)
		for i := range 100 {
			if v, err := f.Call(bg, i); v != i || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		}
		if m := p.Metrics(); m.Abandoned != 0 {
			t.Errorf("Metrics = %+v, want no abandoned handler", m)
		}
		if n, err := p.Terminate(bg); n != 0 || err != nil {
			t.Errorf("Terminate = %d, %v", n, err)
		}
	})
}

// TestHardLimitFromItsOwnStart checks that the limit of each handler counts from its own start, beside calls
// before and after it whose handlers return in time.
func TestHardLimitFromItsOwnStart(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			quick := pool.Register(&h, "quick", double)
			stuck := pool.Register(&h, "stuck", g.enter)
			p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency, HardLimit: time.Second})
			defer g.release()
			for _, d := range []time.Duration{0, 300 * time.Millisecond, 900 * time.Millisecond, 2500 * time.Millisecond} {
				for range 3 {
					if v, err := quick.Call(bg, 1); v != 2 || err != nil {
						t.Fatalf("Call = %d, %v", v, err)
					}
				}
				time.Sleep(d)
				start := time.Now()
				_, err := stuck.Call(bg, 0)
				mustBe(t, err, pool.ErrHardLimit)
				if took := time.Since(start); took != time.Second {
					t.Errorf("the handler has run for %v when it meets its limit", took)
				}
			}
			synctest.Wait() // a handler is counted after its call has ended
			if m := p.Metrics(); m.Abandoned != 4 {
				t.Errorf("%d handlers have met the limit, want 4", m.Abandoned)
			}
		})
	}
}

// TestHardLimitOnCallers checks that the hard limit ends a call that RunInline or a caller
// runs. It ends the call for its waiter although its handler does not return.
func TestHardLimitOnCallers(t *testing.T) {
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

// TestHardLimitCountsHandlers checks that a handler that runs into the hard limit is counted.
// It may have given up its lane.
func TestHardLimitCountsHandlers(t *testing.T) {
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

// TestIdle checks that a pool without calls does nothing for as long as it takes.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p, err := pool.New(&h, pool.Config{Lanes: 8})
		must(t, err)
		for i := range 100 {
			f.Call(bg, i)
		}
		synctest.Wait()
		before := p.Scheduler().Stats()
		time.Sleep(1000 * time.Hour)
		after := p.Scheduler().Stats()
		if after.Wakes != before.Wakes || after.Parks != before.Parks {
			t.Errorf("from %+v to %+v", before, after)
		}
		if n, err := p.Terminate(bg); n != 0 || err != nil {
			t.Errorf("Terminate = %d, %v", n, err)
		}
	})
}

// TestPrompt checks that a call of a Prompt task that its context or a Timeout may end runs on
// its caller. It does so inside a handler of its lane too. It ends with the cause of that
// context or Timeout. Without Prompt it does not run on its caller.
func TestPrompt(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		for name, timeout := range map[string]time.Duration{"context": 0, "Timeout": time.Millisecond} {
			t.Run(fmt.Sprint(name, " ", prompt), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { // where a Timeout does not end before its handler has begun
					var h pool.Handlers
					waits := pool.Register(&h, "waits", func(ctx context.Context, cancel func()) (int, error) {
						if cancel != nil {
							cancel()
						}
						<-ctx.Done()
						return 1, nil
					}, pool.TaskOptions{Prompt: prompt, Timeout: timeout})
					outer := pool.Register(&h, "outer", func(_ context.Context, cancel func()) (int, error) {
						ctx, stop := context.WithCancel(bg)
						defer stop()
						if cancel != nil {
							cancel = stop
						}
						return waits.Call(ctx, cancel)
					})
					p := newPool(t, &h, pool.Config{Lanes: 1})
					ctx, cancel := context.WithCancel(bg)
					defer cancel()
					want, arg := context.DeadlineExceeded, (func())(nil)
					if timeout == 0 {
						want, arg = context.Canceled, cancel
					}
					_, err := waits.Call(ctx, arg)
					mustBe(t, err, want)
					mustNotBe(t, err, pool.ErrNotStarted)
					_, err = outer.Call(bg, arg)
					mustBe(t, err, want)
					must(t, p.Wait(within(t)))
					m := p.Metrics()
					if got := m.Lanes[0].Direct; prompt && got != 3 || !prompt && got > 1 { // outer may
						t.Errorf("%d calls of 3 ran on their callers", got)
					}
					ends := m.Ends.TimedOut
					if timeout == 0 {
						ends = m.Ends.ContextEnded
					}
					if ends != 2 {
						t.Errorf("two calls of three ended with %v: %+v", want, m.Ends)
					}
				})
			})
		}
	}
}

// TestMaxAbandoned checks that the pool refuses calls while as many handlers as it may leave
// behind have not returned. It takes calls again when one has returned.
func TestMaxAbandoned(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		var h pool.Handlers
		g := newGate()
		stuck := pool.Register(&h, "stuck", g.enter)
		quick := pool.Register(&h, "quick", double)
		p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency, HardLimit: 10 * time.Millisecond, MaxAbandoned: 2})
		t.Cleanup(g.release)
		for i := range 2 {
			if v, err := quick.Call(bg, 1); v != 2 || err != nil {
				t.Fatalf("beside %d handlers: %d, %v", i, v, err)
			}
			_, err := stuck.Call(bg, i)
			mustBe(t, err, pool.ErrHardLimit)
		}
		until(t, "the count of the second handler", func() bool { return p.Metrics().AbandonedNow == 2 })
		_, err := quick.Call(bg, 1)
		mustBe(t, err, pool.ErrTooManyAbandoned, pool.ErrNotStarted)
		_, err = wait(t, quick.Go(bg, 1))
		mustBe(t, err, pool.ErrTooManyAbandoned, pool.ErrNotStarted)
		must(t, p.Ping(within(t), 0))
		g.open <- struct{}{}
		until(t, "the return of a handler", func() bool { return p.Metrics().AbandonedNow == 1 })
		if v, err := quick.Call(bg, 1); v != 2 || err != nil {
			t.Fatalf("when one has returned: %d, %v", v, err)
		}
		if m := p.Metrics(); m.Abandoned != 2 {
			t.Errorf("%d handlers ran into the limit", m.Abandoned)
		}
	}
}

// TestMaxAbandonedBoundsBlockedHandlers checks that a handler that runs into the hard limit counts
// as left behind although a Timeout has ended its call and the handler has given up its permit.
func TestMaxAbandonedBoundsBlockedHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		var p *pool.Pool
		open := make(chan struct{})
		defer close(open)
		stuck := pool.Register(&h, "stuck", func(context.Context, int) (int, error) {
			p.Blocking(func() { <-open })
			return 0, nil
		})
		p = newPool(t, &h, pool.Config{Lanes: 1, Timeout: time.Minute, HardLimit: time.Hour, MaxAbandoned: 3})
		for i := range 3 {
			_, err := stuck.Call(bg, i)
			mustBe(t, err, context.DeadlineExceeded)
		}
		time.Sleep(2 * time.Hour)
		if m := p.Metrics(); m.AbandonedNow != 3 || m.Abandoned != 3 {
			t.Errorf("%d handlers are left behind, %d in all, want 3", m.AbandonedNow, m.Abandoned)
		}
		_, err := stuck.Call(bg, 3)
		mustBe(t, err, pool.ErrTooManyAbandoned)
	})
}

// TestMaxAbandonedBoundsCallsThatWait checks that calls that were accepted before the handlers that
// hang do not start beside as many of them as the pool may leave behind.
func TestMaxAbandonedBoundsCallsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stuck, p := gated(t, pool.Config{Lanes: 1, HardLimit: time.Second, MaxAbandoned: 2})
		var futures []*pool.Future[int]
		for i := range 10 {
			futures = append(futures, stuck.Go(bg, i))
		}
		for i, fu := range futures {
			_, err := fu.Wait(bg)
			if i < 2 {
				mustBe(t, err, pool.ErrHardLimit)
			} else {
				mustBe(t, err, pool.ErrTooManyAbandoned, pool.ErrNotStarted)
			}
		}
		synctest.Wait()
		if m := p.Metrics(); m.AbandonedNow != 2 || m.Accepted != 10 || m.Ended != 10 || m.InFlight != 0 {
			t.Errorf("%d handlers are left behind, want 2: %+v", m.AbandonedNow, m)
		}
	})
}

// TestMaxAbandonedRefusesAtOnce checks that a call is refused when it is made if the pool has left as
// many handlers behind as it may. It does not wait behind a handler that runs.
func TestMaxAbandonedRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stuck, p := gated(t, pool.Config{Lanes: 2, HardLimit: time.Second, MaxAbandoned: 1})
		lease, err := p.AcquireLane(bg, 1)
		must(t, err)
		defer lease.Release()
		stuck.Go(bg, 0)
		time.Sleep(time.Second / 2)
		runs := pool.GoOn(bg, lease, stuck, 1)
		time.Sleep(time.Second * 3 / 4) // the first handler is left behind, and the second one runs
		refused := pool.GoOn(bg, lease, stuck, 2)
		if settled(runs) || !settled(refused) {
			t.Errorf("the call before has ended: %t, the call is refused: %t", settled(runs), settled(refused))
		}
		_, err = refused.Wait(bg)
		mustBe(t, err, pool.ErrTooManyAbandoned, pool.ErrNotStarted)
	})
}

// TestDiscardCountsHandlers checks that the handlers that Discard leaves behind count as abandoned until they
// return. They have a permit, also if their calls have ended, or run because of CallerRuns. Handlers that have
// blocked continue, and do not count. Nor do calls that had not started.
func TestDiscardCountsHandlers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		counts int
		start  func(t *testing.T, p *pool.Pool, id pool.LaneID, f, blocks *pool.Func[int, int], g *gate)
	}{
		{"permit", 1, func(t *testing.T, _ *pool.Pool, id pool.LaneID, f, _ *pool.Func[int, int], g *gate) {
			t.Helper()
			pool.GoAt(bg, id, f, 0)
			g.entered(t, 1)
			pool.GoAt(bg, id, f, 1) // it waits
		}},
		{"overdue", 1, func(t *testing.T, _ *pool.Pool, id pool.LaneID, f, _ *pool.Func[int, int], g *gate) {
			t.Helper()
			fu := pool.GoAt(bg, id, f, 0)
			g.entered(t, 1)
			fu.Abort(nil)
		}},
		{"caller runs", 2, func(t *testing.T, p *pool.Pool, id pool.LaneID, f, _ *pool.Func[int, int], g *gate) {
			t.Helper()
			pool.GoAt(bg, id, f, 0)
			g.entered(t, 1)
			pool.GoAt(bg, id, f, 1)
			go f.Call(bg, 2)
			g.entered(t, 1)
		}},
		{"blocked", 0, func(t *testing.T, _ *pool.Pool, id pool.LaneID, _, blocks *pool.Func[int, int], g *gate) {
			t.Helper()
			pool.GoAt(bg, id, blocks, 0)
			g.entered(t, 1)
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			var p *pool.Pool
			g := newGate()
			f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
			blocks := pool.Register(&h, "blocks", func(ctx context.Context, n int) (int, error) {
				p.Blocking(func() { g.enter(ctx, n) })
				return n, nil
			})
			p = newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
			defer g.release()
			id := p.Lanes()[0].ID
			tc.start(t, p, id, f, blocks, g)
			must(t, p.Discard(id, nil))
			if m := p.Metrics(); m.AbandonedNow != tc.counts || m.Abandoned != uint64(tc.counts) || m.Lanes[0].Abandoned != uint64(tc.counts) {
				t.Errorf("%s: %d handlers are left behind, %d in all, %d by the lane, want %d", tc.name, m.AbandonedNow, m.Abandoned, m.Lanes[0].Abandoned, tc.counts)
			}
			g.release()
			synctest.Wait()
			if n := p.Metrics().AbandonedNow; n != 0 {
				t.Errorf("%s: %d handlers count as left behind, and all have returned", tc.name, n)
			}
			balanced(t, p)
		})
	}
}

// TestMaxAbandonedBoundsDiscard checks that a pool without a hard limit refuses calls of each kind at once
// while as many handlers as it may leave behind by Discard have not returned. A call that waited ends. The pool
// takes calls again when one of the handlers has returned.
func TestMaxAbandonedBoundsDiscard(t *testing.T) {
	for _, bound := range []int{2, pool.Unlimited} {
		synctest.Test(t, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			stuck := pool.Register(&h, "stuck", g.enter)
			quick := pool.Register(&h, "quick", double)
			balancer := new(fixed)
			p := newPool(t, &h, pool.Config{Lanes: 2, MaxAbandoned: bound, Inline: &pool.Inline{}, Balancer: balancer})
			defer g.release()
			stand := func(lane int) pool.LaneID {
				id := p.Lanes()[lane].ID
				pool.GoAt(bg, id, stuck, lane)
				g.entered(t, 1)
				synctest.Wait() // the handlers leave the gate in the order in which they wait there
				return id
			}
			must(t, p.Discard(stand(0), nil))
			if v, err := quick.Call(bg, 1); v != 2 || err != nil {
				t.Fatalf("beside one handler: %d, %v", v, err)
			}
			stand(1)
			id := stand(0)
			queued := quick.Go(bg, 1)
			must(t, p.Discard(id, nil))
			lease, err := p.AcquireLane(bg, 0)
			must(t, err)
			ended := func(what string, v int, err error) {
				if bound == pool.Unlimited {
					if v != 2 || err != nil {
						t.Errorf("%s: %d, %v", what, v, err)
					}
					return
				}
				if !errors.Is(err, pool.ErrTooManyAbandoned) || !errors.Is(err, pool.ErrNotStarted) {
					t.Errorf("%s: %d, %v", what, v, err)
				}
			}
			v, err := queued.Wait(bg)
			ended("a call that waited", v, err)
			before := p.Metrics().Accepted
			v, err = pool.CallOn(bg, lease, quick, 1)
			ended("CallOn", v, err)
			lease.Release()
			v, err = quick.Call(bg, 1)
			ended("Call", v, err)
			v, err = quick.Go(bg, 1).Wait(bg)
			ended("Go", v, err)
			v, err = pool.CallAt(bg, p.Lanes()[0].ID, quick, 1)
			ended("CallAt", v, err)
			balancer.lane.Store(2) // the inline lane
			v, err = quick.Call(bg, 1)
			ended("a call of the inline lane", v, err)
			if n := p.Metrics().Accepted - before; bound != pool.Unlimited && n != 0 {
				t.Errorf("%d calls were accepted, and the pool takes none", n)
			}
			must(t, p.Ping(bg, 0))
			g.open <- struct{}{}
			synctest.Wait()
			if v, err := quick.Call(bg, 1); v != 2 || err != nil {
				t.Errorf("when a handler has returned: %d, %v", v, err)
			}
		})
	}
}

// TestMaxAbandonedBoundsTheInlineLane checks that a goroutine that runs the calls of the inline lane
// starts no call beside as many handlers as the pool may leave behind.
func TestMaxAbandonedBoundsTheInlineLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g := newGate()
		stuck := pool.Register(&h, "stuck", g.enter, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}, HardLimit: time.Second, MaxAbandoned: 2})
		defer g.release()
		for i := range 10 {
			stuck.Go(bg, i)
		}
		must(t, p.Wait(bg))
		if m := p.Metrics(); m.AbandonedNow != 2 || m.Ends.Refused != 8 {
			t.Errorf("%d handlers are left behind, want 2: %+v", m.AbandonedNow, m.Ends)
		}
	})
}

// slowError is the value of a panic whose text takes as long as the test wants.
type slowError struct{ open chan struct{} }

func (s slowError) Error() string { <-s.open; return "slow" }

// TestHardLimitOfAPanic checks that the hard limit ends a call whose handler has panicked with a value
// that does not return its text.
func TestHardLimitOfAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		open := make(chan struct{})
		defer close(open)
		f := pool.Register(&h, "panics", func(context.Context, int) (int, error) { panic(slowError{open}) })
		newPool(t, &h, pool.Config{Lanes: 1, HardLimit: time.Second})
		_, err := f.Go(bg, 1).Wait(bg)
		mustBe(t, err, pool.ErrHardLimit)
	})
}
