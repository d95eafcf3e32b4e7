package pool_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/pool"
)

// TestAbortableRunsHere: the possible abort of a call is no reason for a goroutine of
// its own: inside a handler it runs on top of that, and with CallerRuns on its caller.
func TestAbortableRunsHere(t *testing.T) {
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

// TestCallerRunsGoEnds: Go of a call that the backlog had no space for, and that has a
// goroutine of its own, returns when the call ends, whatever ends it.
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

// TestDrainSurvivesGoexit: a handler of the inline lane that ends the goroutine on which a
// Close inside another handler drains the pool does not keep it from the end.
func TestDrainSurvivesGoexit(t *testing.T) {
	var h pool.Handlers
	exits := pool.Register(&h, "exits", func(context.Context, int) (int, error) {
		runtime.Goexit()
		return 0, nil
	})
	var p *pool.Pool
	closes := pool.Register(&h, "closes", func(context.Context, int) (int, error) {
		for range 3 {
			exits.Go(bg, 1)
		}
		return 0, p.Close()
	})
	p = newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{}, DrainOnClose: true})
	if _, err := closes.Call(bg, 1); err != nil {
		t.Error(err)
	}
	until(t, "the pool to be closed", func() bool { return p.Metrics().Status == "closed" })
	balanced(t, p)
}

// TestTerminateCountsHandlers: the handler of a call of After counts once, and a call of After that waits for
// its argument or for a lane does not count.
func TestTerminateCountsHandlers(t *testing.T) {
	var h, hd pool.Handlers
	g, gd := newGate(), newGate()
	f := pool.Register(&h, "gate", g.enter)
	dep := pool.Register(&hd, "dep", gd.enter)
	p := newPool(t, &h, pool.Config{Lanes: 2, Backlog: 1, Overflow: pool.CallerRuns})
	newPool(t, &hd, pool.Config{Lanes: 2})
	t.Cleanup(g.release)
	t.Cleanup(gd.release)
	f.Go(bg, 0)
	g.entered(t, 1)
	runs := dep.Go(bg, 100)
	f.After(bg, runs)
	gd.entered(t, 1)
	gd.open <- struct{}{}
	if got := g.entered(t, 1); got[0] != 100 {
		t.Fatalf("call %d has begun", got[0])
	}
	f.After(bg, runs)            // waits for a lane
	f.After(bg, dep.Go(bg, 101)) // waits for its argument
	gd.entered(t, 1)
	over, cancel := context.WithCancel(bg)
	cancel()
	if n, err := p.Terminate(over); n != 2 {
		t.Errorf("Terminate = %d, %v, while two handlers run", n, err)
	}
}
