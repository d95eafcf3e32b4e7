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

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/pool"
)

// TestSubmit checks that Submit calls the single task or the one with the empty name. C-005,
// C-017, C-018, C-019.
func TestSubmit(t *testing.T) {
	echo := func(_ context.Context, v any) (any, error) {
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v, nil
	}
	other := func(context.Context, any) (any, error) { return nil, errors.New("the wrong one") }
	for _, tc := range []struct {
		name string
		h    map[string]pool.Handler
		ok   bool
	}{
		{"single", map[string]pool.Handler{"echo": echo}, true},
		{"empty name", map[string]pool.Handler{"": echo, "other": other}, true},
		{"two", map[string]pool.Handler{"echo": echo, "other": other}, false},
		{"none", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h pool.Handlers
			h.HandleAll(tc.h)
			p := newPool(t, &h, pool.Config{Lanes: 1})
			if !tc.ok {
				_, err := wait(t, p.Submit(bg, 1))
				mustBe(t, err, pool.ErrNoHandler, pool.ErrNotStarted)
				return
			}
			data := &struct{ n int }{5}
			for _, v := range []any{1, "two", nil, data, []byte{3}} {
				got, err := wait(t, p.Submit(bg, v))
				must(t, err)
				if fmt.Sprint(got) != fmt.Sprint(v) {
					t.Errorf("Submit(%v) = %v", v, got)
				}
			}
			if got, _ := wait(t, p.Submit(bg, data)); got != any(data) {
				t.Error("the payload was copied")
			}
			_, err := wait(t, p.Submit(bg, errWhy))
			mustBe(t, err, errWhy)
		})
	}
}

// TestSubmitReturnsAtOnce checks that Submit returns a future before the handler returns. A payload
// that the task does not take is refused by then, and its handler is not entered. C-005, C-017.
func TestSubmitReturnsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := gated(t, pool.Config{Lanes: 1})
		fu := p.Submit(bg, 5)
		g.entered(t, 1)
		if settled(fu) {
			t.Error("the call has ended, and its handler has not returned")
		}
		refused := p.Submit(bg, "five")
		if !settled(refused) {
			t.Fatal("a payload of the wrong type is not refused at once")
		}
		_, err := refused.Wait(bg)
		mustBe(t, err, pool.ErrPayloadType, pool.ErrNotStarted)
		g.release()
		if v := result(t, fu); v != 5 {
			t.Errorf("Submit(5) = %v", v)
		}
		g.none(t)
	})
}

// TestHandleAllAddsInOrderOfNames checks that HandleAll adds the tasks in the order of their
// names. The errors of New therefore have the same order each time.
func TestHandleAllAddsInOrderOfNames(t *testing.T) {
	for range 20 {
		var h pool.Handlers
		h.HandleAll(map[string]pool.Handler{"d": nil, "b": nil, "c": nil, "a": nil})
		_, err := pool.New(&h, pool.Config{})
		const want = "pool: nil handler: \"a\"\npool: nil handler: \"b\"\npool: nil handler: \"c\"\npool: nil handler: \"d\""
		if err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
}

// TestRunTaskOnLanes checks that a task that is called by its name runs on the lanes as it does
// by its function. It also runs on the lane of a lease. C-029.
func TestRunTaskOnLanes(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 2})
	lease, err := p.AcquireLane(bg, 1)
	must(t, err)
	defer lease.Release()
	accepted := func() [2]uint64 { return [2]uint64{p.Lanes()[0].Accepted, p.Lanes()[1].Accepted} }
	for _, tc := range []struct {
		name string
		call func() error
		want [2]uint64
	}{
		{"the function", func() error { _, err := f.Call(bg, 1); return err }, [2]uint64{1, 0}},
		{"RunTask", func() error { _, err := p.RunTask(bg, "double", 1); return err }, [2]uint64{2, 0}},
		{"Submit", func() error { _, err := p.Submit(bg, 1).Wait(bg); return err }, [2]uint64{3, 0}},
		{"RunTask of the lease", func() error { _, err := lease.RunTask(bg, "double", 1); return err }, [2]uint64{3, 1}},
	} {
		must(t, tc.call())
		if got := accepted(); got != tc.want {
			t.Errorf("%s: the lanes have accepted %v calls, want %v", tc.name, got, tc.want)
		}
	}
}

// TestRunTask checks that tasks are called by their names. The names are those of the table and
// no others. C-031, C-034, C-035, C-036, C-038, C-039. V-09, V-10.
func TestRunTask(t *testing.T) {
	var h pool.Handlers
	h.HandleAll(map[string]pool.Handler{
		"add": func(_ context.Context, v any) (any, error) {
			a := v.(map[string]int)
			return a["a"] + a["b"], nil
		},
		"": func(context.Context, any) (any, error) { return "nameless", nil },
	})
	typed := pool.Register(&h, "typed", double)
	p := newPool(t, &h, pool.Config{})
	if v, err := p.RunTask(bg, "add", map[string]int{"a": 10, "b": 15}); v != 25 || err != nil {
		t.Errorf("add = %v, %v", v, err)
	}
	if v, err := p.RunTask(bg, "typed", 4); v != 8 || err != nil {
		t.Errorf("typed = %v, %v", v, err)
	}
	if v, err := p.RunTask(bg, "typed", nil); v != 0 || err != nil {
		t.Errorf("typed without a payload = %v, %v", v, err)
	}
	if v, err := p.RunTask(bg, "", nil); v != "nameless" || err != nil {
		t.Errorf("the empty name = %v, %v", v, err)
	}
	if v, err := typed.Call(bg, 5); v != 10 || err != nil {
		t.Errorf("the function = %v, %v", v, err)
	}
	_, err := p.RunTask(bg, "typed", "four")
	mustBe(t, err, pool.ErrPayloadType)
	if want := `pool: wrong type of payload: task "typed" takes int, not string; the call has not started`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	for _, name := range []string{"nobody", "toString", "constructor", "__proto__", "Add", "add ", `a"b`, "a\nb"} {
		_, err := p.RunTask(bg, name, nil)
		var unknown *pool.UnknownTaskError
		if !errors.As(err, &unknown) || unknown.Type != name || !errors.Is(err, pool.ErrNotStarted) {
			t.Errorf("RunTask(%q) = %v", name, err)
		} else if want := `Unknown task type "` + name + `"`; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// TestPayloadTypeNotStarted checks that a payload of the wrong type is refused before the call.
// The error has the type that the task takes.
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

// TestRequestIsReserved checks that "request" is answered at once whatever the lanes do. It
// reaches no handler and cannot be one. C-032, C-033.
func TestRequestIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		f.Go(bg, 0)
		g.entered(t, 1)
		for _, paused := range []bool{false, true} {
			if paused {
				p.Pause()
			}
			v, err := p.RunTask(bg, "request", "ignored")
			must(t, err)
			data, err := json.Marshal(v)
			must(t, err)
			want := `{"callbackId":1,"type":"request"}`
			if paused {
				want = `{"callbackId":2,"type":"request"}`
			}
			if string(data) != want {
				t.Errorf("got %s, want %s", data, want)
			}
		}
		g.none(t)
		must(t, p.Close())
		_, err := p.RunTask(bg, "request", nil)
		mustBe(t, err, pool.ErrPoolShutdown)
		var h pool.Handlers
		h.Handle("request", func(context.Context, any) (any, error) { return nil, nil })
		_, err = pool.New(&h, pool.Config{})
		mustBe(t, err, pool.ErrReservedName)
	})
}

// TestHandlersReturnFutures checks that a future that a handler returns is waited for. C-040.
func TestHandlersReturnFutures(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 2}, {Lanes: 1, Concurrency: 2}, inlineOnly()} {
		var h pool.Handlers
		var p *pool.Pool
		h.Handle("inner", func(_ context.Context, v any) (any, error) {
			if v == "bad" {
				return nil, errWhy
			}
			return fmt.Sprint("inner ", v), nil
		})
		h.Handle("", func(ctx context.Context, v any) (any, error) { return v, nil })
		h.Handle("outer", func(ctx context.Context, v any) (any, error) {
			var none *pool.Future[any]
			if v == "none" {
				return none, nil
			}
			return p.Submit(ctx, v), nil
		})
		p = newPool(t, &h, c)
		if v, err := p.RunTask(within(t), "outer", "x"); v != "x" || err != nil {
			t.Errorf("RunTask = %v, %v, want x", v, err)
		}
		if v, err := p.RunTask(within(t), "outer", "none"); err != nil || v.(*pool.Future[any]) != nil {
			t.Errorf("RunTask = %v, %v, want the nil future", v, err)
		}
	}
	var h pool.Handlers
	var p *pool.Pool
	h.Handle("", func(context.Context, any) (any, error) { return nil, errWhy })
	h.Handle("outer", func(ctx context.Context, v any) (any, error) { return p.Submit(ctx, v), nil })
	p = newPool(t, &h, pool.Config{Lanes: 1})
	_, err := p.RunTask(bg, "outer", 1)
	mustBe(t, err, errWhy)
}

// TestHandlersTable checks that each fault of a table is an error of New that names the fault.
// K-014, K-091, C-033. V-09.
func TestHandlersTable(t *testing.T) {
	fn := func(context.Context, any) (any, error) { return nil, nil }
	for _, tc := range []struct {
		name string
		fill func(h *pool.Handlers)
		want error
	}{
		{"nil", func(h *pool.Handlers) { h.Handle("x", nil) }, pool.ErrNilHandler},
		{"nil, typed", func(h *pool.Handlers) { pool.Register[int, int](h, "x", nil) }, pool.ErrNilHandler},
		{"twice", func(h *pool.Handlers) { h.Handle("x", fn); h.Handle("x", fn) }, pool.ErrDuplicateName},
		{"reserved", func(h *pool.Handlers) { h.Handle("request", fn) }, pool.ErrReservedName},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h pool.Handlers
			tc.fill(&h)
			_, err := pool.New(&h, pool.Config{})
			mustBe(t, err, tc.want)
		})
	}
	var h pool.Handlers
	h.Handle("x", fn)
	newPool(t, &h, pool.Config{Lanes: 1})
	_, err := pool.New(&h, pool.Config{})
	mustBe(t, err, pool.ErrBound)
	if got := panicOf(func() { h.Handle("y", fn, pool.TaskOptions{}, pool.TaskOptions{}) }); got != "pool: Register: more than one TaskOptions" {
		t.Errorf("two options: panic %v", got)
	}
}

// TestTooManyTasks checks that 65,536 tasks have an id and that one more has none. K-014.
func TestTooManyTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("131,073 tasks")
	}
	fn := func(_ context.Context, v any) (any, error) { return v, nil }
	for _, n := range []int{1<<16 - 1, 1 << 16, 1<<16 + 1} {
		var h pool.Handlers
		for i := range n {
			h.Handle(fmt.Sprint(i), fn)
		}
		p, err := pool.New(&h, pool.Config{Lanes: 1})
		if n > 1<<16 {
			mustBe(t, err, pool.ErrTooManyTasks)
			continue
		}
		must(t, err)
		if v, err := p.RunTask(bg, fmt.Sprint(n-1), 5); v != 5 || err != nil {
			t.Errorf("the last task: %v, %v", v, err)
		}
		must(t, p.Close())
	}
}

// TestConfig checks that each fault of a configuration is an error that names the field. V-16a.
func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		field string
		c     pool.Config
	}{
		{"Lanes", pool.Config{Lanes: pool.NoLanes}},
		{"Lanes", pool.Config{Lanes: -2}},
		{"Lanes", pool.Config{Lanes: 4097}},
		{"Concurrency", pool.Config{Concurrency: -1}},
		{"Concurrency", pool.Config{Concurrency: 1 << 14}},
		{"Backlog", pool.Config{Backlog: -3}},
		{"Overflow", pool.Config{Backlog: pool.NoBacklog, Overflow: pool.DropOldest}},
		{"Overflow", pool.Config{Overflow: pool.DropOldest + 1}},
		{"Timeout", pool.Config{Timeout: -1}},
		{"HardLimit", pool.Config{HardLimit: -1}},
		{"AbortCapacity", pool.Config{AbortCapacity: -1}},
		{"AbortCapacity", pool.Config{AbortCapacity: 65535}}, // K-105
		{"Inline", pool.Config{Inline: &pool.Inline{BatchSize: -1}}},
		{"Inline", pool.Config{Inline: &pool.Inline{DispatchThreshold: -1}}},
		{"Inline", pool.Config{Inline: &pool.Inline{Position: 2}}},
		{"LockOSThread", pool.Config{LockOSThread: true, Scheduler: newScheduler(t, schedConfig)}},
	} {
		_, err := pool.New(nil, tc.c)
		if want := "pool: Config." + tc.field + ": "; err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%+v: the error is %v", tc.c, err)
		}
	}
	newPool(t, nil, pool.Config{AbortCapacity: 65534, Lanes: 1})
	newPool(t, nil, pool.Config{Backlog: pool.NoBacklog, Lanes: 1})
	newPool(t, nil, pool.Config{Backlog: pool.Unlimited, Overflow: pool.DropOldest, Lanes: 1})
	newPool(t, nil, pool.Config{Lanes: 4096})
}

// TestNegativeTimeoutIsRefused checks that the timeout of a task is refused as that of the pool
// is.
func TestNegativeTimeoutIsRefused(t *testing.T) {
	var h pool.Handlers
	pool.Register(&h, "x", double, pool.TaskOptions{Timeout: -1})
	p, err := pool.New(&h, pool.Config{Lanes: 1, Timeout: time.Second})
	if err == nil {
		p.Close()
		t.Error("New takes a task with a negative Timeout, which turns Config.Timeout off")
	}
}

// TestDefaults checks that the zero Config is as many lanes as processors. The lanes are
// goroutines of which each runs one call at a time, with the documented numbers. K-065, K-105,
// K-127, K-129.
func TestDefaults(t *testing.T) {
	if pool.DefaultAbortCapacity != 258 || pool.DefaultBacklog != 1024 {
		t.Error("the defaults have changed")
	}
	for _, tc := range []struct {
		c      pool.Config
		lanes  int
		inline bool
	}{
		{pool.Config{}, gomaxprocs(), false},
		{pool.Config{Lanes: 1}, 1, false},
		{pool.Config{Lanes: 5}, 5, false},
		{pool.Config{Lanes: 5, Inline: &pool.Inline{}}, 6, true},
		{inlineOnly(), 1, true},
	} {
		p := newPool(t, nil, tc.c)
		lanes := p.Lanes()
		if len(lanes) != tc.lanes {
			t.Errorf("%d lanes, want %d", len(lanes), tc.lanes)
		}
		n := 0
		for i, l := range lanes {
			if l.Inline {
				n++
			} else if l.Lane != i {
				t.Errorf("lane %d has number %d", i, l.Lane)
			}
		}
		if n > 1 || n == 1 != tc.inline {
			t.Errorf("%d inline lanes", n)
		}
	}
}

// TestCallsRefuseNilContext checks that a nil context is refused with a panic that names it.
// The refusal comes before the pool has the call.
func TestCallsRefuseNilContext(t *testing.T) {
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
		ctx, cancel := context.WithTimeout(bg, patience.Limit)
		must(t, p.Shutdown(ctx))
		cancel()
		balanced(t, p)
	}
}

// TestWaitRefusesNilContext checks that Wait says what was misused.
func TestWaitRefusesNilContext(t *testing.T) {
	g, f, _ := gated(t, pool.Config{Lanes: 1})
	fu := f.Go(bg, 1)
	g.entered(t, 1)
	var none context.Context
	if v := fmt.Sprint(panicOf(func() { fu.Wait(none) })); v != "pool: nil context" {
		t.Errorf("Wait panics with %q", v)
	}
}

// TestPoolRefusesNilContext checks that a call without a context panics with a text that says
// so. It takes no effect.
func TestPoolRefusesNilContext(t *testing.T) {
	var h pool.Handlers
	p := newPool(t, &h, pool.Config{Lanes: 1})
	var none context.Context
	for name, f := range map[string]func(){
		"Ping":        func() { _ = p.Ping(none, 0) },
		"Acquire":     func() { _, _ = p.Acquire(none) },
		"AcquireLane": func() { _, _ = p.AcquireLane(none, 0) },
		"Resize":      func() { _ = p.Resize(none, 2) },
		"Wait":        func() { _ = p.Wait(none) },
		"Shutdown":    func() { _ = p.Shutdown(none) },
		"Terminate":   func() { _, _ = p.Terminate(none) },
	} {
		if v := panicOf(f); v != "pool: nil context" {
			t.Errorf("%s panics with %v", name, v)
		}
	}
	if len(p.Lanes()) != 1 || p.Metrics().Status != "open" {
		t.Errorf("%d lanes, and the pool is %s", len(p.Lanes()), p.Metrics().Status)
	}
	balanced(t, p)
}

// emptyContext is one that does not work.
type emptyContext struct{ context.Context }

// TestBrokenContextCountsNoCall checks that a context that panics does so before the pool has
// counted the call.
func TestBrokenContextCountsNoCall(t *testing.T) {
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

// panickyContext is a context that can end, and of which one method panics.
type panickyContext struct {
	context.Context
	method string
}

func (x panickyContext) check(method string) {
	if x.method == method {
		panic("broken " + method)
	}
}

func (x panickyContext) Value(key any) any {
	x.check("Value")
	return x.Context.Value(key)
}

func (x panickyContext) Deadline() (time.Time, bool) {
	x.check("Deadline")
	return x.Context.Deadline()
}

func (x panickyContext) Err() error {
	x.check("Err")
	return x.Context.Err()
}

// panickyAfter is a context whose AfterFunc, or the function that this returns, panics. It hides the context below, for
// which package context would not call AfterFunc.
type panickyAfter struct {
	context.Context
	method string
}

func (panickyAfter) Value(any) any { return nil }

func (x panickyAfter) AfterFunc(func()) (stop func() bool) {
	if x.method == "AfterFunc" {
		panic("broken AfterFunc")
	}
	return func() bool { panic("broken stop") }
}

// TestPanickyContextLosesNothing checks that a call whose context panics ends, and that its lane, its
// permit and its abort slot are free afterwards. A call that had them for ever would stop the lane.
func TestPanickyContextLosesNothing(t *testing.T) {
	inline := &pool.Inline{DispatchThreshold: 1, Position: pool.First}
	for lanes, c := range map[string]pool.Config{
		"goroutine":    {Lanes: 1, AbortCapacity: 1},
		"inline":       {Lanes: pool.NoLanes, AbortCapacity: 1, Inline: inline},
		"caller runs":  {Lanes: 1, AbortCapacity: 1, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns},
		"hard limit":   {Lanes: 1, AbortCapacity: 1, HardLimit: time.Hour},
		"with timeout": {Lanes: 1, AbortCapacity: 1, Timeout: time.Hour},
	} {
		for _, method := range []string{"Value", "Deadline", "Err", "AfterFunc", "stop"} {
			for _, o := range []pool.TaskOptions{{}, {Abortable: true}, {Prompt: true}, {Remote: true}} {
				t.Run(fmt.Sprint(lanes, "/", method, "/", o), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { panickyCalls(t, c, method, o) })
				})
			}
		}
	}
}

// panickyCalls makes calls with a context whose method panics.
func panickyCalls(t *testing.T, c pool.Config, method string, o pool.TaskOptions) {
	t.Helper()
	var h pool.Handlers
	f := pool.Register(&h, "double", func(ctx context.Context, n int) (int, error) {
		ctx.Done() // its end is that of a context of package context then
		return double(ctx, n)
	}, o)
	p, err := pool.New(&h, c)
	must(t, err)
	defer p.Close()
	live, cancel := context.WithCancel(bg)
	defer cancel()
	var ctx context.Context = panickyContext{live, method}
	if method == "AfterFunc" || method == "stop" {
		ctx = panickyAfter{live, method}
	}
	long, stop := context.WithTimeout(bg, time.Hour)
	defer stop()
	for name, call := range map[string]func(){
		"Call": func() { f.Call(ctx, 1) },
		"Go": func() {
			fu := f.Go(ctx, 1)
			p.RunInline(1)
			fu.Wait(long)
		},
		"After": func() {
			fu := f.After(ctx, f.Go(bg, 1))
			p.RunInline(2)
			fu.Wait(long)
		},
	} {
		panicOf(call)
		p.RunInline(9)
		if err := p.Wait(long); err != nil {
			t.Fatalf("after %s: Wait = %v: %+v", name, err, p.Metrics())
		}
		if r, err := f.Call(long, 2); r != 4 || err != nil {
			t.Fatalf("after %s: the next call returns %d, %v", name, r, err)
		}
	}
}

// onceContext is a context whose Done panics when it is called again.
type onceContext struct {
	context.Context
	called *bool
}

func (x onceContext) Done() <-chan struct{} {
	if *x.called {
		panic("broken Done")
	}
	*x.called = true
	return x.Context.Done()
}

// TestPanickyContextGetsNoLease checks that no lane is leased for a goroutine whose wait for it has ended by a
// panic of its context.
func TestPanickyContextGetsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, new(pool.Handlers), pool.Config{Lanes: 1})
		l, err := p.Acquire(bg)
		must(t, err)
		live, cancel := context.WithCancel(bg)
		defer cancel()
		if panicOf(func() { p.Acquire(onceContext{live, new(bool)}) }) == nil {
			t.Error("no panic")
		}
		l.Release()
		long, stop := context.WithTimeout(bg, time.Hour)
		defer stop()
		l, err = p.Acquire(long)
		must(t, err)
		l.Release()
	})
}

// TestPanickyContextIsRefusedWhileThePoolDrains checks that a pool that shuts down refuses a call
// whose context panics when it is asked for the handler of the call, and does not count it.
func TestPanickyContextIsRefusedWhileThePoolDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		open := make(chan struct{})
		hold := pool.Register(&h, "hold", func(context.Context, int) (int, error) { <-open; return 0, nil })
		p, err := pool.New(&h, pool.Config{Lanes: 2})
		must(t, err)
		defer p.Close()
		held := hold.Go(bg, 0)
		synctest.Wait()
		over := make(chan error, 1)
		go func() { over <- p.Shutdown(bg) }()
		synctest.Wait()
		ctx := panickyContext{bg, "Value"}
		_, err = f.Call(ctx, 1)
		mustBe(t, err, pool.ErrPoolShutdown)
		mustBe(t, p.Ping(ctx, 1), pool.ErrPoolShutdown)
		close(open)
		_, err = held.Wait(bg)
		must(t, err)
		must(t, <-over)
	})
}

// textlessError is the value of a panic whose text panics.
type textlessError struct{}

func (textlessError) Error() string { panic(textlessError{}) }

// TestPanicWithoutTextEndsTheCall checks that a call ends whose handler panics with a value that has
// no text. The error then has the type of the value.
func TestPanicWithoutTextEndsTheCall(t *testing.T) {
	for name, c := range map[string]pool.Config{"goroutine": {Lanes: 1}, "inline": {Lanes: pool.NoLanes, Inline: &pool.Inline{}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h pool.Handlers
				f := pool.Register(&h, "panics", func(context.Context, int) (int, error) { panic(textlessError{}) })
				newPool(t, &h, c)
				ctx, cancel := context.WithTimeout(bg, time.Hour)
				defer cancel()
				fu := f.Go(ctx, 1)
				var remote *pool.RemoteError
				if _, err := fu.Wait(bg); !errors.As(err, &remote) || remote.Message != "pool_test.textlessError" {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// exitContext is a context whose Deadline ends the goroutine.
type exitContext struct{ context.Context }

func (exitContext) Deadline() (time.Time, bool) { runtime.Goexit(); return time.Time{}, false }

// TestPingRunsNoCodeOfTheContext checks that the lane answers a ping without a method of the context of
// its caller. One that ends the goroutine would take the pick with it.
func TestPingRunsNoCodeOfTheContext(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	must(t, p.Ping(exitContext{bg}, 0))
	if r, err := f.Call(bg, 2); r != 4 || err != nil {
		t.Errorf("Call = %d, %v", r, err)
	}
}

// panickyError is an error whose Unwrap panics for a nil pointer.
type panickyError struct{ inner error }

func (*panickyError) Error() string   { return "bad cause" }
func (e *panickyError) Unwrap() error { return e.inner }

// TestPanickyCauseEndsTheCall checks that a call ends with a cause whose methods panic, and that its
// lane is free when the handler has returned. A panic between the claim and the settle would leave
// the call without an end, and Close would wait for that end for ever.
func TestPanickyCauseEndsTheCall(t *testing.T) {
	for name, end := range map[string]func(p *pool.Pool, fu *pool.Future[int], id pool.LaneID, cancel context.CancelCauseFunc){
		"Abort": func(_ *pool.Pool, fu *pool.Future[int], _ pool.LaneID, _ context.CancelCauseFunc) {
			fu.Abort((*panickyError)(nil))
		},
		"Discard": func(p *pool.Pool, _ *pool.Future[int], id pool.LaneID, _ context.CancelCauseFunc) {
			_ = p.Discard(id, (*panickyError)(nil))
		},
		"context": func(_ *pool.Pool, _ *pool.Future[int], _ pool.LaneID, cancel context.CancelCauseFunc) {
			cancel((*panickyError)(nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h pool.Handlers
				open := make(chan struct{})
				hold := pool.Register(&h, "hold", func(context.Context, int) (int, error) { <-open; return 0, nil })
				p, err := pool.New(&h, pool.Config{Lanes: 1})
				must(t, err)
				defer p.Close()
				ctx, cancel := context.WithCancelCause(bg)
				defer cancel(nil)
				fu := hold.Go(ctx, 0)
				synctest.Wait()
				if v := panicOf(func() { end(p, fu, p.Metrics().Lanes[0].ID, cancel) }); v != nil {
					t.Errorf("the end of the call panics with %v", v)
				}
				if _, err := fu.Wait(bg); err == nil || err.Error() != "bad cause" {
					t.Errorf("the outcome is %v", err)
				}
				close(open)
				lease, err := p.Acquire(within(t))
				must(t, err)
				lease.Release()
			})
		})
	}
}

// TestAfterRefusesNilFuture checks that After of a nil future is refused before the pool has
// counted the call.
func TestAfterRefusesNilFuture(t *testing.T) {
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

// TestMetricsJSON checks that the names of the snapshot are those that are documented.
func TestMetricsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 1, Inline: &pool.Inline{}})
		must(t, err)
		f.Call(bg, 1)
		time.Sleep(time.Second)
		data, err := json.Marshal(p.Metrics())
		must(t, err)
		var got map[string]any
		must(t, json.Unmarshal(data, &got))
		for name, want := range map[string]any{
			"waiting": 0.0, "backlog": 0.0, "inFlight": 0.0, "accepted": 1.0, "ended": 1.0, "staleResponses": 0.0, "abandoned": 0.0,
			"detached": 0.0, "paused": false, "status": "open",
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		lanes := got["lanes"].([]any)
		first := lanes[0].(map[string]any)
		for name, want := range map[string]any{
			"lane": 0.0, "backlog": 0.0, "inFlight": 0.0, "accepted": 1.0, "ended": 1.0, "direct": 1.0, "drainsScheduled": 0.0,
			"staleResponses": 0.0, "abandoned": 0.0,
		} {
			if first[name] != want {
				t.Errorf("of a lane, %s is %v, want %v", name, first[name], want)
			}
		}
		if lanes[1].(map[string]any)["inline"] != true {
			t.Error("the inline lane does not say so")
		}
		p.Terminate(bg)
		if s := p.Metrics().Status; s != "closed" {
			t.Errorf("the status is %s", s)
		}
	})
}
