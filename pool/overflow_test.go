package pool_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// fill makes calls 1 to n of a lane whose handler stands in call 0: 32 get a slot, the
// others wait in the backlog.
func fill(t *testing.T, g *gate, f *pool.Func[int, int], n int) (fs []*pool.Future[int]) {
	t.Helper()
	fs = append(fs, f.Go(bg, 0))
	g.entered(t, 1)
	for i := range n {
		fs = append(fs, f.Go(bg, i+1))
	}
	return fs
}

// TestOverflowFail: a call for which there is no room is refused, and has not started.
// K-068.
func TestOverflowFail(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 2, Overflow: pool.Fail})
	fs := fill(t, g, f, 34)
	_, err := wait(t, f.Go(bg, 35))
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	_, err = f.Call(bg, 35)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	_, err = p.RunTask(bg, "gate", 35)
	mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
	g.release()
	for i, fu := range fs {
		if v := result(t, fu); v != i {
			t.Fatalf("call %d: %d", i, v)
		}
	}
	if v, err := f.Call(bg, 99); v != 99 || err != nil {
		t.Fatalf("with room again: %d, %v", v, err)
	}
	if got := g.entered(t, 35); !slices.IsSorted(got) {
		t.Errorf("they began in the order %v", got)
	}
	balanced(t, p)
}

// TestOverflowBlock: a caller waits for room, until its context ends. K-068.
func TestOverflowBlock(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
	fs := fill(t, g, f, 33)
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(bg)
	refused := make(chan error, 2)
	go func() { _, err := f.Call(ctx, 1000); refused <- err }()
	go func() { _, err := f.Go(ctx, 1001).Wait(bg); refused <- err }()
	until(t, "two callers", func() bool { return p.Metrics().Accepted == 36 })
	cancel(why)
	for range 2 {
		mustBe(t, came(t, "a caller without room", refused), why, pool.ErrNotStarted)
	}
	blocked := make(chan *pool.Future[int])
	go func() { blocked <- f.Go(bg, 34) }()
	until(t, "the last caller", func() bool { return p.Metrics().Accepted == 37 })
	for range 100 {
		runtime.Gosched()
	}
	select {
	case <-blocked:
		t.Fatal("Go returned without room")
	default:
	}
	g.release()
	fs = append(fs, came(t, "room", blocked))
	for i, fu := range fs {
		if v := result(t, fu); v != i {
			t.Fatalf("call %d: %d", i, v)
		}
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
}

// TestOverflowBlockClosed: callers that wait for room end with the pool.
func TestOverflowBlockClosed(t *testing.T) {
	for _, paused := range []bool{false, true} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1})
		fs := fill(t, g, f, 33)
		if paused {
			p.Pause()
		}
		blocked := make(chan error, 4)
		for range 4 {
			go func() { _, err := f.Go(bg, 34).Wait(bg); blocked <- err }()
		}
		until(t, "the callers", func() bool { return p.Metrics().Accepted == 38 })
		must(t, p.Close())
		taken := uint64(38)
		for range 4 {
			err := came(t, "a caller without room", blocked)
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

// TestOverflowCallerRuns: the caller runs a call for which there is no room, before it
// returns.
func TestOverflowCallerRuns(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	defer g.release()
	gateFn := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	f := pool.Register(&h, "double", double, pool.TaskOptions{Remote: true})
	p := newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
	t.Cleanup(g.release)
	fs := fill(t, g, gateFn, 33)
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
	for i, fu := range fs {
		if v := result(t, fu); v != i {
			t.Fatalf("call %d: %d", i, v)
		}
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
	if d := p.Metrics().Lanes[0].Direct; d < 20 {
		t.Errorf("%d calls ran on their callers", d)
	}
}

// TestOverflowDropOldest: the call that has waited longest makes room.
func TestOverflowDropOldest(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 3, Overflow: pool.DropOldest})
	fs := fill(t, g, f, 35) // 33, 34 and 35 wait
	for i := range 5 {
		fs = append(fs, f.Go(bg, 36+i))
	}
	for i := 33; i < 38; i++ {
		_, err := wait(t, fs[i])
		mustBe(t, err, pool.ErrDropped, pool.ErrNotStarted)
	}
	g.release()
	for i, fu := range fs {
		if i < 33 || i >= 38 {
			if v := result(t, fu); v != i {
				t.Fatalf("call %d: %d", i, v)
			}
		}
	}
	must(t, p.Wait(within(t)))
	balanced(t, p)
	if got := g.entered(t, 35); !slices.IsSorted(got) || slices.Contains(got, 35) {
		t.Errorf("%v began", got)
	}
}

// TestOverflowStress: with every policy each call ends once, with its own result or one
// of the errors of the policy, and the handlers that ran are those that say so.
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
				must(t, p.Wait(within(t)))
				balanced(t, p)
			})
		}
	}
}

// TestUnlimited: a backlog without bound has to be asked for, and takes everything.
func TestUnlimited(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: pool.Unlimited, Overflow: pool.Fail})
	const n = 5000
	fs := fill(t, g, f, n)
	if b := p.Metrics().Backlog; b != n-32 {
		t.Errorf("%d calls wait", b)
	}
	g.release()
	go func() {
		for range g.in { // more than the channel holds
		}
	}()
	for i, fu := range fs {
		if v := result(t, fu); v != i {
			t.Fatalf("call %d: %d", i, v)
		}
	}
	close(g.in)
}

// TestTryNeverWaits: with each policy, TryCall and TryGo refuse a call for which there is no space,
// and end no other. With space they are Call and Go.
func TestTryNeverWaits(t *testing.T) {
	for name, policy := range map[string]pool.Overflow{
		"Block": pool.Block, "Fail": pool.Fail, "CallerRuns": pool.CallerRuns, "DropOldest": pool.DropOldest,
	} {
		t.Run(name, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 2, Overflow: policy})
			fs := []*pool.Future[int]{f.TryGo(bg, 0)}
			g.entered(t, 1)
			for i := range 34 {
				fs = append(fs, f.TryGo(bg, i+1))
			}
			_, err := f.TryGo(bg, 35).Wait(gone())
			mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
			ends(t, "TryCall", func() { _, err = f.TryCall(bg, 35) })
			mustBe(t, err, pool.ErrBacklogFull, pool.ErrNotStarted)
			if l := p.Lanes()[0]; l.Backlog != 2 || l.InFlight != 33 || l.Ends.Refused != 2 {
				t.Errorf("the lane after two refusals: %+v", l)
			}
			g.release()
			for i, fu := range fs {
				if v := result(t, fu); v != i {
					t.Fatalf("call %d: %d", i, v)
				}
			}
			if v, err := f.TryCall(bg, 99); v != 99 || err != nil {
				t.Fatalf("with space again: %d, %v", v, err)
			}
			balanced(t, p)
		})
	}
}

// TestTextsTellTheStart: the text of a call that has not started says so, and that of a call which may
// have run does not, for each cause but those whose text the protocol fixes.
func TestTextsTellTheStart(t *testing.T) {
	const mark = "the call has not started"
	g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.Fail})
	running := f.Go(bg, 0)
	g.entered(t, 1)
	waiting := f.Go(bg, 1)
	running.Abort(nil)
	waiting.Abort(nil)
	for range 32 {
		f.Go(bg, 2)
	}
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
			t.Errorf("%q, want %q", err, tc.text)
		}
	}
	_, err := wait(t, f.After(bg, waiting))
	mustBe(t, err, pool.ErrAborted, pool.ErrNotStarted)
	if want := pool.ErrAborted.Error() + "; " + mark; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	_, err = p.RunTask(bg, "none", 0)
	mustBe(t, err, pool.ErrNotStarted)
	if err.Error() != `Unknown task type "none"` {
		t.Errorf("%q", err)
	}
}
