package pool_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/pool"
)

// TestPing checks that a lane answers a ping and that no handler sees it. A lane whose handler
// stands does not answer. TestPingFirst has calls that wait. C-032.
func TestPing(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		g, f, p := gated(t, pool.Config{Lanes: 2, Concurrency: concurrency})
		must(t, p.Ping(within(t), 0))
		must(t, p.Ping(within(t), 1))
		mustBe(t, p.Ping(bg, 2), pool.ErrNoSuchLane)
		mustBe(t, p.Ping(bg, -1), pool.ErrNoSuchLane)
		l, err := p.AcquireLane(within(t), 0)
		must(t, err)
		for i := range 3 {
			pool.GoOn(bg, l, f, i)
		}
		g.entered(t, concurrency)
		must(t, p.Ping(within(t), 1))
		ctx, cancel := context.WithCancelCause(bg)
		cancel(errWhy)
		mustBe(t, p.Ping(ctx, 0), errWhy)
		g.none(t)
		l.Release()
		must(t, p.Close())
		mustNotBe(t, p.Ping(bg, 0), nil)
	}
}

// TestPingWithoutAScheduler checks that a ping of a pool whose scheduler has ended has an
// error.
func TestPingWithoutAScheduler(t *testing.T) {
	s := newScheduler(t, schedConfig)
	var h pool.Handlers
	p, err := pool.New(&h, pool.Config{Lanes: 1, Scheduler: s, OnEnd: func(e pool.Ended) { t.Errorf("OnEnd got %+v", e) }})
	must(t, err)
	if _, err := s.Close(); err != nil {
		t.Fatal(err)
	}
	mustBe(t, p.Ping(within(t), 0), pool.ErrClosed)
	must(t, p.Close())
}

// TestPingTakesNoSpace checks a lane that stands with a full backlog. It does not answer before
// its handler returns, whatever the policy is. The ping costs no call.
func TestPingTakesNoSpace(t *testing.T) {
	for _, policy := range []pool.Overflow{pool.Block, pool.Fail, pool.CallerRuns, pool.DropOldest} {
		synctest.Test(t, func(t *testing.T) {
			g, f, p := gated(t, pool.Config{Lanes: 1, Backlog: 1, Overflow: policy})
			fs := fill(t, g, f, 1)
			ctx, cancel := context.WithCancelCause(bg)
			given, kept := ping(ctx, p), ping(bg, p)
			synctest.Wait() // until every waiter has given up
			for _, answer := range []chan error{given, kept} {
				select {
				case err := <-answer:
					t.Fatalf("policy %d: a lane that stands: Ping = %v", policy, err)
				default:
				}
			}
			cancel(errWhy)
			mustBe(t, came(t, "the waiter that gives up", given), errWhy)
			g.release()
			must(t, came(t, "the answer", kept))
			for i, fu := range fs {
				if v := result(t, fu); v != i {
					t.Fatalf("policy %d: call %d: %d", policy, i, v)
				}
			}
			balanced(t, p)
		})
	}
}

// ping pings lane 0 on a goroutine of its own.
func ping(ctx context.Context, p *pool.Pool) chan error {
	answer := make(chan error, 1)
	go func() { answer <- p.Ping(ctx, 0) }()
	return answer
}

// TestPingFirst checks that the answer to a ping comes before the calls that wait. One of them
// may have begun before.
func TestPingFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		const n = 20
		for i := range n {
			f.Go(bg, i)
		}
		g.open <- struct{}{} // the others have their turns now
		g.entered(t, 2)
		answer := ping(bg, p)
		synctest.Wait()
		// One call runs, and one may have begun before the answer.
		for range 2 {
			g.open <- struct{}{}
			synctest.Wait()
		}
		select {
		case err := <-answer:
			must(t, err)
		default:
			t.Error("no answer after two calls")
		}
		g.release()
		must(t, p.Wait(within(t)))
	})
}

// TestPingPaused checks that the lane of a paused pool answers. It starts nothing for it.
func TestPingPaused(t *testing.T) {
	for _, queued := range []int{0, 3} {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		p.Pause()
		for i := range queued {
			f.Go(bg, i)
		}
		must(t, p.Ping(within(t), 0))
		g.none(t)
		g.release()
		p.Resume()
		balanced(t, p)
	}
}

// TestPingsDoNotPileUp checks that pings without a waiter do not pile up in a lane that stands.
func TestPingsDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f, p := gated(t, pool.Config{Lanes: 1})
		fu := f.Go(bg, 1)
		g.entered(t, 1)
		gone, cancel := context.WithCancel(bg)
		cancel()
		for range 1000 {
			mustBe(t, p.Ping(gone, 0), context.Canceled)
		}
		mustBe(t, p.Ping(gone, 0), pool.ErrBacklogFull)
		g.release()
		_ = result(t, fu)
		synctest.Wait() // the lane has answered them
		must(t, p.Ping(within(t), 0))
		balanced(t, p)
	})
}
