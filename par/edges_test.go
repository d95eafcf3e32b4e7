package par_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// TestHugeRange: the sizes of chunks do not overflow, however large the range is and
// whatever the first index takes.
func TestHugeRange(t *testing.T) {
	s := newScheduler(t, 1)
	for _, rounds := range []int{0, 1000, 3000, 10_000, 30_000} {
		for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 100} {
			next := 0
			got := recovered(func() {
				par.ForRange(s, n, func(lo, hi int) {
					if lo != next || hi <= lo {
						panic(fmt.Sprintf("range [%d, %d) comes after %d", lo, hi, next))
					}
					if next = hi; lo == 0 {
						spin(rounds)
					}
				})
			})
			if got != nil || next != n {
				t.Errorf("%d rounds, %d indices: panic %v, ended at %d", rounds, n, got, next)
			}
		}
	}
}

// TestContextAtOnce: no call of the body begins after the end of the context.
func TestContextAtOnce(t *testing.T) {
	s := newScheduler(t, 1)
	for _, n := range []int{3, 16, 400, 5000} {
		for _, at := range []int{0, n / 4, n / 2, n - 2} {
			ctx, cancel := context.WithCancel(context.Background())
			calls := 0
			err := par.ForContext(ctx, s, n, func(i int) error {
				if calls++; i == at {
					cancel()
				}
				return nil
			})
			if calls != at+1 || !errors.Is(err, context.Canceled) {
				t.Errorf("n = %d, ended at %d: %d calls, error %v", n, at, calls, err)
			}
			cancel()
		}
	}
}

// TestSeqPanicsWithGoexit: a body may panic with an error that wraps ErrGoexit.
func TestSeqPanicsWithGoexit(t *testing.T) {
	s := newScheduler(t, 2)
	wrapped := fmt.Errorf("mine: %w", sched.ErrGoexit)
	got := recovered(func() {
		par.ForEachSeq(s, func(yield func(int) bool) {
			for i := range 100 {
				if !yield(i) {
					return
				}
			}
		}, func(i int) {
			if i == 50 {
				panic(wrapped)
			}
		})
	})
	err, _ := got.(error)
	if !errors.Is(err, wrapped) {
		t.Errorf("got the panic %v, want %v", got, wrapped)
	}
}
