package pool_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/pool"
)

// TestSettleOnce has aborts, contexts, timeouts, hard limits, pauses, resizes and the end of
// the pool at the same time. Each call ends exactly once for each goroutine that looks. A
// handler runs once at most. It does not run when the error says so. C-004, C-012, C-044,
// K-033, K-133.
func TestSettleOnce(t *testing.T) {
	for _, way := range everyWay {
		t.Run(way.name, func(t *testing.T) {
			rounds := 12
			if testing.Short() {
				rounds = 3
			}
			rnd := newRand(t)
			for round := range rounds {
				settleOnce(t, way.config, way.opts, func(g int) func(int) int { return rnd(100*round + g).IntN })
			}
		})
	}
}

// storm is a call that many want to end.
type storm struct {
	n    int
	runs atomic.Int64
}

func settleOnce(t *testing.T, c pool.Config, o pool.TaskOptions, rnd func(g int) func(n int) int) {
	t.Helper()
	var h pool.Handlers
	f := pool.Register(&h, "storm", func(ctx context.Context, s *storm) (int, error) {
		s.runs.Add(1)
		for range s.n % 4 {
			runtime.Gosched()
		}
		switch s.n % 7 {
		case 5:
			return 0, errWhy
		case 6:
			panic(errWhy)
		}
		return s.n, nil
	}, o)
	c.AbortCapacity = 16
	p, err := pool.New(&h, c)
	must(t, err)
	check := func(s *storm, v int, err error) {
		runs := s.runs.Load()
		var remote *pool.RemoteError
		switch {
		case err == nil && v == s.n && s.n%7 < 5 && runs == 1:
		case errors.Is(err, pool.ErrNotStarted):
			if runs != 0 {
				t.Errorf("call %d has not started, and has run: %v", s.n, err)
			}
		case errors.As(err, &remote) && errors.Is(err, errWhy) && s.n%7 >= 5 && runs == 1:
		case errors.Is(err, pool.ErrAborted), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, pool.ErrThreadClosed):
			if runs > 1 {
				t.Errorf("call %d has run %d times", s.n, runs)
			}
		default:
			t.Errorf("call %d, which has run %d times: %d, %v", s.n, runs, v, err)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			intn := rnd(g)
			for i := range 200 {
				s := &storm{n: i}
				ctx, cancel := context.WithCancel(bg)
				switch intn(5) {
				case 0:
					ctx, cancel = context.WithTimeout(bg, time.Duration(intn(100))*time.Microsecond)
				case 1:
					v, err := f.Call(ctx, s)
					check(s, v, err)
					cancel()
					continue
				case 2:
					v, err := f.Call(bg, s)
					check(s, v, err)
					cancel()
					continue
				}
				fu := f.Go(ctx, s)
				var enders sync.WaitGroup
				for e := range intn(3) {
					enders.Go(func() {
						if e == 0 {
							fu.Abort(nil)
						} else {
							cancel()
						}
					})
				}
				v, err := fu.Wait(bg)
				check(s, v, err)
				enders.Wait()
				if again, err2 := fu.Wait(bg); again != v || !errors.Is(err2, err) {
					t.Errorf("the outcome changes from %d, %v to %d, %v", v, err, again, err2)
				}
				cancel()
			}
		})
	}
	wg.Go(func() {
		intn := rnd(4)
		for range 50 {
			p.Pause()
			runtime.Gosched()
			p.Resume()
			if c.Lanes > 0 {
				if err := p.Resize(bg, 1+intn(3)); err != nil && !errors.Is(err, pool.ErrPoolShutdown) {
					t.Error(err)
				}
			}
			sums(t, p.Metrics())
		}
	})
	intn := rnd(5)
	for range intn(2000) {
		runtime.Gosched()
	}
	switch intn(3) {
	case 0:
		p.Close()
	case 1:
		if err := p.Shutdown(bg); err != nil {
			t.Error(err)
		}
	}
	ends(t, "the callers", wg.Wait)
	if n, err := p.Terminate(within(t)); n != 0 || err != nil {
		t.Errorf("Terminate = %d, %v", n, err)
	}
	balanced(t, p)
}
