package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/pool"
)

var errWhy = errors.New("changed my mind")

// TestAbortBefore checks that an aborted call whose turn has not come ends at once and never
// starts. K-106, K-109.
func TestAbortBefore(t *testing.T) {
	g, f, p := gated(t, pool.Config{Lanes: 1})
	f.Go(bg, 0)
	g.entered(t, 1)
	fu := f.Go(bg, 1)
	plain := f.Go(bg, 2)
	fu.Abort(errWhy)
	plain.Abort(nil)
	if !settled(fu) || !settled(plain) {
		t.Fatal("no outcome after Abort")
	}
	_, err := fu.Wait(bg)
	mustBe(t, err, errWhy, pool.ErrNotStarted)
	_, err = plain.Wait(bg)
	mustBe(t, err, pool.ErrAborted, pool.ErrNotStarted)
	fu.Abort(errors.New("again"))
	_, err = fu.Wait(bg)
	mustBe(t, err, errWhy)
	last := f.Go(bg, 3)
	g.release()
	result(t, last)
	if got := g.entered(t, 1); got[0] != 3 {
		t.Errorf("call %d ran", got[0])
	}
	balanced(t, p)
}

// TestAbortDuring checks that the caller of an aborted call has its outcome at once. The
// handler of an abortable task learns of the abort. Any other handler runs to its end, and its
// result is dropped. K-103, K-106, K-107, K-108, K-109, K-110, K-133.
func TestAbortDuring(t *testing.T) {
	for _, c := range []pool.Config{{Lanes: 1}, {Lanes: 1, Concurrency: 2}} {
		for _, way := range []string{"Abort", "context"} {
			var h pool.Handlers
			in, ended, saw, out := make(chan struct{}), make(chan struct{}), make(chan error), make(chan struct{})
			polls := pool.Register(&h, "polls", func(ctx context.Context, _ int) (int, error) {
				s := pool.AbortSignalOf(ctx)
				if s.Aborted() {
					t.Error("aborted from the start")
				}
				in <- struct{}{}
				<-ended
				if !s.Aborted() {
					t.Error("the signal does not show that the call was aborted")
				}
				if ctx.Err() == nil {
					t.Error("the context of an aborted call has not ended")
				}
				saw <- context.Cause(ctx)
				<-out
				return 7, nil
			}, pool.TaskOptions{Abortable: true, Remote: true})
			p := newPool(t, &h, c)
			ctx, cancel := context.WithCancelCause(bg)
			defer cancel(nil)
			fu := polls.Go(ctx, 1)
			came(t, "the handler", in)
			if way == "Abort" {
				fu.Abort(errWhy)
				if !settled(fu) {
					t.Fatal("no outcome after Abort")
				}
			} else {
				cancel(errWhy)
			}
			if v, err := wait(t, fu); v != 0 || !errors.Is(err, errWhy) || errors.Is(err, pool.ErrNotStarted) {
				t.Fatalf("Wait = %d, %v, want the cause of the abort", v, err)
			}
			close(ended)
			mustBe(t, came(t, "the handler to learn of it", saw), errWhy)
			if m := p.Metrics(); m.StaleResponses != 0 || m.Ended != 1 {
				t.Errorf("before the handler returns: %+v", m)
			}
			close(out)
			until(t, "the late outcome", func() bool { return p.Metrics().StaleResponses == 1 })
			if v, err := fu.Wait(bg); v != 0 || !errors.Is(err, errWhy) {
				t.Fatalf("the late outcome changed it: %d, %v", v, err)
			}
		}
	}
	g, f, p := gated(t, pool.Config{Lanes: 1}) // not abortable
	fu := f.Go(bg, 1)
	g.entered(t, 1)
	fu.Abort(errWhy)
	if _, err := wait(t, fu); !errors.Is(err, errWhy) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(bg)
	got := make(chan error)
	g.open <- struct{}{}
	go func() { _, err := f.Call(ctx, 2); got <- err }()
	g.entered(t, 1)
	cancel(errWhy)
	mustBe(t, came(t, "the caller", got), errWhy)
	g.release()
	until(t, "the late outcomes", func() bool { return p.Metrics().StaleResponses == 2 })
	balanced(t, p)
}

// TestAbortSlots checks that each call of an abortable task takes a slot until its handler
// returns. This includes calls that were aborted. Other calls take no slot. K-103, K-105,
// K-110.
func TestAbortSlots(t *testing.T) {
	for _, capacity := range []int{0, 1, 33} {
		var h pool.Handlers
		g := newGate()
		abortable := pool.Register(&h, "abortable", g.enter, pool.TaskOptions{Abortable: true, Remote: true})
		plain := pool.Register(&h, "plain", double)
		p := newPool(t, &h, pool.Config{Lanes: 2, AbortCapacity: capacity})
		n := capacity
		if n == 0 {
			n = 258
		}
		t.Cleanup(g.release)
		var fs []*pool.Future[int]
		for i := range n {
			fs = append(fs, abortable.Go(bg, i))
			if settled(fs[i]) {
				_, err := fs[i].Wait(bg)
				t.Fatalf("call %d of %d: %v", i, n, err)
			}
		}
		g.entered(t, min(n, 2)) // both lanes stand
		refused := abortable.Go(bg, n)
		if !settled(refused) {
			t.Fatalf("call %d of %d is not refused", n+1, n)
		}
		_, err := refused.Wait(bg)
		mustBe(t, err, pool.ErrAbortSlotsExhausted, pool.ErrNotStarted)
		_, err = abortable.Call(bg, n)
		mustBe(t, err, pool.ErrAbortSlotsExhausted, pool.ErrNotStarted)
		for _, fu := range fs {
			fu.Abort(errWhy)
		}
		for i := range n - min(n, 2) { // those that had not started have given theirs back
			if fu := abortable.Go(bg, i); settled(fu) {
				_, err := fu.Wait(bg)
				t.Fatalf("call %d after the aborts: %v", i, err)
			}
		}
		_, err = abortable.Call(bg, n)
		mustBe(t, err, pool.ErrAbortSlotsExhausted) // the others have not returned
		plainDone := plain.Go(bg, 4)
		g.release()
		if v := result(t, plainDone); v != 8 {
			t.Fatal(v)
		}
		until(t, "the slots", func() bool {
			v, err := abortable.Call(bg, 5)
			return v == 5 && err == nil
		})
		balanced(t, p)
	}
}

// TestEndedCallsGiveSlots checks that a call that has ended before it started gives its abort
// slot back at once.
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
		t.Errorf("the call has settled with %v, the lanes are %+v", err, p.Metrics().Lanes)
	}
	p.Resume()
}

// TestLateCallsGiveSlotsOnce checks that abortable calls whose time is over when their turn
// comes give back their abort slots once. Any goroutine may see the end of the time first.
func TestLateCallsGiveSlotsOnce(t *testing.T) {
	var h pool.Handlers
	f := pool.Register(&h, "double", double, pool.TaskOptions{Abortable: true, Timeout: 30 * time.Microsecond})
	p := newPool(t, &h, pool.Config{Lanes: 1, AbortCapacity: 4096})
	n := 200
	if testing.Short() {
		n = 30
	}
	for range n {
		var fs []*pool.Future[int]
		for i := range 50 {
			fs = append(fs, f.Go(bg, i))
		}
		for i, fu := range fs {
			if v, err := wait(t, fu); err == nil && v != 2*i || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Wait = %d, %v, want %d or the end of the time", v, err, 2*i)
			}
		}
	}
	balanced(t, p)
}

// TestAbortStress checks that an abort reaches its own call and no other call that has the slot
// before or after. Each call ends once. K-109, K-110, K-033.
func TestAbortStress(t *testing.T) {
	for _, c := range []pool.Config{
		{Lanes: 2, AbortCapacity: 4},
		{Lanes: 1, Concurrency: 3, AbortCapacity: 3},
	} {
		var h pool.Handlers
		type arg struct {
			aborted *atomic.Bool // set before Abort
			n       int
		}
		f := pool.Register(&h, "watch", func(ctx context.Context, a arg) (int, error) {
			s := pool.AbortSignalOf(ctx)
			for range 1 + a.n%5 {
				if s.Aborted() && !a.aborted.Load() {
					t.Error("a call sees the abort of another")
				}
				runtime.Gosched()
			}
			return a.n, nil
		}, pool.TaskOptions{Abortable: true})
		p := newPool(t, &h, c)
		n := 3000
		if testing.Short() {
			n = 400
		}
		rnd := newRand(t)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				r := rnd(g)
				for i := range n {
					var aborted atomic.Bool
					ctx, cancel := context.WithCancelCause(bg)
					fu := f.Go(ctx, arg{&aborted, i})
					for range r.IntN(4) {
						runtime.Gosched()
					}
					switch r.IntN(3) {
					case 0:
						aborted.Store(true)
						fu.Abort(errWhy)
						if !settled(fu) {
							t.Error("no outcome after Abort")
						}
					case 1:
						aborted.Store(true)
						cancel(errWhy)
					}
					v, err := wait(t, fu)
					switch {
					case err == nil && v == i:
					case errors.Is(err, errWhy) && aborted.Load() && v == 0:
					case errors.Is(err, pool.ErrAbortSlotsExhausted) && errors.Is(err, pool.ErrNotStarted):
					default:
						t.Errorf("call %d: %d, %v", i, v, err)
					}
					aborted.Store(true) // the end of its own context, too
					cancel(nil)
				}
			})
		}
		ends(t, "the callers", wg.Wait)
		balanced(t, p)
		until(t, "all slots to come free", func() bool {
			var fs []*pool.Future[int]
			p.Pause()
			var aborted atomic.Bool
			for range c.AbortCapacity {
				fs = append(fs, f.Go(bg, arg{&aborted, 0}))
			}
			p.Resume()
			for _, fu := range fs {
				if _, err := wait(t, fu); err != nil {
					return false
				}
			}
			return true
		})
	}
}

// TestAbortSignalZero checks that the zero signal never says that a call was aborted. The
// signal of a context without one does not say so either.
func TestAbortSignalZero(t *testing.T) {
	var zero pool.AbortSignal
	if zero.Aborted() || pool.AbortSignalOf(bg).Aborted() {
		t.Error("a signal without a call says that it was aborted")
	}
	var h pool.Handlers
	f := pool.Register(&h, "plain", func(ctx context.Context, _ int) (bool, error) {
		return pool.AbortSignalOf(ctx) == pool.AbortSignal{}, nil
	})
	newPool(t, &h, pool.Config{Lanes: 1})
	if v, err := f.Call(bg, 1); !v || err != nil {
		t.Errorf("a plain task has a signal: %v", err)
	}
}

// TestContextReachesTheHandler checks that a handler gets the values and the end of the context
// of its caller.
func TestContextReachesTheHandler(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		type key struct{}
		var h pool.Handlers
		f := pool.Register(&h, "value", func(ctx context.Context, _ int) (any, error) { return ctx.Value(key{}), nil }, o)
		newPool(t, &h, c)
		ctx, cancel := context.WithCancel(context.WithValue(bg, key{}, "mine"))
		defer cancel()
		if v, err := f.Call(ctx, 1); v != "mine" || err != nil {
			t.Errorf("Call: %v, %v", v, err)
		}
		if v, err := f.Go(ctx, 1).Wait(bg); v != "mine" || err != nil {
			t.Errorf("Go: %v, %v", v, err)
		}
	})
}

// TestAbortableRunsOnItsCaller checks that the possible abort of a call is no reason for a
// goroutine of its own. Inside a handler the call runs on top of that handler. With CallerRuns
// it runs on its caller.
func TestAbortableRunsOnItsCaller(t *testing.T) {
	var h pool.Handlers
	where := pool.Register(&h, "where", func(context.Context, int) (uintptr, error) {
		return park.Self(), nil
	}, pool.TaskOptions{Abortable: true})
	g := newGate()
	gate := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	outer := pool.Register(&h, "outer", func(context.Context, int) (bool, error) {
		at, err := where.Call(bg, 1)
		return at == park.Self(), err
	}, pool.TaskOptions{Remote: true})
	newPool(t, &h, pool.Config{Lanes: 1, Backlog: 1, Overflow: pool.CallerRuns})
	t.Cleanup(g.release)
	if here, err := outer.Call(bg, 1); !here || err != nil {
		t.Errorf("inside a handler: on top of it %v, %v", here, err)
	}
	fill(t, g, gate, 1)
	if at, err := where.Call(bg, 1); at != park.Self() || err != nil {
		t.Errorf("Call with CallerRuns ran on %#x, %v", at, err)
	}
	if at := result(t, where.Go(bg, 1)); at != park.Self() {
		t.Errorf("Go with CallerRuns ran on %#x", at)
	}
}
