package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/lanewright/lanewright/pool"
)

// TestNothingIsKept checks that the argument, result, context and error of a call are garbage
// while the pool lives on. The call is over and its future is dropped. K-135.
func TestNothingIsKept(t *testing.T) {
	type key struct{}
	type big struct {
		next *big
		_    [1 << 12]byte
	}
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		f := pool.Register(&h, "next", func(_ context.Context, b *big) (*big, error) { return b.next, nil }, o)
		p := newPool(t, &h, c)
		var made, gone atomic.Int64
		fresh := func() *big {
			b := new(big)
			made.Add(1)
			runtime.AddCleanup(b, func(int) { gone.Add(1) }, 0)
			return b
		}
		func() {
			for i := range 40 {
				ctx := bg
				if i%2 == 0 {
					ctx = context.WithValue(bg, key{}, fresh())
				}
				arg := &big{next: fresh()}
				arg.next.next = fresh()
				if _, err := f.Call(ctx, arg); err != nil {
					t.Fatal(err)
				}
				if _, err := f.Go(ctx, arg).Wait(bg); err != nil {
					t.Fatal(err)
				}
				aborted := f.Go(ctx, arg)
				aborted.Abort(nil)
				if _, err := p.RunTask(ctx, "next", arg); err != nil {
					t.Fatal(err)
				}
			}
			p.Pause()
			for range 80 {
				f.Go(bg, &big{next: fresh()}).Abort(nil)
			}
			p.Resume()
			must(t, p.Wait(bg))
			if c.Inline != nil {
				for p.RunInline(100) > 0 { // drops what was aborted
				}
			}
			_, _ = f.Call(bg, new(big)) // the lane has come by
		}()
		until(t, "the values to be collected", func() bool {
			runtime.GC()
			return gone.Load() == made.Load()
		})
	})
}

// TestClosedPoolIsGarbage checks that no goroutine keeps a pool that was terminated.
func TestClosedPoolIsGarbage(t *testing.T) {
	var gone atomic.Int64
	const n = 5
	for range n {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 2, Inline: &pool.Inline{}})
		must(t, err)
		runtime.AddCleanup(p, func(int) { gone.Add(1) }, 0)
		f.Call(bg, 1)
		f.Go(bg, 1)
		if _, err := p.Terminate(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the pools to be collected", func() bool {
		runtime.GC()
		return gone.Load() == n
	})
}

// TestCallAllocatesNothing checks that a call whose argument and result have no pointers
// allocates nothing once the pool is warm.
func TestCallAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, way := range everyWay {
		if way.name == "timeout" || way.opts.Abortable {
			continue // they make a context
		}
		if way.name == "inline" {
			way.opts.Remote = false // it needs a goroutine of its own
		}
		t.Run(way.name, func(t *testing.T) {
			var h pool.Handlers
			f := pool.Register(&h, "double", double, way.opts)
			p := newPool(t, &h, way.config)
			call := func() {
				if v, err := f.Call(bg, 4); v != 8 || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
			}
			for range 100 {
				call()
			}
			// A garbage collection in between costs one.
			best := 1.0
			for range 5 {
				best = min(best, testing.AllocsPerRun(200, call))
			}
			if best != 0 {
				t.Errorf("%v allocations per call", best)
			}
			balanced(t, p)
		})
	}
}

// TestFutureKeepsNoArgument checks that the argument of a call is garbage when its handler has
// returned or never will be entered. The program may keep the future. K-135.
func TestFutureKeepsNoArgument(t *testing.T) {
	type big struct{ _ [1 << 12]byte }
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		f := pool.Register(&h, "drops", func(context.Context, *big) (int, error) { return 1, nil }, o)
		newPool(t, &h, c)
		var gone atomic.Int64
		call := func(abort bool) *pool.Future[int] {
			arg := new(big)
			runtime.AddCleanup(arg, func(int) { gone.Add(1) }, 0)
			fu := f.Go(bg, arg)
			if abort {
				fu.Abort(nil)
			}
			fu.Wait(bg)
			return fu
		}
		kept := []*pool.Future[int]{call(false), call(true)}
		f.Go(bg, nil).Wait(bg) // the lane has dropped the call that was aborted
		until(t, "the arguments to be collected", func() bool {
			runtime.GC()
			return gone.Load() == 2
		})
		runtime.KeepAlive(kept)
	})
}

// big is large enough that nothing else shares its memory.
type big [1 << 16]*int

type contextKey struct{}

func isCollected(w weak.Pointer[big]) bool {
	for range 20 {
		if runtime.GC(); w.Value() == nil {
			return true
		}
	}
	return false
}

// TestEndedCallKeepsNothing checks that the future of a call that has ended keeps neither the
// argument nor the context. The lane may not have come to the call yet. K-135.
func TestEndedCallKeepsNothing(t *testing.T) {
	t.Run("aborted before it started", func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "x", func(context.Context, *big) (int, error) { return 1, nil })
		p := newPool(t, &h, pool.Config{Lanes: 1})
		p.Pause()
		defer p.Resume()
		arg := new(big)
		w := weak.Make(arg)
		fu := f.Go(bg, arg)
		fu.Abort(nil)
		_, err := wait(t, fu)
		mustBe(t, err, pool.ErrNotStarted)
		if !isCollected(w) {
			t.Error("the argument of a call that has ended is kept")
		}
		runtime.KeepAlive(fu)
	})
	for name, tc := range map[string]struct {
		opts pool.TaskOptions
		end  func(t *testing.T, ctx context.Context, f *pool.Func[int, int], p *pool.Pool, g *gate) *pool.Future[int]
	}{
		"ended":     {end: contextEnded},
		"Abortable": {pool.TaskOptions{Abortable: true}, contextEnded},
		"Timeout":   {pool.TaskOptions{Timeout: time.Hour}, contextEnded},
		"cancelled": {end: func(t *testing.T, ctx context.Context, f *pool.Func[int, int], p *pool.Pool, g *gate) *pool.Future[int] {
			t.Helper()
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return contextEnded(t, ctx, f, p, g)
		}},
		"cancelled before": {end: func(_ *testing.T, ctx context.Context, f *pool.Func[int, int], _ *pool.Pool, g *gate) *pool.Future[int] {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			fu := f.Go(ctx, 1)
			g.release()
			_, _ = f.Call(bg, 2) // the lane has come by
			return fu
		}},
		"refused": {end: func(_ *testing.T, ctx context.Context, f *pool.Func[int, int], p *pool.Pool, _ *gate) *pool.Future[int] {
			p.Close()
			return f.Go(ctx, 1)
		}},
		"aborted before it started": {end: func(_ *testing.T, ctx context.Context, f *pool.Func[int, int], p *pool.Pool, g *gate) *pool.Future[int] {
			p.Pause()
			fu := f.Go(ctx, 1)
			fu.Abort(nil)
			p.Resume()
			g.release()
			_, _ = f.Call(bg, 2) // the lane has come by
			return fu
		}},
		"aborted while it ran": {end: func(t *testing.T, ctx context.Context, f *pool.Func[int, int], _ *pool.Pool, g *gate) *pool.Future[int] {
			t.Helper()
			fu := f.Go(ctx, 1)
			g.entered(t, 1)
			fu.Abort(nil)
			g.release()
			_, _ = f.Call(bg, 2) // the handler has returned
			return fu
		}},
	} {
		t.Run("context: "+name, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			f := pool.Register(&h, "gate", g.enter, tc.opts)
			p := newPool(t, &h, pool.Config{Lanes: 1})
			t.Cleanup(g.release)
			v := new(big)
			w := weak.Make(v)
			fu := tc.end(t, context.WithValue(bg, contextKey{}, v), f, p, g)
			if !isCollected(w) {
				t.Error("the future keeps the value of the context")
			}
			runtime.KeepAlive(fu)
		})
	}
}

// TestResultIsNotKept checks that a pool does not keep the result of a call that its caller has got.
// The memory of the call is used again, so the result must not stay in it. K-135.
func TestResultIsNotKept(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		f := pool.Register(&h, "makes", func(context.Context, int) (*big, error) { return new(big), nil }, o)
		newPool(t, &h, c)
		for range 5 { // the memory of a call may be lost between two
			v, err := f.Call(bg, 1)
			must(t, err)
			w := weak.Make(v)
			if runtime.GC(); w.Value() == nil { // the second collection drops memory that waits for the next call
				return
			}
		}
		t.Error("the result of each call is kept")
	})
}

// TestLateResultIsNotKept checks that the future of a call that was aborted does not keep the result
// of its handler. K-135.
func TestLateResultIsNotKept(t *testing.T) {
	var h pool.Handlers
	in, out := make(chan struct{}), make(chan *big)
	f := pool.Register(&h, "late", func(context.Context, int) (*big, error) { in <- struct{}{}; return <-out, nil })
	p := newPool(t, &h, pool.Config{Lanes: 1})
	fu := f.Go(bg, 1)
	came(t, "the handler", in)
	fu.Abort(nil)
	w := func() weak.Pointer[big] {
		v := new(big)
		out <- v
		return weak.Make(v)
	}()
	until(t, "the late outcome", func() bool { return p.Metrics().StaleResponses == 1 })
	if !isCollected(w) {
		t.Error("the future keeps the result that came late")
	}
	runtime.KeepAlive(fu)
}

// contextEnded makes a call that succeeds.
func contextEnded(t *testing.T, ctx context.Context, f *pool.Func[int, int], _ *pool.Pool, g *gate) *pool.Future[int] {
	t.Helper()
	g.release()
	fu := f.Go(ctx, 1)
	result(t, fu)
	return fu
}

// TestRefusedCallLeavesNothing checks that a call that its pool refuses leaves nothing behind
// that the next one on another goroutine could meet. A failure shows under the race detector.
func TestRefusedCallLeavesNothing(t *testing.T) {
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
