package sched_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestPromoteNowSharesFork: another worker runs a fork after PromoteNow, without another
// fork, a promotion or a join of its body in between.
func TestPromoteNowSharesFork(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	begun := newLatch(1)
	got := sched.ForkJoin(s, func(f *ints, n int) int {
		if n == 1 {
			begun.hit()
			return 1
		}
		f.Fork(1)
		f.PromoteNow()
		begun.wait(t)
		return joined(f, leaf, 1)
	}, 0)
	if promoted := s.Stats().Promoted; got != 1 || promoted != 1 {
		t.Errorf("got %d with %d promoted forks, want 1 with 1", got, promoted)
	}
}

// TestPromoteNowWithoutEffect: PromoteNow makes no task where no fork is private and where
// no worker can take one. The forks before and after it give their own results.
func TestPromoteNowWithoutEffect(t *testing.T) {
	joinedLeaf := func(f *ints, n int) int { return joined(f, leaf, n) }
	hasFailed := t.Failed
	var s *sched.Scheduler
	var end context.CancelFunc
	// withoutEffect calls PromoteNow, which must promote nothing. A Fork may promote because
	// the fork monitor requests it.
	withoutEffect := func(f *ints) {
		before := f.Worker().PromotedEver()
		f.PromoteNow()
		if n := f.Worker().PromotedEver() - before; n != 0 {
			t.Errorf("PromoteNow has promoted %d forks, want none", n)
		}
	}
	for _, tc := range []struct {
		name    string
		workers int
		body    func(f *ints) int
		want    int
	}{
		{"no fork", 2, func(f *ints) int {
			withoutEffect(f)
			f.Fork(5)
			return joinedLeaf(f, 5)
		}, 5},
		{"all promoted", 2, func(f *ints) int {
			f.Fork(5)
			f.PromoteNow()
			withoutEffect(f)
			f.Fork(6)
			sum := joinedLeaf(f, 6)
			return sum + joinedLeaf(f, 5)
		}, 11},
		{"all joined", 2, func(f *ints) int {
			f.Fork(5)
			f.PromoteNow()
			sum := joinedLeaf(f, 5)
			withoutEffect(f)
			f.Fork(6)
			return sum + joinedLeaf(f, 6)
		}, 11},
		{"one worker", 1, func(f *ints) int {
			f.Fork(5)
			withoutEffect(f)
			return joinedLeaf(f, 5)
		}, 5},
		{"no place", 2, func(f *ints) (got int) {
			f.Worker().Blocking(func() {
				f.Fork(5)
				withoutEffect(f)
				got = joinedLeaf(f, 5)
			})
			return got
		}, 5},
		{"ended context", 2, func(f *ints) int {
			end()
			until("the computation sees the end of its context", f.Cancelled)
			f.Fork(5)
			withoutEffect(f)
			return joinedLeaf(f, 5)
		}, 5},
		{"closed scheduler", 2, func(f *ints) int {
			closed := newLatch(1)
			go func() {
				defer closed.hit()
				if _, err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			closed.wait(t)
			f.Fork(5)
			withoutEffect(f)
			return joinedLeaf(f, 5)
		}, 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s = newScheduler(t, sched.Config{MaxWorkers: tc.workers})
			var ctx context.Context
			ctx, end = context.WithCancel(t.Context())
			defer end()
			got, _ := sched.ForkJoinContext(ctx, s, func(f *ints, n int) int { // the error is that of end
				if n > 0 || hasFailed() { // a task of no fork has the argument 0: its body would make another one
					return n
				}
				return tc.body(f)
			}, 0)
			if got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
