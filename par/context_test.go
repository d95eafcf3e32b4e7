package par_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// contextForms are the loops that may fail.
var contextForms = []struct {
	name string
	run  func(ctx context.Context, s *sched.Scheduler, n int, body func(i int) error) error
}{
	{"ForContext", par.ForContext},
	{"ForRangeContext", func(ctx context.Context, s *sched.Scheduler, n int, body func(i int) error) error {
		return par.ForRangeContext(ctx, s, n, func(lo, hi int) error {
			for i := lo; i < hi; i++ {
				if err := body(i); err != nil {
					return err
				}
			}
			return nil
		})
	}},
	{"ForEachContext", func(ctx context.Context, s *sched.Scheduler, n int, body func(i int) error) error {
		return par.ForEachContext(ctx, s, make([]struct{}, n), func(i int, _ *struct{}) error { return body(i) })
	}},
	{"MapContext", func(ctx context.Context, s *sched.Scheduler, n int, body func(i int) error) error {
		out, err := par.MapContext(ctx, s, numbers(n), func(i int) (int, error) { return i, body(i) })
		if (out == nil) != (err != nil) {
			return fmt.Errorf("results %t with error %w", out != nil, err)
		}
		return err
	}},
}

// TestErrorOfLowestIndex: the error is that of the lowest index that fails, and all lower
// indices have run.
func TestErrorOfLowestIndex(t *testing.T) {
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, form := range contextForms {
			t.Run(form.name, func(t *testing.T) {
				for _, n := range []int{1, 2, 40, 600} {
					for _, at := range []int{0, 1, n / 3, n - 1} {
						if at >= n {
							continue
						}
						done := make([]atomic.Bool, n)
						err := form.run(context.Background(), s, n, func(i int) error {
							spin(200)
							done[i].Store(true)
							if i >= at && (i-at)%7 == 0 {
								return fmt.Errorf("failed at %d", i)
							}
							return nil
						})
						if want := fmt.Sprintf("failed at %d", at); err == nil || err.Error() != want {
							t.Fatalf("n=%d: got %v, want %s", n, err, want)
						}
						for i := range at {
							if !done[i].Load() {
								t.Fatalf("n=%d: failed at %d, and index %d has not run", n, at, i)
							}
						}
					}
				}
			})
		}
	})
}

// TestErrorKeepsLowerIndices: an error ends the indices above its own and no lower ones.
// The error of the loop is that of the lowest index, also if the ranges above have ended
// before that index runs.
func TestErrorKeepsLowerIndices(t *testing.T) {
	for _, form := range contextForms {
		t.Run(form.name, func(t *testing.T) {
			const lowest = 40
			s, hit := lateHit(t, lowest)
			within(t, func() {
				err := form.run(context.Background(), s, 1000, func(i int) error {
					if hit(i) {
						return fmt.Errorf("failed at %d", i)
					}
					return nil
				})
				if want := fmt.Sprintf("failed at %d", lowest); err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		})
	}
}

// lateHit returns a scheduler and the function of a loop over 1000 indices, which hits from
// index lowest on. The loop is shared in two parts, and the lower part hits only when the upper
// part has ended by a hit of its own.
func lateHit(t *testing.T, lowest int) (s *sched.Scheduler, hit func(i int) bool) {
	t.Helper()
	s = newScheduler(t, 2)
	begun, ended := make(chan struct{}), make(chan struct{})
	var begin sync.Once
	return s, func(i int) bool {
		switch {
		case i == 0:
			for start := time.Now(); time.Since(start) < time.Millisecond; {
				continue // a loop of a second is shared at once
			}
		case i == 1:
			// The upper part keeps the other worker, so the task runs after that part.
			<-begun
			if err := s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(ended) }}); err != nil {
				t.Error(err)
			}
			<-ended
		case i >= lowest:
			begin.Do(func() { close(begun) })
			return true
		}
		return false
	}
}

// TestCancelReturnsCause: the context may end at any index. The loop then returns its
// cause, unless all indices have run.
func TestCancelReturnsCause(t *testing.T) {
	cause := errors.New("enough")
	schedulers(t, func(t *testing.T, s *sched.Scheduler) {
		t.Helper()
		for _, form := range contextForms {
			t.Run(form.name, func(t *testing.T) {
				for _, n := range []int{1, 2, 40, 600} {
					for _, at := range []int{0, 1, n / 3, n - 1} {
						if at >= n {
							continue
						}
						ctx, cancel := context.WithCancelCause(context.Background())
						var done atomic.Int64
						err := form.run(ctx, s, n, func(i int) error {
							spin(200)
							done.Add(1)
							if i == at {
								cancel(cause)
							}
							return nil
						})
						if got := int(done.Load()); (got < n) != (err != nil) || got > n {
							t.Fatalf("at %d of %d: %d indices have run, the error is %v", at, n, got, err)
						}
						if err != nil && !errors.Is(err, cause) {
							t.Fatalf("at %d of %d: got the error %v", at, n, err)
						}
						if err := form.run(ctx, s, n, func(int) error { panic("called") }); !errors.Is(err, cause) {
							t.Fatalf("with a context that has ended: got %v", err)
						}
						cancel(nil)
					}
				}
			})
		}
	})
}

// TestCancelEndsLoop: an endless loop ends when its context ends.
func TestCancelEndsLoop(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, workers)
		ctx, cancel := context.WithCancel(context.Background())
		within(t, func() {
			err := par.ForRangeContext(ctx, s, math.MaxInt, func(lo, _ int) error {
				if lo > 100_000 {
					cancel()
				}
				spin(100)
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		cancel()
	}
}

// TestNoCallAfterCancel: no call of the body begins after the end of the context.
func TestNoCallAfterCancel(t *testing.T) {
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
