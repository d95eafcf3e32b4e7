package pool_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// everyWay is how a call may come to its handler. It comes on the goroutine of its caller, by a
// worker, on a lane with several permits, or on the inline lane.
var everyWay = []struct {
	name   string
	config pool.Config
	opts   pool.TaskOptions
}{
	{"direct", pool.Config{Lanes: 1}, pool.TaskOptions{}},
	{"remote", pool.Config{Lanes: 1}, pool.TaskOptions{Remote: true}},
	{"abortable", pool.Config{Lanes: 1}, pool.TaskOptions{Abortable: true}},
	{"abortable remote", pool.Config{Lanes: 2}, pool.TaskOptions{Abortable: true, Remote: true}},
	{"timeout", pool.Config{Lanes: 1, Timeout: time.Hour}, pool.TaskOptions{}},
	{"hard limit", pool.Config{Lanes: 1, HardLimit: time.Hour}, pool.TaskOptions{}},
	{"permits", pool.Config{Lanes: 1, Concurrency: 3}, pool.TaskOptions{}},
	{"threads", pool.Config{Lanes: 1, LockOSThread: true}, pool.TaskOptions{Remote: true}},
	{"inline", inlineOnly(), pool.TaskOptions{Remote: true}},
}

// inEveryWay runs a test for each of them.
func inEveryWay(t *testing.T, test func(t *testing.T, c pool.Config, o pool.TaskOptions)) {
	t.Helper()
	for _, way := range everyWay {
		t.Run(way.name, func(t *testing.T) { test(t, way.config, way.opts) })
	}
}

// TestCall checks that a call gives its handler the argument and its caller the result. K-002,
// C-036.
func TestCall(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		add := pool.Register(&h, "add", func(_ context.Context, a [2]int) (int, error) { return a[0] + a[1], nil }, o)
		p := newPool(t, &h, c)
		for i := range 100 {
			if v, err := add.Call(bg, [2]int{i, 2}); v != i+2 || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
			if v, err := add.Call(within(t), [2]int{i, 3}); v != i+3 || err != nil {
				t.Fatalf("Call with a context that may end = %d, %v", v, err)
			}
			if v, err := add.Go(bg, [2]int{i, 4}).Wait(bg); v != i+4 || err != nil {
				t.Fatalf("Wait = %d, %v", v, err)
			}
			v, err := p.RunTask(bg, "add", [2]int{i, 5})
			if v != i+5 || err != nil {
				t.Fatalf("RunTask = %v, %v", v, err)
			}
		}
		balanced(t, p)
		if m := p.Metrics(); m.Accepted != 400 {
			t.Errorf("%d calls were accepted", m.Accepted)
		}
		must(t, p.Shutdown(within(t)))
	})
}

// TestDirectCallTakesAPlaceOfOthersOnly checks that a call on the goroutine of its caller takes
// a place of a given scheduler. The bound of that scheduler is a promise. The call takes no
// place of the scheduler of the pool.
func TestDirectCallTakesAPlaceOfOthersOnly(t *testing.T) {
	for i := range 4 {
		given := i%2 == 1
		var h pool.Handlers
		var p *pool.Pool
		held := pool.Register(&h, "held", func(context.Context, int) (int, error) { return p.Scheduler().Stats().Held, nil })
		c := pool.Config{Lanes: 1, Concurrency: 1 + i/2*2}
		if given {
			c.Scheduler = newScheduler(t, sched.Config{MaxWorkers: 1})
		}
		p = newPool(t, &h, c)
		want := 0
		if given {
			want = 1
		}
		if n, err := held.Call(bg, 0); n != want || err != nil {
			t.Errorf("%d places are held, %v; want %d", n, err, want)
		}
		if n := p.Lanes()[0].Direct; n != 1 {
			t.Errorf("%d calls ran on their callers", n)
		}
		balanced(t, p)
	}
}

// TestDirectCallsLetWorkersRun checks that a caller that runs one call after another yields its
// processor. A worker that was woken for a call on the same processor therefore runs soon.
func TestDirectCallsLetWorkersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	remote := pool.Register(&h, "remote", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 2})
	for range 20 {
		fu := remote.Go(bg, 1)
		n := 0
		for ; !settled(fu); n++ {
			_, err := f.Call(bg, 1)
			must(t, err)
		}
		if n > 1000 {
			t.Fatalf("%d calls came before the one of the worker", n)
		}
	}
	balanced(t, p)
}

// myError is an error with a type of its own.
type myError struct{ code int }

func (e *myError) Error() string { return fmt.Sprintf("code %d", e.code) }

// nothing is a nil value that some handlers panic with.
var nothing any

// TestFailures checks that a handler that does not return a result gives an error. The error
// has the text, type, cause and stack of the failure. K-039, K-117, C-010, C-011, C-037.
func TestFailures(t *testing.T) {
	sentinel := errors.New("a sentinel")
	var nilMap map[string]int
	for _, tc := range []struct {
		name    string
		fn      func() error
		message string
		kind    string
		is      error
		stack   bool
	}{
		{"error", func() error { return sentinel }, "a sentinel", "*errors.errorString", sentinel, false},
		{"wrapped", func() error { return fmt.Errorf("while at it: %w", sentinel) }, "while at it: a sentinel", "*fmt.wrapError", sentinel, false},
		{"own type", func() error { return &myError{7} }, "code 7", "*pool_test.myError", nil, false},
		{"empty", func() error { return errors.New("") }, "", "*errors.errorString", nil, false},
		{"context", func() error { return context.Canceled }, "context canceled", "*errors.errorString", context.Canceled, false},
		{"panic", func() error { panic("boom") }, "boom", "panic", nil, true},
		{"panic with a number", func() error { panic(42) }, "42", "panic", nil, true},
		{"panic with an error", func() error { panic(sentinel) }, "a sentinel", "panic", sentinel, true},
		{"runtime error", func() error { nilMap["x"] = 1; return nil }, "assignment to entry in nil map", "panic", nil, true},
		{"panic(nil)", func() error { panic(nothing) }, new(runtime.PanicNilError).Error(), "panic", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
				t.Helper()
				var h pool.Handlers
				f := pool.Register(&h, "fails", func(context.Context, int) (int, error) { return 5, failsHere(tc.fn) }, o)
				p := newPool(t, &h, c)
				_, byCall := f.Call(bg, 1)
				_, byGo := f.Go(bg, 1).Wait(bg)
				_, byName := p.RunTask(bg, "fails", 1)
				for _, err := range []error{byCall, byGo, byName} {
					var remote *pool.RemoteError
					if !errors.As(err, &remote) {
						t.Fatalf("%T: %v", err, err)
					}
					text := tc.message
					if tc.kind == "panic" {
						text = `panic in task "fails": ` + text
					}
					if err.Error() != text || remote.Message != tc.message || remote.Type != tc.kind {
						t.Errorf("%q, a %q, want %q, a %q", err, remote.Type, text, tc.kind)
					}
					if strings.Contains(remote.Stack, "failsHere") != tc.stack {
						t.Errorf("the stack is %q", remote.Stack)
					}
					if tc.is != nil {
						mustBe(t, err, tc.is)
					}
					var my *myError
					if errors.As(err, &my) != (tc.name == "own type") {
						t.Errorf("errors.As: %v", my)
					}
					mustNotBe(t, err, pool.ErrNotStarted, pool.ErrClosed)
				}
				if v, err := f.Call(bg, 1); v != 0 && err != nil && tc.stack {
					t.Errorf("a panic gives %d", v)
				}
				balanced(t, p)
			})
		})
	}
}

// failsHere is a name to look for in stacks.
func failsHere(fn func() error) error { return fn() }

// TestGoexit checks that a handler that ends its goroutine ends its call only. The lane goes
// on. K-117, C-010.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 1, Concurrency: 2}, {Lanes: 1, HardLimit: time.Hour}} {
			var h pool.Handlers
			f := pool.Register(&h, "exits", func(_ context.Context, n int) (int, error) {
				if n%2 == 0 {
					runtime.Goexit()
				}
				return n, nil
			}, pool.TaskOptions{Remote: true})
			direct := pool.Register(&h, "direct", func(context.Context, int) (int, error) {
				runtime.Goexit()
				return 0, nil
			})
			p := newPool(t, &h, c)
			for i := range 100 {
				v, err := f.Call(bg, i)
				if i%2 == 1 {
					if v != i || err != nil {
						t.Fatalf("Call = %d, %v", v, err)
					}
					continue
				}
				mustBe(t, err, pool.ErrGoexit)
				var remote *pool.RemoteError
				if !errors.As(err, &remote) || remote.Type != "goexit" || !strings.Contains(remote.Stack, "Goexit") {
					t.Fatalf("got %#v, want a RemoteError of type goexit with its stack", err)
				}
			}
			ends(t, "a caller that ends with its handler", func() { _, _ = direct.Call(bg, 1) })
			if v, err := f.Call(within(t), 7); v != 7 || err != nil {
				t.Fatalf("afterwards: %d, %v", v, err)
			}
			balanced(t, p)
		}
	})
}

// TestGoReturnsAtOnce checks that Go returns before the handler has begun. The lane may be
// busy. Go starts no goroutine. K-034, K-070, K-071, K-072, C-017.
func TestGoReturnsAtOnce(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // NumGoroutine counts ended ones during a collection
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		fs := []*pool.Future[int]{f.Go(bg, 0)}
		g.entered(t, 1)
		before := runtime.NumGoroutine()
		for i := range 200 {
			fs = append(fs, f.Go(bg, i+1))
		}
		if n := runtime.NumGoroutine(); n > before+2 { // workers that look around
			t.Errorf("%d goroutines, before the calls there were %d", n, before)
		}
		g.none(t)
		for i, fu := range fs {
			if settled(fu) {
				t.Fatalf("call %d has ended", i)
			}
		}
		g.release()
		echoed(t, fs)
		balanced(t, p)
	})
}

// TestFuture checks that the outcome is there for each goroutine as often as it asks. A Wait
// that gives up leaves the call alone. K-033, K-071, C-019.
func TestFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, _ := gated(t, pool.Config{Lanes: 1})
		fu := f.Go(bg, 3)
		g.entered(t, 1)
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(why)
		if v, err := fu.Wait(ctx); v != 0 || !errors.Is(err, why) {
			t.Fatalf("Wait = %d, %v", v, err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if v, err := fu.Wait(bg); v != 3 || err != nil {
					t.Errorf("Wait = %d, %v", v, err)
				}
				<-fu.Done()
			})
		}
		g.release()
		ends(t, "the waits", wg.Wait)
		if v, err := fu.Wait(ctx); v != 3 || err != nil {
			t.Fatalf("Wait for what is there = %d, %v", v, err)
		}
		fu.Abort(why)
		if v, err := fu.Wait(bg); v != 3 || err != nil {
			t.Fatalf("after a late Abort: %d, %v", v, err)
		}
	})
}

// TestAfter checks that a call whose argument is a future begins when that argument is there.
// When the future fails, the call fails unrun. K-066.
func TestAfter(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	defer g.release()
	var ran atomic.Int64
	first := pool.Register(&h, "first", g.enter)
	fails := pool.Register(&h, "fails", func(context.Context, int) (int, error) { return 0, &myError{1} })
	then := pool.Register(&h, "then", func(_ context.Context, n int) (int, error) { ran.Add(1); return n + 1, nil })
	p := newPool(t, &h, pool.Config{Lanes: 2})
	dep := first.Go(bg, 5)
	next := then.After(bg, dep)
	last := then.After(bg, next)
	g.entered(t, 1)
	if settled(next) || ran.Load() != 0 {
		t.Fatal("it did not wait")
	}
	g.release()
	if v := result(t, last); v != 7 {
		t.Fatal(v)
	}
	if v := result(t, then.After(bg, last)); v != 8 {
		t.Fatal(v)
	}
	ran.Store(0)
	failed := fails.Go(bg, 1)
	for range 2 { // while it runs, and when it is over
		_, err := wait(t, then.After(bg, failed))
		var my *myError
		if !errors.As(err, &my) || err.Error() != "code 1; the call has not started" {
			t.Fatalf("the call fails with %v", err)
		}
		mustBe(t, err, pool.ErrNotStarted)
		wait(t, failed)
	}
	if ran.Load() != 0 {
		t.Fatal("a call ran without its argument")
	}
	balanced(t, p)
}

// TestAfterAborted checks that a call that waits for its argument ends when it is aborted or
// when its context ends. It also ends with the pool.
func TestAfterAborted(t *testing.T) {
	var h, other pool.Handlers
	g := newGate()
	never := pool.Register(&other, "gate", g.enter, pool.TaskOptions{Remote: true})
	then := pool.Register(&h, "then", double)
	newPool(t, &other, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	dep := never.Go(bg, 1)
	aborted := then.After(bg, dep)
	aborted.Abort(nil)
	_, err := wait(t, aborted)
	mustBe(t, err, pool.ErrAborted, pool.ErrNotStarted)
	ctx, cancel := context.WithCancel(bg)
	ended := then.After(ctx, dep)
	cancel()
	_, err = wait(t, ended)
	mustBe(t, err, context.Canceled, pool.ErrNotStarted)
	closed := then.After(bg, dep)
	must(t, p.Close())
	_, err = wait(t, closed)
	mustBe(t, err, pool.ErrThreadClosed, pool.ErrNotStarted)
	_, err = wait(t, then.After(bg, dep))
	mustBe(t, err, pool.ErrPoolShutdown, pool.ErrNotStarted)
	if n, err := p.Terminate(within(t)); n != 0 || err != nil {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	balanced(t, p)
}

// TestUnbound checks that a function without a pool fails with an error. A pool may have a nil
// table.
func TestUnbound(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	_, err := f.Call(bg, 1)
	mustBe(t, err, pool.ErrUnbound, pool.ErrNotStarted)
	_, err = wait(t, f.Go(bg, 1))
	mustBe(t, err, pool.ErrUnbound, pool.ErrNotStarted)
	newPool(t, nil, pool.Config{Lanes: 1})
}

// TestFIFO checks that the calls of one caller begin in their order in a pool with one lane.
// They find the lane free, wait in the backlog, or are more than that has space for. The law
// holds through pauses and beside other callers. K-068, K-131, C-023.
func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h pool.Handlers
		var mu sync.Mutex
		last := map[int]int{} // by caller
		var bad []string
		type arg struct{ caller, seq int }
		f := pool.Register(&h, "order", func(_ context.Context, a arg) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if last[a.caller] != a.seq-1 {
				bad = append(bad, fmt.Sprintf("call %d of caller %d comes after %d", a.seq, a.caller, last[a.caller]))
			}
			last[a.caller] = a.seq
			return a.seq, nil
		}, pool.TaskOptions{Remote: rapid.Bool().Draw(t, "remote")})
		c := pool.Config{Lanes: 1, Backlog: rapid.SampledFrom([]int{pool.NoBacklog, 1, 2, 40, pool.Unlimited}).Draw(t, "backlog")}
		p, err := pool.New(&h, c)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		callers := rapid.IntRange(1, 4).Draw(t, "callers")
		calls := rapid.IntRange(1, 200).Draw(t, "calls")
		mixed := rapid.Bool().Draw(t, "some wait")
		paused := rapid.Bool().Draw(t, "paused at first")
		if paused {
			p.Pause()
		}
		var wg sync.WaitGroup
		for caller := range callers {
			wg.Go(func() {
				for seq := range calls {
					fu := f.Go(bg, arg{caller, seq + 1})
					if mixed && seq%7 == caller {
						if _, err := fu.Wait(bg); err != nil {
							panic(err)
						}
						if _, err := f.Call(bg, arg{caller + 100, last100(&mu, last, caller)}); err != nil {
							panic(err)
						}
					}
				}
			})
		}
		if paused {
			p.Resume()
		}
		wg.Wait()
		if err := p.Wait(bg); err != nil {
			t.Fatal(err)
		}
		if len(bad) > 0 {
			t.Fatal(bad)
		}
		for caller := range callers {
			if last[caller] != calls {
				t.Fatalf("%d of %d calls of caller %d have run", last[caller], calls, caller)
			}
		}
	})
}

// last100 returns the number that the next direct call of a caller has.
func last100(mu *sync.Mutex, last map[int]int, caller int) int {
	mu.Lock()
	defer mu.Unlock()
	return last[caller+100] + 1
}

// TestCounters checks the counts at every moment. The calls that wait and those in flight add
// up to the calls that were accepted and have not ended. A pool shows the calls that wait for
// any lane. A lane shows those that wait for it, and its calls in flight. K-130.
func TestCounters(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	for i := range 200 {
		f.Go(bg, i)
		m := p.Metrics()
		sums(t, m)
		if m.Accepted != uint64(i+1) || m.Ended != 0 || m.InFlight != min(i+1, 2) || m.Waiting != max(i-1, 0) {
			t.Fatalf("after %d calls: %+v", i+1, m)
		}
	}
	for i := range 150 {
		g.open <- struct{}{}
		until(t, "a call to end", func() bool { return p.Metrics().Ended == uint64(i+1) })
		sums(t, p.Metrics())
	}
	g.release()
	balanced(t, p)
}

// TestCountersOfALease checks that the calls of a lease that wait are in the backlog of its
// lane. They are in no other count of calls that wait. K-130.
func TestCountersOfALease(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	l, err := p.AcquireLane(within(t), 1)
	must(t, err)
	for i := range 50 {
		pool.GoOn(bg, l, f, i)
		m := p.Metrics()
		sums(t, m)
		if m.Waiting != 0 || m.Backlog != i || m.Lanes[1].Backlog != i || m.Lanes[1].InFlight != 1 || m.Lanes[0].Accepted != 0 {
			t.Fatalf("after %d calls: %+v", i+1, m)
		}
	}
	for i := range 49 {
		g.open <- struct{}{}
		g.entered(t, 1)
		until(t, "the next call to begin", func() bool { return p.Metrics().Backlog == 48-i })
		sums(t, p.Metrics())
	}
	g.release()
	balanced(t, p)
	l.Release()
}

// TestOtherLanesGoOn checks that a handler that never returns keeps its lane and no other. The
// law holds even where there is one worker. K-125.
func TestOtherLanesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g := newGate()
		f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
		quick := pool.Register(&h, "quick", double, pool.TaskOptions{Remote: true})
		s := newScheduler(t, sched.Config{MaxWorkers: 1, StallAfter: time.Millisecond})
		p := newPool(t, &h, pool.Config{Lanes: 3, Scheduler: s})
		t.Cleanup(g.release)
		stuck := f.Go(bg, 0)
		g.entered(t, 1)
		for i, info := range p.Lanes() {
			if info.InFlight == 1 {
				continue // that is where it stands
			}
			must(t, p.Ping(within(t), i))
			l, err := p.AcquireLane(within(t), i)
			must(t, err)
			fu := pool.GoOn(bg, l, quick, i)
			if v := result(t, fu); v != 2*i {
				t.Fatalf("lane %d: %d", i, v)
			}
			l.Release()
		}
		if settled(stuck) {
			t.Fatal("it has returned")
		}
		g.release()
	})
}

// TestCallsBesideComputation checks that callers on a processor that others compute on do not
// wait for the end of a time slice in each call.
func TestCallsBesideComputation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	newPool(t, &h, pool.Config{Lanes: 1})
	var stop atomic.Bool
	slices := make(chan int, 1)
	go func() {
		n := 0
		for ; !stop.Load(); n++ {
			for began := time.Now(); time.Since(began) < 5*time.Millisecond; { // long, on any processor's count
			}
			runtime.Gosched()
		}
		slices <- n
	}()
	defer stop.Store(true)
	const calls = 2000
	for i := range calls {
		if v, err := f.Call(bg, i); v != 2*i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	stop.Store(true)
	if n := came(t, "the end of the computation", slices); n > calls/10 {
		t.Errorf("%d calls waited for %d time slices", calls, n)
	}
}

// TestConvoyEnds checks that a caller who had to wait for a lane runs its next call itself.
// With one processor it is the next to run when its first call has ended. This is therefore the
// usual case and not the only one.
func TestConvoyEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var h pool.Handlers
	g := newGate()
	gate := pool.Register(&h, "gate", g.enter)
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	t.Cleanup(g.release)
	const rounds = 100
	for i := range uint64(rounds) {
		gate.Go(bg, 0)
		g.entered(t, 1)
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = f.Call(bg, 1) // waits for the gate
			_, _ = f.Call(bg, 2)
		}()
		until(t, "the caller to wait", func() bool { return p.Metrics().Accepted == 3*i+2 })
		g.open <- struct{}{}
		came(t, "the end of the caller", over)
	}
	if n := p.Metrics().Lanes[0].Direct; n < rounds/2 {
		t.Errorf("%d of %d calls ran on the goroutine of their caller", n, rounds)
	}
}

// TestOnDone checks that each function of OnDone is called once after the outcome is there. It
// comes before or after the end, and any event may end the call.
func TestOnDone(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	for name, end := range map[string]func(fu *pool.Future[int]) error{
		"returns": func(*pool.Future[int]) error { g.open <- struct{}{}; return nil },
		"aborted": func(fu *pool.Future[int]) error {
			fu.Abort(nil)
			g.open <- struct{}{}
			return pool.ErrAborted
		},
	} {
		t.Run(name, func(t *testing.T) {
			fu := f.Go(bg, 7)
			g.entered(t, 1)
			calls := make(chan bool, 10)
			var times [4]atomic.Int32
			add := func(i int) {
				fu.OnDone(func() {
					times[i].Add(1)
					calls <- settled(fu)
				})
			}
			add(0)
			add(1)
			if n := len(calls); n != 0 {
				t.Fatalf("%d functions are called before the end", n)
			}
			want := end(fu)
			add(2)
			_, err := wait(t, fu)
			if want != nil {
				mustBe(t, err, want)
			} else {
				must(t, err)
			}
			add(3)
			for range times {
				if !came(t, "a function of OnDone", calls) {
					t.Error("a function is called before the outcome is there")
				}
			}
			for i := range times {
				if n := times[i].Load(); n != 1 {
					t.Errorf("function %d is called %d times", i, n)
				}
			}
		})
	}
	refused := make(chan struct{})
	must(t, p.Close())
	f.Go(bg, 1).OnDone(func() { close(refused) })
	came(t, "the function of a call that was refused", refused)
	if r := panicOf(func() { f.Go(bg, 1).OnDone(nil) }); r == nil {
		t.Error("OnDone(nil) does not panic")
	}
}
