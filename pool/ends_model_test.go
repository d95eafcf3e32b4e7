//go:build interleave

package pool_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelClose lets a Close come at any step of two calls. Each call ends once, with its
// result or as closed. It has ended when Close returns. Nothing starts afterwards.
func TestModelClose(t *testing.T) {
	for _, tc := range []struct {
		name        string
		own         bool
		concurrency int
		f           func(w *world) *pool.Func[*step, string]
	}{
		{"pool-close-direct", false, 1, direct},
		{"pool-close-direct-own", true, 1, direct},
		{"pool-close-remote", false, 1, remote},
		{"pool-close-remote-own", true, 1, remote},
		{"pool-close-permits", false, 2, remote},
		{"pool-close-permits-own", true, 2, remote},
	} {
		draw(t, tc.name, many, 1, pool.Config{Lanes: 1, Concurrency: tc.concurrency}, func(w *world) {
			w.only(nil, pool.ErrClosed)
			if tc.own {
				w.p.Own()
			}
			for _, name := range []string{"a", "b"} {
				s := w.step(name, nil)
				w.m.Go("caller "+name, func() { w.call(background, tc.f(w), s) })
			}
			w.m.Go("closer", w.close)
		})
	}
}

// close closes the pool. No call starts afterwards. A handler that is entered later is that of
// a call that had started and that Close has ended.
func (w *world) close() {
	if err := w.p.Close(); err != nil {
		w.m.Fatalf("Close = %v", err)
	}
	entered := w.running.len()
	w.m.Final(func() {
		for _, s := range w.running.steps[entered:w.running.len()] {
			if s.err == nil {
				w.m.Fatalf("call %s has started after Close", s.name)
			}
		}
	})
}

// TestModelClosePaused checks that a Pause of a closed pool keeps no call from its end.
func TestModelClosePaused(t *testing.T) {
	in(t, "pool-close-paused", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrClosed)
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.call(background, w.remote, a) })
		w.m.Go("closer", func() {
			w.close()
			w.p.Pause()
		})
	})
	in(t, "pool-close-paused-lease", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrClosed)
		l := w.lease()
		a := w.step("a", nil)
		w.m.Go("caller", func() { w.ended(a)(pool.CallOn(background, l, w.remote, a)) })
		w.m.Go("closer", func() {
			w.close()
			w.p.Pause()
		})
	})
}

// TestModelCloseInside has a handler that closes its pool while another call waits.
func TestModelCloseInside(t *testing.T) {
	in(t, "pool-close-inside", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrClosed)
		a, b := w.step("a", func(context.Context) { w.close() }), w.step("b", nil)
		w.m.Go("one", func() { w.call(background, w.direct, a) })
		w.m.Go("other", func() { w.call(background, w.remote, b) })
	})
}

// TestModelCloseNested has a handler that waits for another call outside of its lane while the
// pool is closed. Terminate returns when both have returned.
func TestModelCloseNested(t *testing.T) {
	for name, concurrency := range map[string]int{"pool-close-nested": 1, "pool-close-nested-permits": 2} {
		in(t, name, 1, pool.Config{Lanes: 2, Concurrency: concurrency}, func(w *world) {
			w.only(nil, pool.ErrClosed)
			var inside note
			b := &step{name: "b", do: func(context.Context) { inside.add(1); w.p.Lanes(); inside.add(-1) }}
			a := w.step("a", func(ctx context.Context) {
				inside.add(1)
				w.call(ctx, w.remote, b)
				inside.add(-1)
			})
			w.m.Go("caller", func() { w.call(background, w.remote, a) })
			w.m.Go("closer", func() {
				n, err := w.p.Terminate(background)
				if n != 0 || err != nil || inside.add(0) != 0 {
					w.m.Fatalf("Terminate = %d, %v, while %d handlers run", n, err, inside.add(0))
				}
			})
			w.m.Final(func() {
				if b.called != a.entered {
					w.m.Fatalf("%d calls were made inside, %d have returned", a.entered, b.called)
				}
			})
		})
	}
}

// TestModelWait checks that Wait returns when all calls have ended. It does not return before
// the calls have ended that had been accepted when it began.
func TestModelWait(t *testing.T) {
	in(t, "pool-wait", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		a, b := w.step("a", nil), w.step("b", nil)
		w.m.Go("caller", func() { w.call(background, w.direct, a) })
		w.m.Go("waiter", func() {
			_, await := w.start(background, w.remote, b)
			if err := w.p.Wait(background); err != nil || b.entered != 1 {
				w.m.Fatalf("Wait = %v, the call was entered %d times", err, b.entered)
			}
			await()
		})
	})
}

// TestModelIdle checks that each of two goroutines in Wait returns when the calls of both lanes
// have ended. It does not return before the calls that it had made have ended. The context of
// the first one may end.
func TestModelIdle(t *testing.T) {
	for name, ends := range map[string]bool{"pool-idle": false, "pool-idle-leader-leaves": true} {
		in(t, name, 1, pool.Config{Lanes: 2}, func(w *world) {
			w.only(nil)
			ctx, cancel := context.WithCancel(background)
			w.m.Final(cancel)
			a, b := w.step("a", nil), w.step("b", nil)
			wait := func(ctx context.Context, s *step) func() {
				return func() {
					_, await := w.start(background, w.remote, s)
					if err := w.p.Wait(ctx); err == nil && s.entered != 1 || err != nil && ctx.Err() == nil {
						w.m.Fatalf("Wait = %v, the call was entered %d times", err, s.entered)
					}
					await()
				}
			}
			w.m.Go("first", wait(ctx, a))
			w.m.Go("second", wait(background, b))
			if ends {
				w.m.Go("canceller", cancel)
			}
		})
	}
}

// TestModelDoneBesideWait checks that a goroutine which has found the pool idle, or has closed it, finds the
// channel of Done closed for each call that was made before. The channel is there before the call ends, or the
// goroutine asks for it afterwards.
func TestModelDoneBesideWait(t *testing.T) {
	for _, tc := range []struct {
		name  string
		early bool
		idle  func(w *world)
	}{
		{"pool-done-beside-wait", true, func(w *world) { _ = w.p.Wait(background) }},
		{"pool-done-after-wait", false, func(w *world) { _ = w.p.Wait(background) }},
		{"pool-done-beside-close", true, func(w *world) { w.close() }},
		{"pool-done-after-close", false, func(w *world) { w.close() }},
	} {
		in(t, tc.name, 1, pool.Config{Lanes: 1}, func(w *world) {
			a := w.step("a", nil)
			future, ended := w.start(background, w.remote, a)
			var done <-chan struct{}
			if tc.early {
				done = future.Done()
			}
			w.m.Go("waiter", func() {
				tc.idle(w)
				if !tc.early {
					done = future.Done()
				}
				select {
				case <-done:
				default:
					w.m.Fatalf("the call has not ended")
				}
				ended()
			})
		})
	}
}

// TestModelCloseBesideAnEnd checks that Close ends beside the end of a call that waits for a reserved lane. The goroutine
// that ends the call finds the pool closed, and the call among those that it has to end.
func TestModelCloseBesideAnEnd(t *testing.T) {
	in(t, "pool-close-beside-an-end", 1, pool.Config{Lanes: 1, Concurrency: 2}, func(w *world) {
		leave := w.p.Occupy(0)
		await := w.p.QueueLease(0)
		w.p.GrantLeases(0)
		a := w.step("a", nil)
		future := pool.GoAt(background, w.p.Lanes()[0].ID, w.remote, a)
		done := future.Done()
		w.m.Go("ender", func() { future.End(errGone) })
		w.m.Go("closer", func() {
			w.close()
			if !isClosed(done) {
				w.m.Fatalf("the pool is closed, and the channel of a call is open")
			}
			_, _ = await()
			leave()
			w.ended(a)(future.Await())
		})
	})
}

// TestModelShutdown checks that a Shutdown finishes the accepted calls. It refuses later ones.
func TestModelShutdown(t *testing.T) {
	for name, paused := range map[string]bool{"pool-shutdown": false, "pool-shutdown-paused": true} {
		draw(t, name, many, 1, pool.Config{Lanes: 1}, func(w *world) {
			w.only(nil, pool.ErrPoolShutdown)
			if paused {
				w.p.Pause()
			}
			a, b := w.step("a", nil), w.step("b", nil)
			w.m.Go("direct", func() { w.call(background, w.direct, a) })
			w.m.Go("remote", func() { w.call(background, w.remote, b) })
			w.m.Go("closer", func() {
				if err := w.p.Shutdown(background); err != nil {
					w.m.Fatalf("Shutdown = %v", err)
				}
			})
		})
	}
}

// TestModelClosePausedTwo checks the law of TestModelClosePaused for two calls on a scheduler
// that is not the pool's. One call is about to schedule the drain, which finds the other one.
func TestModelClosePausedTwo(t *testing.T) {
	check(t, "pool-close-paused-two", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrClosed)
		a, b := w.step("a", nil), w.step("b", nil)
		ctx := slow(func() {
			_ = w.p.Close()
			w.p.Pause()
		})
		w.m.Go("one", func() { w.call(background, w.remote, a) })
		w.m.Go("other", func() {
			_, await := w.start(ctx, w.remote, b)
			await()
		})
	})
}

// hookContext never ends. stopped is called at the end of the watch over it, when the call that
// it belongs to is settled.
type hookContext struct {
	context.Context
	done    chan struct{}
	stopped func()
}

func (c hookContext) Done() <-chan struct{} { return c.done }
func (c hookContext) AfterFunc(func()) func() bool {
	return func() bool { c.stopped(); return true }
}

// TestModelClosePermit checks that a late drain of a closed pool starts no call beside another
// one. That drain would end with the scheduler of the pool.
func TestModelClosePermit(t *testing.T) {
	pick := &fixed{}
	draw(t, "pool-close-permit", 5*many, 1,
		pool.Config{Lanes: 1, Concurrency: 2, Inline: &pool.Inline{}, Balancer: pick}, func(w *world) {
			w.only(nil, pool.ErrClosed)
			w.p.Own()
			pick.lane.Store(0)
			a, b, d := w.step("a", nil), w.step("b", nil), w.step("d", nil)
			openB, waitB := latch() // b was accepted
			openD, waitD := latch() // lets Close end d
			atD, waitAtD := latch() // Close has ended the lane
			_, awaitA := w.start(background, w.remote, a)
			pick.lane.Store(1)
			_, awaitD := w.start(hookContext{background, make(chan struct{}), func() { atD(); waitD() }}, w.remote, d)
			pick.lane.Store(0)
			ctxB := slow(func() {
				openB()
				waitAtD()
				openD()
			})
			w.m.Go("other", func() {
				_, await := w.start(ctxB, w.remote, b)
				await()
				awaitA()
				awaitD()
			})
			w.m.Go("closer", func() { waitB(); _ = w.p.Close() })
		})
}

// TestModelCloseBlocking has a handler that gives its permit up while Close comes. Its call has
// ended when Close returns.
func TestModelCloseBlocking(t *testing.T) {
	draw(t, "pool-close-blocking", many, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, pool.ErrThreadClosed)
		begun, waitBegun := latch()
		a := w.step("a", func(context.Context) { begun(); w.p.Blocking(func() {}) })
		future, await := w.start(background, w.remote, a)
		w.m.Go("closer", func() {
			waitBegun()
			_ = w.p.Close()
			if !future.Settled() {
				w.m.Fatalf("Close has returned before the end of a call that had started")
			}
			await()
		})
	})
}

// TestModelOutcome checks that a goroutine that finds a call settled at any step reads its
// outcome.
func TestModelOutcome(t *testing.T) {
	in(t, "pool-outcome", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil)
		future, await := w.start(background, w.remote, w.step("a", nil))
		w.m.Go("caller", await)
		w.m.Go("reader", func() {
			if future.Settled() {
				if result, err := future.Outcome(); result != "a" || err != nil {
					w.m.Fatalf("the outcome of a settled call is %q, %v", result, err)
				}
			}
		})
	})
}
