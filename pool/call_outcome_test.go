package pool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

var errHandler = errors.New("the handler failed")

// ending is a pool of one lane with a handler that ends in the way that its argument names.
type ending struct {
	p    *pool.Pool
	f    *pool.Func[string, int]
	next *pool.Func[int, int]
	g    *gate
}

func newEnding(t *testing.T, c pool.Config) *ending {
	t.Helper()
	var h pool.Handlers
	e := &ending{g: newGate()}
	e.f = pool.Register(&h, "end", func(ctx context.Context, how string) (int, error) {
		switch how {
		case "fail":
			return 0, errHandler
		case "panic":
			panic("the handler panicked")
		case "exit":
			runtime.Goexit()
		case "wait":
			return e.g.enter(ctx, 1)
		}
		return 1, nil
	}, pool.TaskOptions{Remote: true, Abortable: true})
	e.next = pool.Register(&h, "next", double, pool.TaskOptions{Remote: true})
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	e.p = newPool(t, &h, c)
	t.Cleanup(e.g.release)
	return e
}

// TestEndsByCause checks that each call counts once under the cause of its end. It counts at
// its lane. If it ended before a lane took it, it counts at the pool only.
func TestEndsByCause(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		want   pool.Ends // at the lane
		noLane pool.Ends // before a lane took the call
		do     func(t *testing.T, e *ending)
	}{
		{"by the handler", pool.Config{}, pool.Ends{Returned: 1, Failed: 1, Panicked: 1, Exited: 1}, pool.Ends{}, func(t *testing.T, e *ending) {
			t.Helper()
			for _, how := range []string{"", "fail", "panic", "exit"} {
				_, _ = e.f.Call(within(t), how)
			}
		}},
		{"aborted", pool.Config{}, pool.Ends{Aborted: 1}, pool.Ends{Aborted: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			runs := e.f.Go(bg, "wait")
			e.g.entered(t, 1)
			waits := e.f.Go(bg, "")
			waits.Abort(nil)
			runs.Abort(nil)
		}},
		{"context", pool.Config{}, pool.Ends{ContextEnded: 1}, pool.Ends{ContextEnded: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			ctx, end := context.WithCancel(bg)
			runs, waits := e.f.Go(ctx, "wait"), e.f.Go(ctx, "")
			e.g.entered(t, 1)
			end()
			_, _ = runs.Wait(within(t))
			_, _ = waits.Wait(within(t))
		}},
		{"time", pool.Config{Timeout: time.Millisecond}, pool.Ends{TimedOut: 1}, pool.Ends{}, func(t *testing.T, e *ending) {
			t.Helper()
			_, err := e.f.Call(within(t), "wait")
			mustBe(t, err, context.DeadlineExceeded)
		}},
		{"deadline of the caller", pool.Config{Timeout: time.Hour}, pool.Ends{ContextEnded: 1}, pool.Ends{}, func(t *testing.T, e *ending) {
			t.Helper()
			ctx, cancel := context.WithTimeout(bg, time.Millisecond)
			defer cancel()
			_, _ = e.f.Go(ctx, "wait").Wait(bg)
		}},
		{"limit", pool.Config{HardLimit: time.Millisecond}, pool.Ends{LimitExceeded: 1}, pool.Ends{}, func(t *testing.T, e *ending) {
			t.Helper()
			_, _ = e.f.Call(within(t), "wait")
		}},
		{"closed", pool.Config{}, pool.Ends{PoolClosed: 1}, pool.Ends{PoolClosed: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			e.f.Go(bg, "wait")
			e.g.entered(t, 1)
			e.f.Go(bg, "")
			must(t, e.p.Close())
		}},
		{"dropped", pool.Config{Backlog: 1, Overflow: pool.DropOldest}, pool.Ends{}, pool.Ends{Dropped: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			e.f.Go(bg, "wait")
			e.g.entered(t, 1)
			for range 2 {
				e.next.Go(bg, 1)
			}
		}},
		{"refused", pool.Config{Backlog: 1, Overflow: pool.Fail}, pool.Ends{}, pool.Ends{Refused: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			e.f.Go(bg, "wait")
			e.g.entered(t, 1)
			for range 2 {
				e.next.Go(bg, 1)
			}
		}},
		{"discarded", pool.Config{}, pool.Ends{LaneDiscarded: 1}, pool.Ends{}, func(t *testing.T, e *ending) {
			t.Helper()
			l, err := e.p.Acquire(within(t))
			must(t, err)
			pool.GoOn(bg, l, e.f, "wait")
			e.g.entered(t, 1)
			l.Discard(nil)
		}},
		{"argument", pool.Config{}, pool.Ends{Failed: 1}, pool.Ends{ArgumentFailed: 1}, func(t *testing.T, e *ending) {
			t.Helper()
			_, _ = e.next.After(bg, e.f.Go(bg, "fail")).Wait(within(t))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnding(t, tc.config)
			tc.do(t, e)
			m := e.p.Metrics()
			lane := m.Lanes[0].Ends
			if m.Ends != plus(lane, m.NoLane) {
				t.Errorf("the lane has %+v, no lane %+v, the pool %+v", lane, m.NoLane, m.Ends)
			}
			lane.Returned, tc.want.Returned = 0, 0
			if lane != tc.want || m.NoLane != tc.noLane {
				t.Errorf("got %+v at the lane and %+v at none, want %+v and %+v", lane, m.NoLane, tc.want, tc.noLane)
			}
			e.g.release()
			if m.Status == "open" {
				must(t, e.p.Wait(within(t)))
			}
			m = e.p.Metrics()
			if m.Ended != endings(m.Ends) || m.Ended != m.Accepted {
				t.Errorf("%d calls were accepted, %d have ended: %+v", m.Accepted, m.Ended, m.Ends)
			}
		})
	}
}

// plus returns the sums of the counts of a and b.
func plus(a, b pool.Ends) pool.Ends {
	to, from := reflect.ValueOf(&a).Elem(), reflect.ValueOf(b)
	for i := range from.NumField() {
		to.Field(i).SetUint(to.Field(i).Uint() + from.Field(i).Uint())
	}
	return a
}

// TestOnEnd checks that Config.OnEnd gets each failure that no goroutine waits for and no
// other. The lane of a call that ended before a lane took it is -2.
func TestOnEnd(t *testing.T) {
	ends := make(chan pool.Ended, 100)
	e := newEnding(t, pool.Config{OnEnd: func(end pool.Ended) {
		ends <- end
		if end.Cause == pool.CauseExited {
			runtime.Goexit() // which ends its own goroutine
		}
	}})
	for _, tc := range []struct {
		how   string
		cause pool.Cause
		text  string
		stack bool
	}{
		{"fail", pool.CauseFailed, errHandler.Error(), false},
		{"panic", pool.CausePanicked, "the handler panicked", true},
		{"exit", pool.CauseExited, pool.ErrGoexit.Error(), true},
	} {
		e.f.Go(bg, tc.how)
		got := came(t, "an end", ends)
		if got.Task != "end" || got.Lane != 0 || got.Cause != tc.cause || !strings.Contains(got.Err.Error(), tc.text) || (got.Stack != "") != tc.stack {
			t.Errorf("%s: got %+v", tc.how, got)
		}
	}
	for _, how := range []string{"fail", "panic", "exit"} {
		if _, err := e.f.Call(within(t), how); err == nil {
			t.Errorf("Call %s has no error", how)
		}
	}
	result(t, e.f.Go(bg, "")) // no error
	first := e.f.Go(bg, "wait")
	e.g.entered(t, 1)
	e.f.Go(bg, "").Abort(nil)
	if got := came(t, "an end", ends); got.Task != "end" || got.Lane != -2 || got.Cause != pool.CauseAborted || !errors.Is(got.Err, pool.ErrNotStarted) {
		t.Errorf("a call that was aborted while it waited: %+v", got)
	}
	fails := e.f.Go(bg, "fail")
	done := fails.Done() // its channel has been asked for
	e.g.release()
	result(t, first)
	<-done
	e.f.Go(bg, "fail")
	if got := came(t, "an end", ends); got.Cause != pool.CauseFailed {
		t.Errorf("got %+v", got)
	}
	must(t, e.p.Wait(within(t)))
	select {
	case got := <-ends:
		t.Errorf("an end that a goroutine waited for: %+v", got)
	default:
	}
}

// TestOnEndPanic checks that a panic of Config.OnEnd goes to the log and ends nothing else.
// Without OnEnd a panic that no goroutine waits for goes there.
func TestOnEndPanic(t *testing.T) {
	var out lockedBuffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	for _, tc := range []struct {
		name  string
		onEnd func(pool.Ended)
		want  []string
	}{
		{"OnEnd", func(pool.Ended) { panic("OnEnd panicked") }, []string{"OnEnd panicked", "task=end", "lane=0"}},
		{"none", nil, []string{"the handler panicked", "task=end", "lane=0", "cause=panicked", "stack="}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEnding(t, pool.Config{OnEnd: tc.onEnd})
			e.f.Go(bg, "panic")
			for _, text := range tc.want {
				until(t, "the log to have "+text, func() bool { return strings.Contains(out.String(), text) })
			}
			if v, err := e.next.Call(within(t), 2); v != 4 || err != nil {
				t.Errorf("Call = %d, %v", v, err)
			}
			out.Reset()
		})
	}
}

// TestLatePanic checks that a panic of a handler whose call has ended before reaches
// Config.OnEnd or the log. The call counts by the cause of its own end.
func TestLatePanic(t *testing.T) {
	var out lockedBuffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	for _, told := range []bool{true, false} {
		var h pool.Handlers
		in, open := make(chan struct{}), make(chan struct{})
		f := pool.Register(&h, "late", func(context.Context, int) (int, error) {
			in <- struct{}{}
			<-open
			panic(errWhy)
		})
		ended := make(chan pool.Ended, 4)
		c := pool.Config{Lanes: 1}
		if told {
			c.OnEnd = func(e pool.Ended) { ended <- e }
		}
		p := newPool(t, &h, c)
		ctx, cancel := context.WithCancel(bg)
		errs := make(chan error)
		go func() {
			_, err := f.Call(ctx, 1)
			errs <- err
		}()
		came(t, "the handler", in)
		cancel()
		mustBe(t, came(t, "the end of the call", errs), context.Canceled)
		close(open)
		if told {
			e := came(t, "the panic", ended)
			if mustBe(t, e.Err, errWhy); e.Task != "late" || e.Lane != 0 || e.Cause != pool.CausePanicked || e.Stack == "" {
				t.Errorf("OnEnd got %+v", e)
			}
		} else {
			until(t, "the log to have the panic", func() bool { return strings.Contains(out.String(), "task=late") })
		}
		until(t, "the handler to return", func() bool { return p.Metrics().StaleResponses == 1 })
		if e := p.Metrics().Ends; e.ContextEnded != 1 || e.Panicked != 0 {
			t.Errorf("the ends are %+v", e)
		}
		if len(ended) != 0 {
			t.Errorf("OnEnd is called %d times more", len(ended))
		}
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *lockedBuffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// TestEndedContextEntersNoHandler checks that a call whose context has ended before it is made
// never enters its handler.
func TestEndedContextEntersNoHandler(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		f := pool.Register(&h, "never", func(_ context.Context, n int) (int, error) {
			t.Error("the handler was entered")
			return n, nil
		}, o)
		p := newPool(t, &h, c)
		ctx, end := context.WithCancelCause(bg)
		end(errHandler)
		for range 100 {
			_, err := f.Call(ctx, 1)
			mustBe(t, err, errHandler, pool.ErrNotStarted)
			_, err = f.Go(ctx, 1).Wait(bg)
			mustBe(t, err, errHandler, pool.ErrNotStarted)
		}
		balanced(t, p)
		if n := p.Metrics().Accepted; n != 0 {
			t.Errorf("the pool has accepted %d of the calls", n)
		}
	})
}

// TestContextEndsBeforeTheHandlerReturns checks that a call ends with the cause of its context
// if that ends before the handler returns. The result of the handler does not matter, and neither does a panic.
func TestContextEndsBeforeTheHandlerReturns(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		panics := false
		f := pool.Register(&h, "ends", func(_ context.Context, end context.CancelCauseFunc) (int, error) {
			if panics {
				defer panic("late")
			}
			end(errHandler)
			return 1, nil
		}, o)
		c.OnEnd = func(pool.Ended) {} // otherwise the panics go to the log
		p := newPool(t, &h, c)
		for i := range 100 {
			panics = i%4 > 1
			ctx, end := context.WithCancelCause(bg)
			var v int
			var err error
			if i%2 == 0 {
				v, err = f.Call(ctx, end)
			} else {
				v, err = f.Go(ctx, end).Wait(bg)
			}
			if v != 0 || !errors.Is(err, errHandler) || errors.Is(err, pool.ErrNotStarted) {
				t.Fatalf("got %d, %v", v, err)
			}
		}
		balanced(t, p)
	})
}

// TestOnEndAfterAWaitGaveUp checks that a failure is reported if the goroutine that waited for it has
// given up before. The end of its context says nothing about the failure.
func TestOnEndAfterAWaitGaveUp(t *testing.T) {
	for name, c := range map[string]pool.Config{
		"goroutine": {Lanes: 1},
		"inline":    {Lanes: 1, Inline: &pool.Inline{DispatchThreshold: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends := make(chan pool.Ended, 1)
				var h pool.Handlers
				open := make(chan struct{})
				f := pool.Register(&h, "task", func(context.Context, int) (int, error) { <-open; panic("late") }, pool.TaskOptions{Remote: true})
				c.OnEnd = func(e pool.Ended) { ends <- e }
				newPool(t, &h, c)
				fu := f.Go(bg, 1)
				ctx, cancel := context.WithTimeout(bg, time.Second)
				defer cancel()
				if _, err := fu.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Wait = %v", err)
				}
				close(open)
				synctest.Wait()
				select {
				case e := <-ends:
					if e.Cause != pool.CausePanicked {
						t.Errorf("got %+v", e)
					}
				default:
					t.Error("the panic is not reported")
				}
			})
		})
	}
}

// TestOnEndBesideAWait checks that a failure is not reported if a goroutine waits for it when it comes.
func TestOnEndBesideAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		open := make(chan struct{})
		f := pool.Register(&h, "task", func(context.Context, int) (int, error) { <-open; panic("in time") })
		newPool(t, &h, pool.Config{Lanes: 1, OnEnd: func(e pool.Ended) { t.Errorf("a report of %+v", e) }})
		fu := f.Go(bg, 1)
		go func() {
			synctest.Wait() // the test waits
			close(open)
		}()
		_, err := fu.Wait(bg)
		mustNotBe(t, err, pool.ErrNotStarted)
		synctest.Wait()
	})
}

// TestOnEndOfAnInlinePanic checks that a panic of a handler of the inline lane is reported if Close
// has ended the call before. The caller gets the error of Close.
func TestOnEndOfAnInlinePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(chan pool.Ended, 1)
		var h pool.Handlers
		var p *pool.Pool
		f := pool.Register(&h, "task", func(context.Context, int) (int, error) {
			must(t, p.Close())
			panic("too late")
		})
		p = newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}, OnEnd: func(e pool.Ended) { ends <- e }})
		_, err := f.Call(bg, 1)
		mustBe(t, err, pool.ErrThreadClosed)
		synctest.Wait()
		select {
		case e := <-ends:
			if e.Cause != pool.CausePanicked || e.Task != "task" || e.Lane != -1 || e.Stack == "" {
				t.Errorf("got %+v", e)
			}
		default:
			t.Error("no report of the panic")
		}
	})
}

// TestOnEndBesideClose checks that Close loses no end. The calls that waited had no lane.
func TestOnEndBesideClose(t *testing.T) {
	ends, closed := make(chan pool.Ended, 100), make(chan struct{})
	e := newEnding(t, pool.Config{OnEnd: func(end pool.Ended) { <-closed; ends <- end }}) // no report ends before Close does
	e.f.Go(bg, "wait")
	e.g.entered(t, 1)
	for range 99 {
		e.f.Go(bg, "")
	}
	must(t, e.p.Close())
	close(closed)
	lanes := map[int]int{}
	for range 100 {
		got := came(t, "an end", ends)
		if got.Cause != pool.CausePoolClosed || errors.Is(got.Err, pool.ErrNotStarted) != (got.Lane == -2) {
			t.Errorf("got %+v", got)
		}
		lanes[got.Lane]++
	}
	if lanes[0] != 1 || lanes[-2] != 99 {
		t.Errorf("calls by the lane that Ended names: %v", lanes)
	}
}

// TestAfterIsReported checks that a call of After that panics and that no goroutine waits for
// is reported. The pool has watched that call.
func TestAfterIsReported(t *testing.T) {
	ends := make(chan pool.Ended, 1)
	var h pool.Handlers
	g := newGate()
	first := pool.Register(&h, "first", g.enter)
	then := pool.Register(&h, "then", func(context.Context, int) (int, error) { panic("too late") })
	newPool(t, &h, pool.Config{Lanes: 1, OnEnd: func(e pool.Ended) { ends <- e }})
	t.Cleanup(g.release)
	dep := first.Go(bg, 0)
	g.entered(t, 1)
	then.After(bg, dep)
	g.release()
	if e := came(t, "the report", ends); e.Cause != pool.CausePanicked || e.Task != "then" {
		t.Errorf("got %+v", e)
	}
}

// TestStartedIsNotNotStarted checks that the error of a call whose handler was entered is never
// ErrNotStarted. The call may have been ended by the error of another call that had not
// started. For example, a context is cancelled with the first error of several calls.
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

// TestNestedNotStartedIsNotPassedOn checks that the outcome of a call that has started is not
// ErrNotStarted because a nested call had not started.
func TestNestedNotStartedIsNotPassedOn(t *testing.T) {
	var h pool.Handlers
	var p *pool.Pool
	outer := pool.Register(&h, "outer", func(ctx context.Context, _ int) (any, error) {
		return p.RunTask(ctx, "nobody", nil)
	})
	p = newPool(t, &h, pool.Config{Lanes: 1})
	_, err := outer.Call(bg, 1)
	var unknown *pool.UnknownTaskError
	if !errors.As(err, &unknown) || unknown.Type != "nobody" {
		t.Errorf("the cause is lost: %v", err)
	}
	mustNotBe(t, err, pool.ErrNotStarted)
}

// TestEndedErrorCompares checks that errors.Is works on the outcome of a call whose cause
// cannot be compared.
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

// TestNilRemoteErrorIsReadable checks that an outcome can be read whatever a handler returns.
func TestNilRemoteErrorIsReadable(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "x", func(context.Context, int) (int, error) { var e *pool.RemoteError; return 0, e })
	newPool(t, &h, pool.Config{Lanes: 1})
	_, err := f.Call(bg, 1)
	if v := panicOf(func() { _ = err.Error(); errors.Is(err, pool.ErrClosed) }); v != nil {
		t.Errorf("the error of the call cannot be read: %v", v)
	}
}
