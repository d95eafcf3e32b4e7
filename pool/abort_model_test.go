//go:build interleave

package pool_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

var errGone = errors.New("gone")

// TestModelAbort lets an Abort come at any step of the start and the response of a call. The
// call ends once, and its abort slot is released once. The next call that has the slot is not
// aborted.
func TestModelAbort(t *testing.T) {
	in(t, "pool-abort", 1, pool.Config{Lanes: 1, AbortCapacity: 1}, func(w *world) {
		w.only(nil, errGone, pool.ErrAbortSlotsExhausted)
		a := w.step("a", func(ctx context.Context) {
			interleave.Yield() // let the aborter begin
			if s := pool.AbortSignalOf(ctx); s.Aborted() && ctx.Err() == nil {
				w.p.Lanes() // the context ends soon, too
			}
		})
		b := w.step("b", func(ctx context.Context) {
			if pool.AbortSignalOf(ctx).Aborted() {
				w.m.Fatalf("a call is aborted in place of the one before")
			}
		})
		w.m.Go("caller", func() {
			future, await := w.start(background, w.abort, a)
			interleave.Go("aborter", func() { future.End(errGone) })
			await()
			w.call(background, w.abort, b)
		})
	})
}

// TestModelAbandon lets the context of a caller end at any step of its call. The next call runs
// in the same memory or in other memory.
func TestModelAbandon(t *testing.T) {
	for name, f := range map[string]func(w *world) *pool.Func[*step, string]{
		"pool-abandon":           remote,
		"pool-abandon-abortable": func(w *world) *pool.Func[*step, string] { return w.abort },
	} {
		in(t, name, 1, pool.Config{Lanes: 1, AbortCapacity: 2}, func(w *world) {
			a, b := w.step("a", nil), w.step("b", nil)
			ctx, cancel := context.WithCancelCause(background)
			w.m.Go("caller", func() {
				w.call(ctx, f(w), a)
				w.call(background, f(w), b)
			})
			w.m.Go("canceler", func() {
				// The cancel takes some steps first because a call of an ended context is refused.
				w.p.Lanes()
				cancel(errGone)
			})
			w.m.Final(func() {
				if a.err != nil && !errors.Is(a.err, errGone) || b.err != nil {
					w.m.Fatalf("calls: %v, %v", a.err, b.err)
				}
			})
		})
	}
}

// TestModelDone lets a future end while others ask for its channel. A goroutine that knows of
// the end gets a channel that is closed.
func TestModelDone(t *testing.T) {
	check(t, "pool-done", interleave.Options{Preemptions: 2}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.p.Pause()
		future, await := w.start(background, w.remote, w.step("a", nil))
		done := make([]<-chan struct{}, 2)
		for i := range done {
			w.m.Go("watcher", func() {
				ended := future.Over()
				if done[i] = future.Done(); ended && !isClosed(done[i]) {
					w.m.Fatalf("a watcher knows that the call has ended, and its channel is open")
				}
				if isClosed(done[i]) && w.p.CountedEnds() == 0 {
					w.m.Fatalf("the channel is closed before the end is counted")
				}
			})
		}
		w.m.Go("ender", func() {
			future.End(errGone)
			if !isClosed(future.Done()) {
				w.m.Fatalf("the call has ended, and its channel is open")
			}
			await()
			w.p.ResumeSilently()
			w.p.Drain(0) // it drops the call
		})
		w.m.Final(func() {
			if !isClosed(done[0]) || !isClosed(done[1]) {
				w.m.Fatalf("no goroutine has closed the channel")
			}
		})
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestModelTakenAway lets the permit be taken away from a handler that returns. Its caller uses
// the memory of the call again at the same time. The loss of the permit has no effect on the
// second call. C-012.
func TestModelTakenAway(t *testing.T) {
	for name, concurrency := range map[string]int{"pool-taken-away": 1, "pool-taken-away-permits": 2} {
		in(t, name, 1, pool.Config{Lanes: 2, Concurrency: concurrency}, func(w *world) {
			a, b := w.step("a", nil), w.step("b", nil)
			w.m.Go("caller", func() {
				w.call(background, w.remote, a) // on lane 0
				w.call(background, w.remote, b) // on lane 1
			})
			w.m.Go("closer", func() { w.p.EndLane(0, errGone) })
			w.m.Final(func() {
				if a.err != nil && !errors.Is(a.err, errGone) || b.err != nil {
					w.m.Fatalf("calls: %v, %v", a.err, b.err)
				}
			})
		})
	}
}

// TestModelEndLane lets all calls of a lane be ended at any step. The lane goes on.
func TestModelEndLane(t *testing.T) {
	for _, tc := range []struct {
		name        string
		concurrency int
		f           func(w *world) *pool.Func[*step, string]
	}{
		{"pool-end-lane-direct", 1, direct},
		{"pool-end-lane-remote", 1, remote},
		{"pool-end-lane-permits", 2, remote},
	} {
		draw(t, tc.name, many, 1, pool.Config{Lanes: 1, Concurrency: tc.concurrency}, func(w *world) {
			w.only(nil, errGone)
			a, b := w.step("a", nil), w.step("b", nil)
			w.m.Go("one", func() { w.call(background, tc.f(w), a) })
			w.m.Go("other", func() { w.call(background, w.remote, b) })
			w.m.Go("closer", func() { w.p.EndLane(0, errGone) })
		})
	}
}

// TestModelEndLaneDrain lets all calls of a lane be ended at any step of a drain. The drain
// gives the pick up and takes it again for a call that may start from now on. The lane has one
// holder.
func TestModelEndLaneDrain(t *testing.T) {
	check(t, "pool-end-lane-drain", interleave.Options{Preemptions: 1}, 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		w.p.Pause()
		future, await := w.start(background, w.remote, w.step("a", nil))
		w.m.Go("drain", func() {
			for w.p.Drain(0); !future.Settled(); w.p.Drain(0) {
				interleave.Yield()
			}
			await()
		})
		w.m.Go("resumer", w.p.ResumeSilently)
		w.m.Go("closer", func() { w.p.EndLane(0, errGone) })
	})
}

// TestModelOvertime lets the time of a handler be over at any step. The handler may have
// returned by then, and others run or have the memory of its call. The end of the time ends no
// other call, and the lane goes on.
func TestModelOvertime(t *testing.T) {
	for _, tc := range []struct {
		name        string
		concurrency int
		blocks      bool // the handler returns only when another call has run
	}{
		{"pool-overtime", 1, false},
		{"pool-overtime-blocks", 1, true},
		{"pool-overtime-permits", 2, false},
	} {
		draw(t, tc.name, many, 2, pool.Config{Lanes: 1, Concurrency: tc.concurrency}, func(w *world) {
			open, wait := latch()
			begun, waitBegun := latch()
			var over func()
			a := w.step("a", func(context.Context) {
				over = w.p.Overtime()
				begun()
				if tc.blocks {
					wait()
				}
			})
			b := w.step("b", func(context.Context) {
				open()
				if !w.p.HasLane() {
					w.m.Fatalf("the lane was taken away from another handler")
				}
			})
			w.m.Go("caller", func() {
				w.call(background, w.remote, a)
				w.call(background, w.remote, b)
			})
			w.m.Go("timer", func() {
				waitBegun()
				over()
			})
			w.m.Final(func() {
				if a.err != nil && !errors.Is(a.err, pool.ErrHardLimit) || b.err != nil {
					w.m.Fatalf("calls: %v, %v", a.err, b.err)
				}
			})
		})
	}
}

// TestModelOvertimeAbandoned checks that the lane of a handler that takes too long goes on
// although its caller has given up before.
func TestModelOvertimeAbandoned(t *testing.T) {
	in(t, "pool-overtime-abandoned", 2, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		open, wait := latch()
		begun, waitBegun := latch()
		var over func()
		a := w.step("a", func(context.Context) {
			over = w.p.Overtime()
			begun()
			wait()
		})
		b := w.step("b", func(context.Context) { open() })
		w.m.Go("caller", func() {
			future, await := w.start(background, w.remote, a)
			waitBegun()
			future.End(errGone)
			interleave.Go("timer", over)
			await()
			w.call(background, w.remote, b)
		})
	})
}

// TestModelOnDone lets two functions of OnDone come at any step of the end of a call. Each is
// called once when the call is settled.
func TestModelOnDone(t *testing.T) {
	in(t, "pool-on-done", 1, pool.Config{Lanes: 1}, func(w *world) {
		w.only(nil, errGone)
		var calls [2]note
		a := w.step("a", nil)
		future, await := w.start(background, w.remote, a)
		for i := range calls {
			w.m.Go("observer", func() {
				future.OnDone(func() {
					if !future.Settled() {
						w.m.Fatalf("a function is called before the end")
					}
					calls[i].add(1)
				})
			})
		}
		w.m.Go("aborter", func() { future.End(errGone); await() })
		w.m.Final(func() {
			for i := range calls {
				if n := calls[i].add(0); n != 1 {
					w.m.Fatalf("function %d is called %d times", i, n)
				}
			}
		})
	})
}

// TestModelOnDoneIsNotReported checks that a call with a function of OnDone does not reach
// Config.OnEnd. Another goroutine asks for the channel at the same time.
func TestModelOnDoneIsNotReported(t *testing.T) {
	var reports note
	c := pool.Config{Lanes: 1, OnEnd: func(pool.Ended) { reports.add(1) }}
	check(t, "pool-on-done-not-reported", interleave.Options{Preemptions: 2}, 1, c, func(w *world) {
		reports = note{}
		w.p.Pause()
		future, await := w.start(background, w.remote, w.step("a", nil))
		w.m.Go("observer", func() { future.Done() })
		w.m.Go("ender", func() {
			future.OnDone(func() {})
			future.End(errGone)
			await()
			w.p.ResumeSilently()
			w.p.Drain(0)
		})
		w.m.Final(func() {
			if n := reports.add(0); n != 0 {
				w.m.Fatalf("OnEnd has got a call with a function of OnDone")
			}
		})
	})
}
