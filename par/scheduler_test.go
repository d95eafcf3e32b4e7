package par_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

// onScheduler has each function of the package, with an input that is large enough for it to
// enter the scheduler. The result is the same for every scheduler.
var onScheduler = map[string]func(ctx context.Context, s *sched.Scheduler) any{
	"Sort":        func(_ context.Context, s *sched.Scheduler) any { x := descending(); par.Sort(s, x); return x },
	"SortContext": func(ctx context.Context, s *sched.Scheduler) any { return par.SortContext(ctx, s, descending()) },
	"SortFunc": func(_ context.Context, s *sched.Scheduler) any {
		x := descending()
		par.SortFunc(s, x, cmp.Compare[int])
		return x
	},
	"SortFuncContext": func(ctx context.Context, s *sched.Scheduler) any {
		return par.SortFuncContext(ctx, s, descending(), cmp.Compare[int])
	},
	"SortStableFunc": func(_ context.Context, s *sched.Scheduler) any {
		x := descending()
		par.SortStableFunc(s, x, cmp.Compare[int])
		return x
	},
	"SortStableFuncContext": func(ctx context.Context, s *sched.Scheduler) any {
		return par.SortStableFuncContext(ctx, s, descending(), cmp.Compare[int])
	},
	"Scan": func(_ context.Context, s *sched.Scheduler) any { x := descending(); par.Scan(s, x, x, sum); return x },
	"ScanExclusive": func(_ context.Context, s *sched.Scheduler) any {
		x := descending()
		return par.ScanExclusive(s, x, x, 0, sum)
	},
	"Filter": func(_ context.Context, s *sched.Scheduler) any {
		return par.Filter(s, descending(), func(i int) bool { return i%3 == 0 })
	},
	"Reduce":      func(_ context.Context, s *sched.Scheduler) any { return par.Reduce(s, descending(), 0, sum) },
	"ReduceFixed": func(_ context.Context, s *sched.Scheduler) any { return par.ReduceFixed(s, descending(), 100, 0, sum) },
	"Fold": func(_ context.Context, s *sched.Scheduler) any {
		return par.Fold(s, descending(), func() int { return 0 }, sum, sum)
	},
	"Find": func(_ context.Context, s *sched.Scheduler) any {
		i, ok := par.Find(s, descending(), func(i int) bool { return i == 0 })
		return fmt.Sprint(i, ok)
	},
	"Invoke": func(_ context.Context, s *sched.Scheduler) any {
		n := make([]int, 2)
		par.Invoke(s, func() { n[0]++ }, func() { n[1]++ })
		return n
	},
	"MapSeq": func(_ context.Context, s *sched.Scheduler) any {
		return slices.Collect(par.MapSeq(s, slices.Values(descending()), func(i int) int { return -i }))
	},
}

func init() {
	for _, f := range forms {
		onScheduler[f.name] = func(_ context.Context, s *sched.Scheduler) any {
			calls := make([]int, 20_000)
			f.run(s, len(calls), func(i int) { calls[i]++ })
			return calls
		}
	}
	for _, f := range contextForms {
		onScheduler[f.name+" that fails"] = func(ctx context.Context, s *sched.Scheduler) any {
			return f.run(ctx, s, 20_000, func(i int) error {
				if i >= 15_000 {
					return errors.New(fmt.Sprint("failed at ", i))
				}
				return nil
			})
		}
	}
}

func sum(a, b int) int { return a + b }

func descending() []int {
	x := numbers(20_000)
	slices.Reverse(x)
	return x
}

// TestNilSchedulerIsTheDefault: each function does the same with a nil scheduler as with any
// other, also with a context that has ended. V-01.
func TestNilSchedulerIsTheDefault(t *testing.T) {
	s := newScheduler(t, 2)
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("ended"))
	for name, fn := range onScheduler {
		for _, ctx := range []context.Context{context.Background(), ended} {
			if got, want := fmt.Sprint(fn(ctx, nil)), fmt.Sprint(fn(ctx, s)); got != want {
				t.Errorf("%s, context %v: got %.200s, want %.200s", name, ctx.Err(), got, want)
			}
		}
	}
}

// TestNilSchedulerInABubble: in a bubble of testing/synctest each function panics when its
// scheduler is nil, however short its loop is. V-05f.
func TestNilSchedulerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, fn := range onScheduler {
			if got := fmt.Sprint(recovered(func() { fn(context.Background(), nil) })); !strings.Contains(got, "synctest bubble") {
				t.Errorf("%s: got the panic %v", name, got)
			}
		}
		for n := range 3 {
			if recovered(func() { par.For(nil, n, func(int) {}) }) == nil {
				t.Errorf("For over %d indices does not panic", n)
			}
		}
	})
}
