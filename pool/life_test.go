package pool_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

var _ io.Closer = (*pool.Pool)(nil) // K-096

// TestPause: what is accepted during a pause starts after it, in order; what ran goes on.
// C-020, C-021, C-022, C-023.
func TestPause(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: concurrency})
		running := f.Go(bg, 0)
		g.entered(t, 1)
		p.Pause()
		p.Pause() // again
		if !p.Metrics().Paused {
			t.Error("Metrics says that the pool runs")
		}
		var fs []*pool.Future[int]
		for i := range 50 {
			fs = append(fs, f.Go(bg, i+1))
		}
		byCall := make(chan int)
		go func() {
			v, err := f.Call(bg, 100)
			if err != nil {
				t.Error(err)
			}
			byCall <- v
		}()
		until(t, "all calls", func() bool { return p.Metrics().Accepted == 52 })
		g.open <- struct{}{}
		if v := result(t, running); v != 0 {
			t.Fatal(v)
		}
		for range 200 {
			runtime.Gosched()
		}
		g.none(t)
		p.Resume()
		p.Resume() // again
		g.release()
		for i, fu := range fs {
			if v := result(t, fu); v != i+1 {
				t.Fatalf("call %d: %d", i+1, v)
			}
		}
		if v := came(t, "the call", byCall); v != 100 {
			t.Fatal(v)
		}
		if got := g.entered(t, 51); concurrency == 1 && !slices.IsSorted(got) {
			t.Errorf("they began in the order %v", got)
		}
		must(t, p.Wait(within(t)))
		balanced(t, p)
	}
}

// TestPauseOften: each call gets an answer while the pool is paused and resumed all the time.
func TestPauseOften(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 2}, {Lanes: 1, Concurrency: 2}, inlineOnly()} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, c)
		n := 2000
		if testing.Short() {
			n = 300
		}
		var done atomic.Bool
		toggled := make(chan struct{})
		go func() {
			defer close(toggled)
			for !done.Load() {
				p.Pause()
				runtime.Gosched()
				p.Resume()
				runtime.Gosched()
			}
		}()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for i := range n {
					if v, err := f.Call(bg, i); v != 2*i || err != nil {
						t.Errorf("Call = %d, %v", v, err)
					}
					if v, err := f.Go(bg, i).Wait(bg); v != 2*i || err != nil {
						t.Errorf("Wait = %d, %v", v, err)
					}
				}
			})
		}
		ends(t, "the callers", wg.Wait)
		done.Store(true)
		came(t, "the end of the toggling", toggled)
		must(t, p.Wait(within(t)))
		balanced(t, p)
	}
}

// TestWait: Wait returns when no call is queued or runs, in each goroutine that waits, and with
// the cause of its context. C-024.
func TestWait(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	must(t, p.Wait(bg)) // nothing was ever called
	for i := range 10 {
		f.Go(bg, i)
	}
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	cancel(why)
	mustBe(t, p.Wait(ctx), why)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if err := p.Wait(bg); err != nil {
				t.Error(err)
			}
			if m := p.Metrics(); m.Ended != 10 {
				t.Errorf("Wait returned when %d calls had ended", m.Ended)
			}
		})
	}
	g.release()
	ends(t, "the waits", wg.Wait)
	balanced(t, p)
}

// TestWaitPaused: Wait blocks while a paused pool has calls that wait. C-025, X-28.
func TestWaitPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{Lanes: 1})
		must(t, err)
		p.Pause()
		must(t, p.Wait(bg)) // nothing waits
		fu := f.Go(bg, 2)
		ctx, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		start := time.Now()
		mustBe(t, p.Wait(ctx), context.DeadlineExceeded)
		if d := time.Since(start); d != time.Hour {
			t.Errorf("it took %v", d)
		}
		var resumed time.Time
		time.AfterFunc(time.Minute, func() { resumed = time.Now(); p.Resume() })
		must(t, p.Wait(bg))
		if !time.Now().Equal(resumed) {
			t.Error("Wait did not return with Resume")
		}
		if v := result(t, fu); v != 4 {
			t.Fatal(v)
		}
		if n, err := p.Terminate(bg); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	})
}

// TestInsideHandlers: what would wait for its own handler says so, on every lane; Close
// may be called.
func TestInsideHandlers(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		var h pool.Handlers
		var p *pool.Pool
		f := pool.Register(&h, "inside", func(ctx context.Context, n int) (int, error) {
			if err := p.Wait(ctx); !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Wait = %v", err)
			}
			if err := p.Shutdown(ctx); !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Shutdown = %v", err)
			}
			if n, err := p.Terminate(ctx); n == 0 || !errors.Is(err, pool.ErrInHandler) {
				t.Errorf("Terminate = %d, %v", n, err)
			}
			return n, nil
		}, o)
		p = newPool(t, &h, c)
		if v, err := f.Call(within(t), 3); v != 3 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		if v, err := f.Go(bg, 4).Wait(within(t)); v != 4 || err != nil {
			t.Fatalf("Wait = %d, %v", v, err)
		}
		if s := p.Metrics().Status; s != "open" {
			t.Errorf("the pool is %s", s)
		}
	})
}

// TestShutdown: all that was accepted ends with its own result, also in a paused pool;
// new calls are refused from the start. K-098, K-099, K-100.
func TestShutdown(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for _, concurrency := range []int{1, 3} {
			g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
			if paused {
				p.Pause()
			}
			var fs []*pool.Future[int]
			for i := range 200 {
				fs = append(fs, f.Go(bg, i))
			}
			if !paused {
				g.entered(t, 1)
			}
			done := make(chan error)
			go func() { done <- p.Shutdown(within(t)) }()
			until(t, "the shutdown", func() bool { return p.Metrics().Status == "draining" })
			_, err := f.Call(bg, 1)
			mustBe(t, err, pool.ErrPoolShutdown, pool.ErrClosed, pool.ErrNotStarted)
			g.release()
			must(t, came(t, "Shutdown", done))
			for i, fu := range fs {
				if !settled(fu) {
					t.Fatalf("call %d has not ended", i)
				}
				if v := result(t, fu); v != i {
					t.Fatalf("call %d: %d", i, v)
				}
			}
			if s := p.Metrics().Status; s != "closed" {
				t.Errorf("the pool is %s", s)
			}
			balanced(t, p)
			must(t, p.Shutdown(bg)) // again
			must(t, p.Close())
		}
	}
}

// TestShutdownGivesUp: when its context ends, Shutdown closes the pool.
func TestShutdownGivesUp(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	running, queued := f.Go(bg, 0), f.Go(bg, 1)
	g.entered(t, 1)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	cancel(why)
	mustBe(t, p.Shutdown(ctx), why)
	_, err := wait(t, running)
	mustBe(t, err, pool.ErrThreadClosed)
	mustNotBe(t, err, pool.ErrNotStarted)
	_, err = wait(t, queued)
	mustBe(t, err, pool.ErrThreadClosed, pool.ErrNotStarted)
	g.none(t)
}

// TestClose: Close ends at once what has not finished, with the exact text. K-096,
// K-101, C-027.
func TestClose(t *testing.T) {
	for _, tc := range []struct {
		name   string
		config pool.Config
		runs   int // calls whose handlers are entered
	}{
		{"lane", pool.Config{Lanes: 1}, 1},
		{"lanes", pool.Config{Lanes: 3}, 3},
		{"permits", pool.Config{Lanes: 1, Concurrency: 4}, 4},
		{"limit", pool.Config{Lanes: 1, HardLimit: time.Hour}, 1},
		{"paused", pool.Config{Lanes: 2}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, f, p := gated(t, tc.config)
			if tc.runs == 0 {
				p.Pause()
			}
			var fs []*pool.Future[int]
			for i := range 100 {
				fs = append(fs, f.Go(bg, i))
			}
			begun := g.entered(t, tc.runs)
			must(t, p.Close())
			for i, fu := range fs {
				if !settled(fu) {
					t.Fatalf("call %d has not ended when Close returns", i)
				}
				_, err := fu.Wait(bg)
				mustBe(t, err, pool.ErrThreadClosed, pool.ErrClosed)
				if err.Error() != "Thread closed" {
					t.Errorf("the text is %q", err)
				}
				if errors.Is(err, pool.ErrNotStarted) == slices.Contains(begun, i) {
					t.Errorf("call %d began: %v", i, err)
				}
			}
			g.none(t)
			_, err := f.Call(bg, 1)
			mustBe(t, err, pool.ErrPoolShutdown, pool.ErrClosed, pool.ErrNotStarted)
			if err.Error() != "Pool is shut down" {
				t.Errorf("the text is %q", err)
			}
			_, err = wait(t, f.Go(bg, 1))
			mustBe(t, err, pool.ErrPoolShutdown, pool.ErrNotStarted)
			balanced(t, p)
			g.release()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Errorf("Terminate = %d, %v", n, err)
			}
			if st := p.Metrics().StaleResponses; st != uint64(tc.runs) {
				t.Errorf("%d late outcomes, want %d", st, tc.runs)
			}
		})
	}
}

// TestDeferredClose: a deferred Close ends the pool with its scope. K-097.
func TestDeferredClose(t *testing.T) {
	var f *pool.Func[int, int]
	func() {
		var h pool.Handlers
		f = pool.Register(&h, "double", double)
		p, err := pool.New(&h, pool.Config{})
		must(t, err)
		defer p.Close()
		if v, err := f.Call(bg, 2); v != 4 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}()
	_, err := f.Call(bg, 2)
	mustBe(t, err, pool.ErrClosed)
}

// TestDrainOnClose: with that option Close finishes first. K-100.
func TestDrainOnClose(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, DrainOnClose: true})
	var fs []*pool.Future[int]
	for i := range 50 {
		fs = append(fs, f.Go(bg, i))
	}
	done := make(chan error)
	go func() { done <- p.Close() }()
	g.entered(t, 1)
	g.release()
	must(t, came(t, "Close", done))
	for i, fu := range fs {
		if !settled(fu) || result(t, fu) != i {
			t.Fatalf("call %d was not finished", i)
		}
	}
}

// TestManyClosers: all goroutines that end a pool at the same time see its end. K-098, C-028.
func TestManyClosers(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	var fs []*pool.Future[int]
	for i := range 100 {
		fs = append(fs, f.Go(bg, i))
	}
	g.entered(t, 2)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range 100 {
		wg.Go(func() {
			<-start
			gone, cancel := context.WithCancel(bg)
			cancel()
			switch i % 3 {
			case 0:
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			case 1:
				if err := p.Shutdown(gone); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			default:
				if _, err := p.Terminate(gone); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
			if s := p.Metrics().Status; s != "closed" {
				t.Errorf("the pool is %s", s)
			}
			for i, fu := range fs {
				if !settled(fu) {
					t.Errorf("call %d has not ended", i)
				}
			}
		})
	}
	close(start)
	ends(t, "100 closers", wg.Wait)
	g.release()
	for range 2 {
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
	}
	balanced(t, p)
}

// TestTerminate: Terminate returns how many handlers are left, and waits for them. C-026,
// C-027, C-028, K-102.
func TestTerminate(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 2})
	f.Go(bg, 0)
	f.Go(bg, 1)
	g.entered(t, 2)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if n, err := p.Terminate(ctx); n != 2 || !errors.Is(err, context.Canceled) {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	g.open <- struct{}{}
	until(t, "one to return", func() bool { n, _ := p.Terminate(ctx); return n == 1 })
	g.release()
	if n, err := p.Terminate(within(t)); n != 0 || err != nil {
		t.Fatalf("Terminate = %d, %v", n, err)
	}
	if st := p.Scheduler().Stats(); st.Workers != 0 || st.Held != 0 {
		t.Errorf("the scheduler has %+v", st)
	}
}

// TestNothingIsLeft: pools leave no goroutine. K-102.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, way := range everyWay {
		for range 10 {
			var h pool.Handlers
			f := pool.Register(&h, "double", double, way.opts)
			fails := pool.Register(&h, "fails", func(context.Context, int) (int, error) { panic("boom") }, way.opts)
			p, err := pool.New(&h, way.config)
			must(t, err)
			ctx, cancel := context.WithCancel(bg)
			for i := range 20 {
				f.Go(ctx, i)
				f.Call(ctx, i)
				fails.Call(ctx, i)
			}
			cancel()
			if n, err := p.Terminate(within(t)); n != 0 || err != nil {
				t.Fatalf("Terminate = %d, %v", n, err)
			}
		}
	}
	until(t, "all goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// TestResize: lanes come and go. A lane that is taken out finishes the call that it runs. The calls that wait
// run on the lanes that are left. K-127.
func TestResize(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	var booted []int
	p := newPool(t, &h, pool.Config{Lanes: 3, Bootstrap: func(_ context.Context, lane int) error {
		if lane == 5 {
			return errors.New("not that one")
		}
		booted = append(booted, lane)
		return nil
	}})
	t.Cleanup(g.release)
	if len(p.Lanes()) != 3 {
		t.Fatalf("%d lanes", len(p.Lanes()))
	}
	var fs []*pool.Future[int]
	for i := range 30 {
		fs = append(fs, f.Go(bg, i))
	}
	g.entered(t, 3)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	cancel(why)
	mustBe(t, p.Resize(ctx, 1), why)
	if len(p.Lanes()) != 1 || len(p.Metrics().Lanes) != 3 {
		t.Errorf("%d lanes, and %d in the metrics", len(p.Lanes()), len(p.Metrics().Lanes))
	}
	done := make(chan error)
	go func() { done <- p.Resize(within(t), 1) }()
	g.release()
	must(t, came(t, "Resize", done))
	for _, l := range p.Metrics().Lanes[1:] {
		if l.Accepted != l.Ended || l.Ended != 1 {
			t.Errorf("a lane that was taken out: %+v", l)
		}
	}
	for i, fu := range fs {
		if v := result(t, fu); v != i {
			t.Fatalf("call %d: %d", i, v)
		}
	}
	before := p.Metrics().Lanes
	for i := range 10 {
		if v, err := f.Call(bg, i); v != i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	for i, l := range p.Metrics().Lanes {
		if i > 0 && l.Accepted != before[i].Accepted {
			t.Errorf("lane %d got a call", i)
		}
	}
	must(t, p.Resize(bg, 5))
	before = p.Lanes()
	until(t, "each lane to have a call", func() bool {
		if v, err := f.Call(bg, 7); v != 7 || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		return !slices.ContainsFunc(p.Lanes(), func(l pool.LaneInfo) bool { return l.Accepted == before[l.Lane].Accepted })
	})
	for i, l := range p.Lanes() {
		if l.Lane != i {
			t.Errorf("lane %d: %+v", i, l)
		}
	}
	if !slices.Equal(booted, []int{0, 1, 2, 3, 4}) {
		t.Errorf("Bootstrap was called for %v", booted)
	}
	if err := p.Resize(bg, 6); err == nil || len(p.Lanes()) != 5 {
		t.Errorf("Resize with a Bootstrap that fails = %v, %d lanes", err, len(p.Lanes()))
	} else {
		var be *pool.BootstrapError
		if !errors.As(err, &be) || be.Lane != 5 {
			t.Errorf("Resize = %v", err)
		}
	}
	for _, n := range []int{0, -1, 4097} {
		if err := p.Resize(bg, n); err == nil {
			t.Errorf("Resize(%d) succeeds", n)
		}
	}
	must(t, p.Close())
	mustBe(t, p.Resize(bg, 2), pool.ErrPoolShutdown)
}

// TestResizeStartsWaitingCalls: a lane that Resize adds, or puts back, starts calls that wait at once, the
// oldest first. A lane that it takes out starts no more of them. K-127.
func TestResizeStartsWaitingCalls(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
		for i := range 20 * concurrency {
			f.Go(bg, i)
		}
		g.entered(t, 2*concurrency)
		gone, cancel := context.WithCancel(bg)
		cancel()
		mustBe(t, p.Resize(gone, 1), context.Canceled)
		ended := 0
		for p.Metrics().Lanes[1].InFlight > 0 { // any handler may return first
			g.open <- struct{}{}
			ended++
			until(t, "a call to end", func() bool { return p.Metrics().Ended == uint64(ended) })
		}
		g.entered(t, ended-concurrency) // the others have begun before
		g.none(t)
		if m := p.Metrics(); m.Lanes[1].Accepted != uint64(concurrency) || m.Lanes[0].InFlight != concurrency {
			t.Errorf("after Resize to one lane: %+v", m.Lanes)
		}
		must(t, p.Resize(within(t), 4))
		got := g.entered(t, 3*concurrency)
		g.none(t)
		slices.Sort(got)
		for i, n := range got {
			if n != ended+concurrency+i {
				t.Errorf("after Resize calls %v begin, want those from %d on", got, ended+concurrency)
				break
			}
		}
		for _, l := range p.Lanes() {
			if l.InFlight != concurrency {
				t.Errorf("after Resize to 4 lanes: %+v", l)
			}
		}
		g.release()
		balanced(t, p)
	}
}

// TestResizeUnderLoad: no call is lost while the lanes change.
func TestResizeUnderLoad(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double)
	p := newPool(t, &h, pool.Config{Lanes: 1})
	n := 3000
	if testing.Short() {
		n = 500
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for i := range n {
				if v, err := f.Go(bg, i).Wait(bg); v != 2*i || err != nil {
					t.Errorf("Wait = %d, %v", v, err)
				}
				if v, err := f.Call(bg, i); v != 2*i || err != nil {
					t.Errorf("Call = %d, %v", v, err)
				}
			}
		})
	}
	r, ctx := newRand(t)(0), within(t)
	var done atomic.Bool
	go func() { wg.Wait(); done.Store(true) }()
	for !done.Load() {
		must(t, p.Resize(ctx, 1+r.IntN(6)))
		must(t, ctx.Err())
		runtime.Gosched() // with one processor, the callers would wait for the end of each time slice
	}
	wg.Wait()
	balanced(t, p)
}

// TestSharedScheduler: pools may share a scheduler, which stays open when they end.
func TestSharedScheduler(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for range 3 {
		var h pool.Handlers
		f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 3, Scheduler: s})
		if p.Scheduler() != s {
			t.Fatal("it has another scheduler")
		}
		for i := range 100 {
			if v, err := f.Call(bg, i); v != 2*i || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		}
		if n, err := p.Terminate(within(t)); n != 0 || err != nil {
			t.Fatalf("Terminate = %d, %v", n, err)
		}
		must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
	}
}

// TestLazyWorkers: a pool that was never called has no goroutine. K-092.
func TestLazyWorkers(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 4})
	if st := p.Scheduler().Stats(); st.Workers != 0 {
		t.Errorf("%d workers before the first call", st.Workers)
	}
	if v, err := f.Call(bg, 1); v != 2 || err != nil { // the lanes are ready all the same
		t.Fatalf("Call = %d, %v", v, err)
	}
}

// TestWorkersDoNotGrowWithLanes: a caller with one call at a time on a worker needs no worker for
// each lane. A worker that has ended its call and is not idle yet may be replaced, so there may be
// a few.
func TestWorkersDoNotGrowWithLanes(t *testing.T) {
	for _, lanes := range []int{16 * runtime.GOMAXPROCS(0), 1024} {
		var h pool.Handlers
		f := pool.Register(&h, "remote", double, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: lanes})
		for i := range 3000 {
			if v, err := f.Call(bg, i); v != 2*i || err != nil {
				t.Fatalf("Call = %d, %v", v, err)
			}
		}
		if n := p.Metrics().Scheduler.Spawns; n > 8 {
			t.Errorf("%d lanes: %d workers were started", lanes, n)
		}
	}
}

// TestShutdownNamesItsCalls: the error of a Shutdown that waits in vain is the cause, names the handlers that are
// left, and says how many calls wait.
func TestShutdownNamesItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		open := make(chan struct{})
		stand := pool.Register(&h, "stand", func(context.Context, int) (int, error) { <-open; return 0, nil })
		var p *pool.Pool
		blocks := pool.Register(&h, "blocks", func(context.Context, int) (int, error) {
			p.Blocking(func() { <-open })
			return 0, nil
		})
		p = newPool(t, &h, pool.Config{Lanes: 2})
		defer close(open)
		blocks.Go(bg, 0)
		synctest.Wait()
		for i := range 5 {
			stand.Go(bg, i)
		}
		synctest.Wait()
		time.Sleep(time.Hour) // no look has found them before
		ctx, cancel := context.WithTimeout(bg, 2*time.Second)
		defer cancel()
		err := p.Shutdown(ctx)
		mustBe(t, err, context.DeadlineExceeded)
		var e *pool.ShutdownError
		if !errors.As(err, &e) || e.Waiting != 3 || len(e.Running) != 3 {
			t.Fatalf("Shutdown = %#v", err)
		}
		if last := e.Running[2]; last.Task != "blocks" || e.Running[0].Task != "stand" || e.Running[1].Lane != 1 {
			t.Errorf("the handlers are %+v", e.Running)
		}
		for _, text := range []string{"deadline exceeded", "3 calls wait", "3 handlers run", `"stand" on lane 0 for 2s or longer`, `"blocks" on lane 0`} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error %q does not have %q", err, text)
			}
		}
	})
}
