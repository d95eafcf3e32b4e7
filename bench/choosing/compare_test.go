package choosing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/rusage"
	"github.com/lanewright/lanewright/pool"
	"github.com/lanewright/lanewright/sched"
)

// way is one way to do the work of a benchmark. run returns an error when the result is
// wrong.
type way struct {
	name string
	run  func() error
}

// compare runs all ways once in each round, and prints a Markdown table of the medians.
// Each round begins with another way, so that no way has the first turn in all rounds.
// A ratio is the time of a way over that of the first way in the same round. before is
// called before each run and is not measured; it may be nil. ops is the number of
// operations in one run. When it is not 0, times are those of one operation.
func compare(b *testing.B, ops int, before func(), ways ...way) {
	b.Helper()
	wall := make([][]float64, len(ways))
	processor := make([][]float64, len(ways))
	round := 0
	for b.Loop() {
		for i := range ways {
			i = (i + round) % len(ways)
			if before != nil {
				before()
			}
			used, _ := rusage.CPU()
			start := time.Now()
			if err := ways[i].run(); err != nil {
				b.Fatalf("%s: %v", ways[i].name, err)
			}
			wall[i] = append(wall[i], float64(time.Since(start)))
			after, _ := rusage.CPU()
			processor[i] = append(processor[i], float64(after-used))
		}
		round++
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n| way | time | processor time | ratio | least to most |\n| --- | ---: | ---: | ---: | ---: |\n")
	for i, w := range ways {
		ratios := make([]float64, round)
		for r := range ratios {
			ratios[r] = wall[i][r] / wall[0][r]
		}
		slices.Sort(ratios)
		per := float64(max(1, ops))
		fmt.Fprintf(&table, "| %s | %s | %s | %.2f | %.2f to %.2f |\n", w.name,
			readable(median(wall[i])/per), readable(median(processor[i])/per),
			median(ratios), ratios[0], ratios[len(ratios)-1])
	}
	b.ReportMetric(0, "ns/op") // hides the time of all ways together
	b.Log(table.String())
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// readable formats a number of nanoseconds with a unit.
func readable(ns float64) string {
	for _, unit := range []string{"ns", "µs", "ms"} {
		if ns < 1000 {
			return fmt.Sprintf("%.3g %s", ns, unit)
		}
		ns /= 1000
	}
	return fmt.Sprintf("%.3g s", ns)
}

// small makes the runs short, for the test of the benchmarks.
var small bool

// size returns n, or a small part of it for the test.
func size(n int) int {
	if small {
		return cmp.Or(n/100, 4)
	}
	return n
}

// newScheduler returns a scheduler that ends with the benchmark.
func newScheduler(b *testing.B, c sched.Config) *sched.Scheduler {
	b.Helper()
	s, err := sched.New(c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

// newPool is openPool for a benchmark that needs only the function of the task.
func newPool[A, R any](b *testing.B, c pool.Config, handler func(context.Context, A) (R, error)) *pool.Func[A, R] {
	b.Helper()
	f, _ := openPool(b, c, handler)
	return f
}

// openPool returns the function of a task, and its pool, which ends with the benchmark. opts are
// the options of the task.
func openPool[A, R any](b *testing.B, c pool.Config, handler func(context.Context, A) (R, error), opts ...pool.TaskOptions) (*pool.Func[A, R], *pool.Pool) {
	b.Helper()
	var h pool.Handlers
	f := pool.Register(&h, "task", handler, opts...)
	p, err := pool.New(&h, c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return f, p
}

// callAll calls f once for each argument, without waiting in between, and returns the
// first error.
func callAll[A, R any](f *pool.Func[A, R], args []A) (err error) {
	ctx := context.Background()
	futures := make([]*pool.Future[R], len(args))
	for i, a := range args {
		futures[i] = f.Go(ctx, a)
	}
	for _, future := range futures {
		if _, e := future.Wait(ctx); err == nil {
			err = e
		}
	}
	return err
}
