package sched_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestForkJoinContext: ForkJoinContext returns the cause of a context that has ended
// before or during the computation, and no error for one that ends later.
func TestForkJoinContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	why := errors.New("why")
	ended, end := context.WithCancelCause(context.Background())
	end(why)
	_, err := sched.ForkJoinContext(ended, s, func(*ints, int) int { t.Error("the body is called"); return 0 }, 1)
	mustBe(t, err, why)
	if got, err := sched.ForkJoinContext(context.Background(), s, fib, 10); got != 55 || err != nil {
		t.Errorf("context that never ends: got %d, %v", got, err)
	}
	for range 500 {
		ctx, cancel := context.WithCancelCause(context.Background())
		got, err := sched.ForkJoinContext(ctx, s, func(*ints, int) int { cancel(why); return 7 }, 1)
		if got != 7 || !errors.Is(err, why) {
			t.Fatalf("context ended by the body: got %d, %v", got, err)
		}
		ctx, cancel = context.WithCancelCause(context.Background())
		got, err = sched.ForkJoinContext(ctx, s, fib, 10)
		cancel(why)
		if got != 55 || err != nil {
			t.Fatalf("context ended later: got %d, %v", got, err)
		}
	}
	var begun atomic.Bool
	ctx, cancel := context.WithCancelCause(context.Background())
	got, err := sched.ForkJoinContext(ctx, s, func(f *ints, n int) int {
		if n == 1 {
			begun.Store(true)
			until("the fork sees the end of the context", f.Cancelled)
			return 1
		}
		handOver(f, 1, &begun)
		cancel(why)
		return joined(f, leaf, 1)
	}, 0)
	if got != 1 || !errors.Is(err, why) {
		t.Errorf("context ended during a fork: got %d, %v", got, err)
	}
	sched.ForkJoin(s, func(f *ints, _ int) int { // on the same stack
		if f.Cancelled() {
			t.Error("the context of the last computation has ended this one")
		}
		return 0
	}, 1)
}

// TestForkJoinCancelled: no fork of a cancelled computation is promoted, but forks of
// other computations on the same goroutine are.
func TestForkJoinCancelled(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2, Spawner: never()})
	promoted := func(f *ints) bool { // reports whether the open fork is promoted
		if f.TakeBackPointer() {
			return false
		}
		f.Await()
		return true
	}
	request := func(f *ints) { // promotes the oldest fork
		f.Worker().SetDemand()
		f.Fork(1)
	}
	for name, cancelled := range map[string]string{"outer": "outer", "inner": "inner", "neither": ""} {
		t.Run(name, func(t *testing.T) {
			run := func(level string, body func(f *ints)) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				_, _ = sched.ForkJoinContext(ctx, s, func(f *ints, n int) int {
					if n == 0 {
						if level == cancelled {
							cancel()
							until("the computation is cancelled", f.Cancelled)
						}
						body(f)
					}
					return n
				}, 0)
			}
			var outer, inner bool
			run("outer", func(f *ints) {
				f.Fork(1)
				run("inner", func(g *ints) {
					request(g)
					inner = promoted(g)
				})
				outer = promoted(f)
			})
			if want := cancelled != "outer"; outer != want {
				t.Errorf("the fork of the outer computation is promoted: %v, want %v", outer, want)
			}
			if want := cancelled == "outer"; inner != want && cancelled != "" { // otherwise the fork monitor may have requested a second fork
				t.Errorf("the fork of the inner computation is promoted: %v, want %v", inner, want)
			}
			level := "inner"
			if cancelled != "" {
				level = cancelled
			}
			run(level, func(f *ints) {
				f.Fork(1)
				f.Worker().Blocking(func() {})
				if got, want := promoted(f), cancelled == ""; got != want {
					t.Errorf("after Blocking: the fork is promoted: %v, want %v", got, want)
				}
			})
		})
	}
}
