package pool_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// TestConcurrency: a lane runs as many calls at once as it may, never more, and starts
// them in their order.
func TestConcurrency(t *testing.T) {
	for _, n := range []int{1, 2, 5, 32} {
		g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: n})
		const calls = 100
		var fs []*pool.Future[int]
		for i := range calls {
			fs = append(fs, f.Go(bg, i))
		}
		begun := g.entered(t, n)
		for range 100 {
			runtime.Gosched()
		}
		g.none(t)
		for range calls - n {
			g.open <- struct{}{}
			begun = append(begun, g.entered(t, 1)...)
			g.none(t)
		}
		for i, arg := range begun {
			// Those that begin at the same time do so in any order.
			if d := arg - i; d < -n || d > n {
				t.Fatalf("with %d at once they began in the order %v", n, begun)
			}
		}
		if n == 1 && !slices.IsSorted(begun) {
			t.Fatalf("they began in the order %v", begun)
		}
		g.release()
		for i, fu := range fs {
			if v := result(t, fu); v != i {
				t.Fatalf("call %d: %d", i, v)
			}
		}
		must(t, p.Wait(within(t)))
		balanced(t, p)
	}
}

// TestConcurrencyBound: under load, with handlers that wait inside, the calls that do not
// wait are never more than the lane may run.
func TestConcurrencyBound(t *testing.T) {
	for _, n := range []int{1, 3} {
		var h pool.Handlers
		var now, most atomic.Int64
		inner := pool.Register(&h, "inner", func(_ context.Context, v int) (int, error) {
			k := now.Add(1)
			for m := most.Load(); k > m && !most.CompareAndSwap(m, k); m = most.Load() {
			}
			runtime.Gosched()
			now.Add(-1)
			return v, nil
		})
		outer := pool.Register(&h, "outer", func(ctx context.Context, v int) (int, error) {
			return inner.Go(ctx, v).Wait(ctx)
		})
		p := newPool(t, &h, pool.Config{Lanes: 1, Concurrency: n, Backlog: pool.Unlimited})
		calls := 2000
		if testing.Short() {
			calls = 300
		}
		var fs []*pool.Future[int]
		for i := range calls {
			fs = append(fs, inner.Go(bg, i), outer.Go(bg, i))
		}
		for i, fu := range fs {
			if v := result(t, fu); v != i/2 {
				t.Fatalf("call %d: %d", i, v)
			}
		}
		if m := most.Load(); m > int64(n) {
			t.Errorf("%d calls ran at once, the lane may run %d", m, n)
		}
		must(t, p.Wait(within(t)))
		balanced(t, p)
	}
}

// TestPermitsStartOldest: a worker that becomes free starts the oldest call, also when that
// was handed out for a worker whose handler computes now. C-023.
func TestPermitsStartOldest(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	var h pool.Handlers
	started, hold := make(chan int, 10), make(chan struct{})
	f := pool.Register(&h, "f", func(_ context.Context, n int) (int, error) {
		started <- n
		if n == 1 {
			<-hold // computes
		}
		return n, nil
	})
	newPool(t, &h, pool.Config{Lanes: 1, Concurrency: 4, Scheduler: s})
	var busy [2]sched.Task // both workers have something to do
	var in, out [2]chan struct{}
	for i := range busy {
		in[i], out[i] = make(chan struct{}), make(chan struct{})
		busy[i].Fn = func(*sched.Worker, *sched.Task) { close(in[i]); <-out[i] }
		must(t, s.Schedule(&busy[i]))
		came(t, "a task", in[i])
	}
	a1, a2 := f.Go(bg, 1), f.Go(bg, 2)
	close(out[0])
	order := []int{came(t, "call 1", started)} // 2 may run, and waits for a worker
	b := f.Go(bg, 3)
	close(out[1])
	order = append(order, came(t, "the next", started), came(t, "the last", started))
	close(hold)
	wait(t, a1)
	wait(t, a2)
	wait(t, b)
	if order[1] != 2 {
		t.Fatalf("calls 1, 2, 3 start in the order %v", order)
	}
}

// TestPermitsStartInOrder: as many calls as there are workers, whose handlers stand, are the
// first ones. C-023.
func TestPermitsStartInOrder(t *testing.T) {
	const workers, calls = 4, 8
	s := newScheduler(t, sched.Config{MaxWorkers: workers})
	g, f, p := gated(t, pool.Config{Lanes: 1, Concurrency: calls, Scheduler: s})
	p.Pause()
	for i := range calls {
		f.Go(bg, i)
	}
	p.Resume()
	begun := g.entered(t, workers)
	slices.Sort(begun)
	if begun[workers-1] != workers-1 {
		t.Errorf("calls %v have begun and stand; those before them wait", begun)
	}
}
