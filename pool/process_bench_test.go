//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package pool_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/pool"
)

// BenchmarkProcessCall calls a worker process, one call after another. quiet is the time between two calls.
func BenchmarkProcessCall(b *testing.B) {
	proctest.Need(b)
	for _, quiet := range []time.Duration{0, 300 * time.Microsecond} {
		b.Run(fmt.Sprintf("quiet=%v", quiet), func(b *testing.B) {
			h, tasks := newTasks()
			p := openProcesses(h, pool.Config{Lanes: 1, Process: new(pool.Process)})
			defer p.Close()
			var times []time.Duration
			for b.Loop() {
				for until := time.Now().Add(quiet); quiet != 0 && time.Now().Before(until); {
				}
				start := time.Now()
				if _, err := tasks.next.Call(context.Background(), 1); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
			b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
		})
	}
}

// BenchmarkProcessPipeline has 32 calls outstanding, of one caller.
func BenchmarkProcessPipeline(b *testing.B) {
	proctest.Need(b)
	h, tasks := newTasks()
	p := openProcesses(h, pool.Config{Lanes: 1, Process: new(pool.Process)})
	defer p.Close()
	var futures [32]*pool.Future[int]
	ctx := context.Background()
	for i := 0; b.Loop(); i++ {
		oldest := i % len(futures)
		if f := futures[oldest]; f != nil {
			if _, err := f.Wait(ctx); err != nil {
				b.Fatal(err)
			}
		}
		futures[oldest] = tasks.next.Go(ctx, i)
	}
}

// BenchmarkProcessCallers has callers that call a worker process at once.
func BenchmarkProcessCallers(b *testing.B) {
	proctest.Need(b)
	for _, lanes := range []int{1, 2} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			h, tasks := newTasks()
			p := openProcesses(h, pool.Config{Lanes: lanes, Process: new(pool.Process)})
			defer p.Close()
			b.SetParallelism(2)
			b.RunParallel(func(b *testing.PB) {
				for b.Next() {
					_, _ = tasks.next.Call(context.Background(), 1)
				}
			})
		})
	}
}
