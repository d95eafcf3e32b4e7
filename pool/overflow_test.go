package pool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// fill makes calls 0 to n of a pool with one permit. The handler of call 0 stands. The others
// wait in the queue of the pool.
func fill(t *testing.T, g *gate, f *pool.Func[int, int], n int) (fs []*pool.Future[int]) {
	t.Helper()
	fs = append(fs, f.Go(bg, 0))
	g.entered(t, 1)
	for i := range n {
		fs = append(fs, f.Go(bg, i+1))
	}
	return fs
}

// TestOverflowFail checks that a call for which there is no space is refused and has not
// started. K-068.
func TestOverflowFail(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 2, Overflow: pool.Fail})
	fs := fill(t, g, f, 2)
	refused := f.Go(bg, 3)
	if !settled(refused) {
		t.Fatal("a call for which there is no space is not refused")
	}
	_, err := refused.Wait(bg)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	_, err = f.Call(bg, 3)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	_, err = p.RunTask(bg, "gate", 3)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	g.release()
	echoed(t, fs)
	if v, err := f.Call(bg, 99); v != 99 || err != nil {
		t.Fatalf("with space again: %d, %v", v, err)
	}
	if got := g.entered(t, 3); !slices.IsSorted(got) {
		t.Errorf("they began in the order %v", got)
	}
	balanced(t, p)
}

// TestOverflowBlock checks that a call is queued at once, also if there is no space. Its caller
// waits until it is one of the first that wait or has ended. K-068.
func TestOverflowBlock(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
	fs := fill(t, g, f, 1)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	refused := make(chan error, 2)
	go func() { _, err := f.Call(ctx, 1000); refused <- err }()
	go func() { _, err := f.Go(ctx, 1001).Wait(bg); refused <- err }()
	until(t, "two callers", func() bool { return p.Metrics().Accepted == 4 })
	cancel(why)
	for range 2 {
		mustBe(t, came(t, "a caller without space", refused), why, pool.ErrNotStarted)
	}
	blocked := make(chan *pool.Future[int])
	go func() { blocked <- f.Go(bg, 2) }()
	until(t, "the last caller", func() bool { return p.Metrics().Accepted == 5 })
	for range 100 {
		runtime.Gosched()
	}
	select {
	case <-blocked:
		t.Fatal("Go returned without space")
	default:
	}
	g.open <- struct{}{} // call 1 starts, and the last one is the first that waits
	if got := g.entered(t, 1); got[0] != 1 {
		t.Fatalf("call %d has begun, want 1", got[0])
	}
	fs = append(fs, came(t, "space", blocked))
	g.none(t)
	g.release()
	echoed(t, fs)
	balanced(t, p)
}

// TestOverflowBlockClosed checks that callers that wait for space end with the pool.
func TestOverflowBlockClosed(t *testing.T) {
	for _, paused := range []bool{false, true} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
		fs := fill(t, g, f, 1)
		if paused {
			p.Pause()
		}
		blocked := make(chan error, 4)
		for range 4 {
			go func() { _, err := f.Go(bg, 2).Wait(bg); blocked <- err }()
		}
		until(t, "the callers", func() bool { return p.Metrics().Accepted == 6 })
		must(t, p.Close())
		taken := uint64(6)
		for range 4 {
			err := came(t, "a caller without space", blocked)
			if errors.Is(err, pool.ErrPoolShutdown) { // it had been counted, and had not asked yet
				taken--
			} else {
				mustBe(t, err, pool.ErrThreadClosed, pool.ErrNotStarted)
			}
		}
		if n := p.Metrics().Accepted; n != taken {
			t.Errorf("%d calls were taken, and Metrics counts %d", taken, n)
		}
		for i, fu := range fs {
			_, err := wait(t, fu)
			mustBe(t, err, pool.ErrThreadClosed)
			if errors.Is(err, pool.ErrNotStarted) != (i > 0) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		balanced(t, p)
	}
}

// TestOverflowCallerRuns checks that the caller runs a call for which there is no space before
// it returns.
func TestOverflowCallerRuns(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	defer g.release()
	gateFn := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
	t.Cleanup(g.release)
	fs := fill(t, g, gateFn, 1)
	for i := range 10 {
		fu := f.Go(bg, i)
		if !settled(fu) || result(t, fu) != 2*i {
			t.Fatal("the caller did not run it")
		}
		if v, err := f.Call(bg, i); v != 2*i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
	}
	g.release()
	echoed(t, fs)
	balanced(t, p)
	if d := p.Metrics().Lanes[0].Direct; d < 20 {
		t.Errorf("%d calls ran on their callers", d)
	}
}

// TestCallerRunsEndsInTime checks that a call for which there is no space also ends for its
// caller when its time or its limit is over. It does not wait for the return of its handler.
func TestCallerRunsEndsInTime(t *testing.T) {
	for name, tc := range map[string]struct {
		config pool.Config
		want   error
	}{
		"Timeout":   {pool.Config{Timeout: time.Second}, context.DeadlineExceeded},
		"HardLimit": {pool.Config{HardLimit: time.Second}, pool.ErrHardLimit},
	} {
		for way, call := range map[string]func(f *pool.Func[int, int]) error{
			"Call": func(f *pool.Func[int, int]) error { _, err := f.Call(bg, 1); return err },
			"Go":   func(f *pool.Func[int, int]) error { _, err := f.Go(bg, 1).Wait(bg); return err },
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var h pool.Handlers
					g := newGate()
					f := pool.Register(&h, "gate", g.enter)
					c := tc.config
					c.Lanes, c.Backlog, c.Overflow = 1, 1, pool.CallerRuns
					newPool(t, &h, c)
					t.Cleanup(g.release)
					fill(t, g, f, 1)
					mustBe(t, call(f), tc.want)
				})
			})
		}
	}
}

// TestCallerRunsGoEnds checks a Go of a call that the backlog had no space for and that has a
// goroutine of its own. Go returns when the call ends, whatever ends it.
func TestCallerRunsGoEnds(t *testing.T) {
	for name, end := range map[string]func(p *pool.Pool, cancel func()){
		"context": func(_ *pool.Pool, cancel func()) { cancel() },
		"Close":   func(p *pool.Pool, _ func()) { _ = p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var h pool.Handlers
			g := newGate()
			f := pool.Register(&h, "gate", g.enter)
			p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
			t.Cleanup(g.release)
			fill(t, g, f, 1)
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			back := make(chan *pool.Future[int], 1)
			go func() { back <- f.Go(ctx, 100) }()
			for g.entered(t, 1)[0] != 100 {
			}
			end(p, cancel)
			if fu := came(t, "the return of Go", back); !settled(fu) {
				t.Error("Go has returned, and the call has not ended")
			}
		})
	}
}

// pickOf is a balancer that picks what the function returns.
type pickOf func(v pool.View) int

func (b pickOf) Pick(v pool.View) int { return b(v) }

// TestCallerRunsAvoidsTheInlineLane checks that Go of a call without space returns when its context
// ends, although the balancer picks the inline lane for it. A call of that lane would run on the
// caller until its handler returns.
func TestCallerRunsAvoidsTheInlineLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h pool.Handlers
		g := newGate()
		f := pool.Register(&h, "gate", g.enter)
		picks := 0
		c := pool.Config{Lanes: 1, Inline: &pool.Inline{Position: pool.Last}, Backlog: pool.NoBacklog, Overflow: pool.CallerRuns}
		c.Balancer = pickOf(func(pool.View) int { // the lane of a worker for the first two picks
			picks++
			return min(picks/3, 1)
		})
		newPool(t, &h, c)
		t.Cleanup(g.release)
		f.Go(bg, 0)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if _, err := f.Go(ctx, 1).Wait(bg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call ends with %v", err)
		}
		if picks != 3 {
			t.Errorf("the balancer has picked %d times, want 3", picks)
		}
	})
}

// TestCallerRunsSurvivesGoexit checks that a handler of a Remote task that calls runtime.Goexit
// does not end the goroutine of a caller for whose call there is no space.
func TestCallerRunsSurvivesGoexit(t *testing.T) {
	for name, way := range map[string]func(*pool.Func[int, int]) (int, error){
		"Call": func(f *pool.Func[int, int]) (int, error) { return f.Call(bg, 1) },
		"Go":   func(f *pool.Func[int, int]) (int, error) { return f.Go(bg, 1).Wait(bg) },
	} {
		var h pool.Handlers
		g := newGate()
		gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
		exit := pool.Register(&h, "exit", goexit, pool.TaskOptions{Remote: true})
		p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
		t.Cleanup(g.release)
		fill(t, g, gate, 1)
		survives(t, name, func() {
			if _, err := way(exit); !errors.Is(err, pool.ErrGoexit) {
				t.Errorf("%s = %v", name, err)
			}
		})
		g.release()
		balanced(t, p)
	}
}

// TestPausedCallerRunsNothing checks that a paused pool with the policy CallerRuns starts
// nothing.
func TestPausedCallerRunsNothing(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Overflow: pool.CallerRuns, Backlog: 1})
	p.Pause()
	f.Go(bg, 0)
	go f.Go(bg, 1) // neither space nor leave to run
	until(t, "the call", func() bool { return p.Metrics().Accepted == 2 })
	for range 200 {
		runtime.Gosched()
	}
	g.none(t)
	g.release()
	p.Resume()
	must(t, p.Wait(within(t)))
}

// TestOverflowDropOldest checks that the call that has waited longest makes space.
func TestOverflowDropOldest(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 3, Overflow: pool.DropOldest})
	fs := fill(t, g, f, 3) // 1, 2 and 3 wait
	for i := range 5 {
		fs = append(fs, f.Go(bg, 4+i))
	}
	for i := 1; i < 6; i++ {
		_, err := wait(t, fs[i])
		mustBe(t, err, pool.ErrDropped, pool.ErrNotStarted)
	}
	g.release()
	for i, fu := range fs {
		if i < 1 || i >= 6 {
			if v := result(t, fu); v != i {
				t.Fatalf("call %d: %d", i, v)
			}
		}
	}
	balanced(t, p)
	if got := g.entered(t, 3); !slices.Equal(got, []int{6, 7, 8}) {
		t.Errorf("the calls %v began, want 6, 7 and 8", got)
	}
}

// TestOverflowDropOldestFails checks that DropOldest drops calls of the queue in which the new
// call would wait and no others. If calls fill the backlog that it cannot drop, it refuses the
// new call.
func TestOverflowDropOldestFails(t *testing.T) {
	first, dep, _ := gated(t, pool.Config{Lanes: 1})
	arg := dep.Go(bg, 7)
	first.entered(t, 1)
	g, f, p := gated(t, pool.Config{Lanes: 2, Backlog: 2, Overflow: pool.DropOldest})
	l, err := p.AcquireLane(within(t), 1)
	must(t, err)
	ways := map[string]func() *pool.Future[int]{
		"on a lease":     func() *pool.Future[int] { return pool.GoOn(bg, l, f, 7) },
		"After":          func() *pool.Future[int] { return f.After(bg, arg) },
		"without a lane": func() *pool.Future[int] { return f.Go(bg, 7) },
	}
	fs := []*pool.Future[int]{ways["on a lease"](), ways["without a lane"]()}
	g.entered(t, 2)
	for name, way := range ways {
		a, b := waits(t, name, way()), waits(t, name, way())
		for other, way2 := range ways {
			switch {
			case other == "After" && name == "without a lane": // it would wait there in the end
				continue
			case other != name || name == "After":
				refuses(t, other+" beside calls "+name, way2())
				continue
			}
			waits(t, other, way2()).Abort(nil) // has the space of the oldest
			_, err := wait(t, a)
			mustBe(t, err, pool.ErrDropped, pool.ErrNotStarted)
			a = waits(t, other, way2())
		}
		waits(t, name, a).Abort(nil)
		waits(t, name, b).Abort(nil)
	}
	first.release()
	g.release()
	for _, fu := range fs {
		result(t, fu)
	}
	l.Release()
	balanced(t, p)
}

// TestLeaseCallsEndTheirWait checks that a lane counts a call of a lease as one that waits there until the call is
// refused, dropped, or aborted, or its caller runs it.
func TestLeaseCallsEndTheirWait(t *testing.T) {
	for _, policy := range []pool.Overflow{pool.Fail, pool.CallerRuns, pool.DropOldest} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Overflow: policy})
		l, err := p.Acquire(bg)
		must(t, err)
		first := pool.GoOn(bg, l, f, 0)
		g.entered(t, 1)
		second := pool.GoOn(bg, l, f, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := pool.CallOn(bg, l, f, 2); (policy == pool.Fail) != errors.Is(err, pool.ErrBacklogFull) {
				t.Errorf("policy %d, without space: %v", policy, err)
			}
		})
		switch policy {
		case pool.Fail:
			wg.Wait()
		case pool.CallerRuns:
			g.entered(t, 1)
		case pool.DropOldest:
			_, err = wait(t, second)
			mustBe(t, err, pool.ErrDropped)
		}
		if policy != pool.DropOldest {
			second.Abort(nil)
		}
		g.release()
		wg.Wait()
		result(t, first)
		l.Release()
		balanced(t, p)
	}
}

// TestOverflowStress checks with every policy that each call ends once. It ends with its own
// result or one of the errors of the policy. A call with an error has not started.
func TestOverflowStress(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy pool.Overflow
		err    error
	}{
		{"Block", pool.Block, nil},
		{"Fail", pool.Fail, pool.ErrBacklogFull},
		{"CallerRuns", pool.CallerRuns, nil},
		{"DropOldest", pool.DropOldest, pool.ErrDropped},
	} {
		for _, concurrency := range []int{1, 3} {
			t.Run(tc.name, func(t *testing.T) {
				var h pool.Handlers
				f := pool.Register(&h, "double", double)
				p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: concurrency, Backlog: 2, Overflow: tc.policy})
				n := 2000
				if testing.Short() {
					n = 300
				}
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						var fs []*pool.Future[int]
						for i := range n {
							fs = append(fs, f.Go(bg, i))
							if i%100 == 0 {
								f.Call(bg, i)
							}
						}
						for i, fu := range fs {
							v, err := wait(t, fu)
							if err == nil && v != 2*i || err != nil && (tc.err == nil || !errors.Is(err, tc.err) || !errors.Is(err, pool.ErrNotStarted)) {
								t.Errorf("call %d: %d, %v", i, v, err)
								return
							}
						}
					})
				}
				ends(t, "the callers", wg.Wait)
				balanced(t, p)
			})
		}
	}
}

// TestUnlimited checks that a backlog without bound has to be asked for. It takes everything.
func TestUnlimited(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: pool.Unlimited, Overflow: pool.Fail})
	const n = 5000
	fs := fill(t, g, f, n)
	if m := p.Metrics(); m.Backlog != n || m.Waiting != n {
		t.Errorf("%d calls wait, %d of them for a lane", m.Backlog, m.Waiting)
	}
	g.release()
	go func() {
		for range g.in { // more than the channel holds
		}
	}()
	echoed(t, fs)
	close(g.in)
}

// TestTryNeverWaits checks with each policy that TryCall and TryGo refuse a call for which
// there is no space. They end no other call. With space they are Call and Go.
func TestTryNeverWaits(t *testing.T) {
	for name, policy := range map[string]pool.Overflow{
		"Block": pool.Block, "Fail": pool.Fail, "CallerRuns": pool.CallerRuns, "DropOldest": pool.DropOldest,
	} {
		t.Run(name, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 2, Overflow: policy})
			fs := []*pool.Future[int]{f.TryGo(bg, 0)}
			g.entered(t, 1)
			for i := range 2 {
				fs = append(fs, f.TryGo(bg, i+1))
			}
			var err error
			ends(t, "TryGo", func() { _, err = f.TryGo(bg, 3).Wait(gone()) })
			mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
			ends(t, "TryCall", func() { _, err = f.TryCall(bg, 3) })
			mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
			m := p.Metrics()
			if m.Waiting != 2 || m.Backlog != 2 || m.InFlight != 1 || m.NoLane != (pool.Ends{Refused: 2}) {
				t.Errorf("the pool after two refusals: %+v", m)
			}
			if l := m.Lanes[0]; l.Backlog != 0 || l.InFlight != 1 || l.Accepted != 1 || l.Ends != (pool.Ends{}) {
				t.Errorf("the lane after two refusals: %+v", l)
			}
			g.release()
			echoed(t, fs)
			if v, err := f.TryCall(bg, 99); v != 99 || err != nil {
				t.Fatalf("with space again: %d, %v", v, err)
			}
			balanced(t, p)
		})
	}
}

// TestAfterWaitsForNoSpace checks that After does not wait for space. No goroutine of a call of
// After that has ended waits for space either.
func TestAfterWaitsForNoSpace(t *testing.T) {
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
		if m := p.Metrics(); m.Detached != 0 {
			t.Errorf("the call has ended, and its goroutine waits: %d outside", m.Detached)
		}
	})
}

// TestTextsTellTheStart checks that the text of a call that has not started says so. The text
// of a call that may have run does not say so. The causes are an abort and a full backlog. A
// text that the protocol fixes is unchanged.
func TestTextsTellTheStart(t *testing.T) {
	const mark = "the call has not started"
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.Fail})
	running := f.Go(bg, 0)
	g.entered(t, 1)
	waiting := f.Go(bg, 1)
	running.Abort(nil)
	waiting.Abort(nil)
	last := f.Go(bg, 2) // has the space of the call that was aborted
	refused := f.Go(bg, 3)
	for _, tc := range []struct {
		f     *pool.Future[int]
		cause error
		text  string
	}{
		{running, pool.ErrAborted, pool.ErrAborted.Error()},
		{waiting, pool.ErrAborted, pool.ErrAborted.Error() + "; " + mark},
		{refused, pool.ErrBacklogFull, pool.ErrBacklogFull.Error() + "; " + mark},
	} {
		_, err := wait(t, tc.f)
		mustBe(t, err, tc.cause)
		if err.Error() != tc.text {
			t.Errorf("the text is %q, want %q", err, tc.text)
		}
	}
	last.Abort(nil)
	_, err := wait(t, f.After(bg, waiting))
	mustBe(t, err, pool.ErrAborted, pool.ErrNotStarted)
	if want := pool.ErrAborted.Error() + "; " + mark; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	_, err = p.RunTask(bg, "none", 0)
	mustBe(t, err, pool.ErrNotStarted)
	if err.Error() != `Unknown task type "none"` {
		t.Errorf("the text is %q", err)
	}
}
