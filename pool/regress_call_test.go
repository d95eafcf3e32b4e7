package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/lanewright/lanewright/pool"
)

// TestStartedIsNotNotStarted: the error of a call whose handler was entered is never
// ErrNotStarted, though what ended it is the error of another one, which had not: a context
// may be cancelled with the first error of several calls.
func TestStartedIsNotNotStarted(t *testing.T) {
	var unbound pool.Handlers
	_, refused := pool.Register(&unbound, "x", double).Call(bg, 1)
	mustBe(t, refused, pool.ErrNotStarted)
	for name, end := range map[string]func(cancel context.CancelCauseFunc, fu *pool.Future[int]){
		"cause of the context": func(cancel context.CancelCauseFunc, _ *pool.Future[int]) { cancel(refused) },
		"cause of Abort":       func(_ context.CancelCauseFunc, fu *pool.Future[int]) { fu.Abort(refused) },
	} {
		t.Run(name, func(t *testing.T) {
			g, f, _ := gated(t, pool.Config{Lanes: 1})
			ctx, cancel := context.WithCancelCause(bg)
			defer cancel(nil)
			fu := f.Go(ctx, 1)
			g.entered(t, 1) // the handler was entered
			end(cancel, fu)
			_, err := wait(t, fu)
			mustBe(t, err, pool.ErrUnbound)
			if errors.Is(err, pool.ErrNotStarted) {
				t.Errorf("the handler was entered, and the error %v is ErrNotStarted", err)
			}
		})
	}
	t.Run("Call", func(t *testing.T) {
		g, f, _ := gated(t, pool.Config{Lanes: 1})
		ctx, cancel := context.WithCancelCause(bg)
		defer cancel(nil)
		got := make(chan error, 1)
		go func() { _, err := f.Call(ctx, 1); got <- err }()
		g.entered(t, 1)
		cancel(refused)
		if err := came(t, "call", got); errors.Is(err, pool.ErrNotStarted) {
			t.Errorf("the handler was entered, and the error %v is ErrNotStarted", err)
		}
	})
	t.Run("Discard", func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		l, err := p.Acquire(bg)
		must(t, err)
		fu := pool.GoOn(bg, l, f, 1)
		g.entered(t, 1)
		l.Discard(refused)
		if _, err := wait(t, fu); errors.Is(err, pool.ErrNotStarted) {
			t.Errorf("the handler was entered, and the error %v is ErrNotStarted", err)
		}
	})
}

// TestAfterNil: After of a nil future is refused before the pool has counted the call.
func TestAfterNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Abortable: true})
		p, err := pool.New(&h, pool.Config{Lanes: 1, AbortCapacity: 1})
		must(t, err)
		defer p.Close()
		if v := panicOf(func() { f.After(bg, nil) }); v != "pool: After: nil future" {
			t.Errorf("After panics with %v", v)
		}
		if m := p.Metrics(); m.Accepted != m.Ended {
			t.Errorf("accepted %d, ended %d", m.Accepted, m.Ended)
		}
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		if err := p.Wait(ctx); err != nil {
			t.Errorf("Wait = %v", err)
		}
		if _, err := f.Call(bg, 1); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// TestWaitNilContext: Wait says what was misused.
func TestWaitNilContext(t *testing.T) {
	g, f, _ := gated(t, pool.Config{Lanes: 1})
	fu := f.Go(bg, 1)
	g.entered(t, 1)
	var none context.Context
	if v := fmt.Sprint(panicOf(func() { fu.Wait(none) })); v != "pool: nil context" {
		t.Errorf("Wait panics with %q", v)
	}
}

// emptyContext is one that does not work.
type emptyContext struct{ context.Context }

// TestBrokenContext: a context that panics does so before the pool has counted the call.
func TestBrokenContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 1})
		must(t, err)
		defer p.Close()
		var nilCtx *emptyContext
		for name, call := range map[string]func(){
			"Call": func() { f.Call(nilCtx, 1) },
			"Go":   func() { f.Go(nilCtx, 1) },
		} {
			if panicOf(call) == nil {
				t.Error("no panic")
			}
			ctx, cancel := context.WithTimeout(bg, time.Hour)
			if err := p.Wait(ctx); err != nil {
				t.Errorf("%s: Wait = %v: %+v", name, err, p.Metrics().Lanes)
			}
			cancel()
		}
	})
}

// TestPayloadTypeNotStarted: a payload of the wrong type is refused before the call, with
// the type that the task takes.
func TestPayloadTypeNotStarted(t *testing.T) {
	var h pool.Handlers
	entered := false
	pool.Register(&h, "typed", func(context.Context, int) (int, error) { entered = true; return 0, nil })
	pool.Register(&h, "iface", func(_ context.Context, e error) (int, error) { return 0, nil })
	p := newPool(t, &h, pool.Config{Lanes: 1})
	_, err := p.RunTask(bg, "typed", "four")
	mustBe(t, err, pool.ErrPayloadType)
	if !entered && !errors.Is(err, pool.ErrNotStarted) {
		t.Errorf("the handler was not entered, and %v (%T) is not ErrNotStarted", err, err)
	}
	_, err = p.RunTask(bg, "iface", 5)
	if strings.Contains(err.Error(), "<nil>") {
		t.Errorf("the type is not named: %v", err)
	}
}

// TestNegativeTimeout: that of a task is refused as that of the pool is.
func TestNegativeTimeout(t *testing.T) {
	var h pool.Handlers
	pool.Register(&h, "x", double, pool.TaskOptions{Timeout: -1})
	p, err := pool.New(&h, pool.Config{Lanes: 1, Timeout: time.Second})
	if err == nil {
		p.Close()
		t.Error("New takes a task with a negative Timeout, which turns Config.Timeout off")
	}
}

// TestHugeNumber: an error that came as a number has its digits as the text.
func TestHugeNumber(t *testing.T) {
	var remote *pool.RemoteError
	_, err := pool.ParseAnswer([]byte(`{"callbackId":7,"error":1e999}`))
	if !errors.As(err, &remote) || remote.Message != "1e999" {
		t.Errorf("%v", err)
	}
	r := new(pool.RemoteError)
	if err := json.Unmarshal([]byte(`1e999`), r); err != nil {
		t.Error(err)
	}
}

// TestNilRemoteError: an outcome can be read, whatever a handler returns.
func TestNilRemoteError(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "x", func(context.Context, int) (int, error) { var e *pool.RemoteError; return 0, e })
	newPool(t, &h, pool.Config{Lanes: 1})
	_, err := f.Call(bg, 1)
	if v := panicOf(func() { _ = err.Error(); errors.Is(err, pool.ErrClosed) }); v != nil {
		t.Errorf("the error of the call cannot be read: %v", v)
	}
}

// TestEndedCallsGiveSlots: a call that has ended before it started gives its abort slot
// back at once.
func TestEndedCallsGiveSlots(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "x", double, pool.TaskOptions{Abortable: true})
	p := newPool(t, &h, pool.Config{Lanes: 1, AbortCapacity: 1})
	p.Pause()
	fu := f.Go(bg, 1)
	fu.Abort(nil)
	_, err := wait(t, fu)
	mustBe(t, err, pool.ErrNotStarted)
	fu = f.Go(bg, 1)
	if settled(fu) {
		_, err := fu.Wait(bg)
		t.Errorf("%v: %+v", err, p.Metrics().Lanes)
	}
	p.Resume()
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

// TestEndedCallKeepsNothing: the future of a call that has ended keeps neither the argument
// nor the context, also while the lane has not come to the call. K-135.
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
				t.Error("it is kept")
			}
			runtime.KeepAlive(fu)
		})
	}
}

// contextEnded makes a call that succeeds.
func contextEnded(t *testing.T, ctx context.Context, f *pool.Func[int, int], _ *pool.Pool, g *gate) *pool.Future[int] {
	t.Helper()
	g.release()
	fu := f.Go(ctx, 1)
	result(t, fu)
	return fu
}

// TestEndedErrorCompares: errors.Is works on the outcome of a call whose cause cannot be
// compared.
func TestEndedErrorCompares(t *testing.T) {
	var unbound pool.Handlers
	_, refused := pool.Register(&unbound, "x", double).Call(bg, 1)
	g, f, _ := gated(t, pool.Config{Lanes: 1})
	fu := f.Go(bg, 1)
	g.entered(t, 1)
	fu.Abort(severalErrors{refused})
	_, err := wait(t, fu)
	if r := panicOf(func() { mustBe(t, err, err) }); r != nil {
		t.Errorf("errors.Is panics: %v", r)
	}
}

// severalErrors is an error that cannot be compared.
type severalErrors []error

func (e severalErrors) Error() string   { return fmt.Sprint([]error(e)) }
func (e severalErrors) Unwrap() []error { return e }

// TestAfterAbortWaitsForRoom: After does not wait for space, and no goroutine of a call of After that has
// ended does.
func TestAfterAbortWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
		defer g.release()
		p.Pause()
		defer p.Resume()
		var h2 pool.Handlers
		quick := pool.Register(&h2, "q", double, pool.TaskOptions{Remote: true})
		p2 := newPool(t, &h2, pool.Config{Lanes: 1})
		f.Go(bg, 0)
		p2.Pause()
		dep := quick.Go(bg, 1)
		fu := f.After(bg, dep)
		p2.Resume()
		result(t, dep)
		synctest.Wait()
		fu.Abort(nil)
		_, err := fu.Wait(bg)
		mustBe(t, err, pool.ErrAborted)
		synctest.Wait()
		if m := p.Metrics(); m.Outside != 0 {
			t.Errorf("the call has ended, and its goroutine waits: %d outside", m.Outside)
		}
	})
}
