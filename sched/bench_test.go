package sched_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// benchScheduler returns a scheduler that is shut down when the benchmark ends.
func benchScheduler(b *testing.B, workers int) *sched.Scheduler {
	b.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Shutdown(b.Context()); err != nil {
			b.Log(err) // the context of a benchmark has ended when its cleanup runs
			_, _ = s.Close()
		}
	})
	return s
}

func BenchmarkSchedule(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("from=outside/workers=%d", workers), func(b *testing.B) {
			s := benchScheduler(b, workers)
			tasks := make([]sched.Task, 100_000)
			b.ReportAllocs()
			for b.Loop() {
				var left atomic.Int64
				left.Store(int64(len(tasks)))
				done := make(chan struct{})
				fn := func(*sched.Worker, *sched.Task) {
					if left.Add(-1) == 0 {
						close(done)
					}
				}
				for i := range tasks {
					tasks[i].Fn = fn
					_ = s.Schedule(&tasks[i])
				}
				<-done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tasks)), "ns/task")
		})
		b.Run(fmt.Sprintf("from=itself/workers=%d", workers), func(b *testing.B) {
			s := benchScheduler(b, workers)
			const rounds = 100_000
			b.ReportAllocs()
			for b.Loop() {
				left := rounds
				done := make(chan struct{})
				task := &sched.Task{}
				task.Fn = func(w *sched.Worker, t *sched.Task) {
					if left--; left == 0 {
						close(done)
						return
					}
					_ = w.Schedule(t)
				}
				_ = s.Schedule(task)
				<-done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rounds, "ns/task")
		})
	}
}

// leafTask is a node of a binary tree in an array: node i has the children 2i+1 and 2i+2.
type leafTask = sched.Job[int]

func BenchmarkTree(b *testing.B) {
	const nodes = 1<<17 - 1
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("count=group/workers=%d", workers), func(b *testing.B) {
			s := benchScheduler(b, workers)
			g := s.NewGroup(sched.GroupConfig{})
			tree := make([]leafTask, nodes)
			for i := range tree {
				tree[i].Value = i
				tree[i].Fn = func(w *sched.Worker, j *leafTask) {
					if c := 2*j.Value + 1; c < nodes {
						_ = g.Schedule(w, tree[c].Task())
						_ = g.Schedule(w, tree[c+1].Task())
					}
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = g.Schedule(nil, tree[0].Task())
				_ = g.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/task")
		})
	}
}

func BenchmarkDo(b *testing.B) {
	s := benchScheduler(b, 2)
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
	b.Run("tasks=1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Do(task)
		}
	})
	other := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
	b.Run("tasks=2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Do(task, other)
		}
	})
}

func BenchmarkGroup(b *testing.B) {
	s := benchScheduler(b, 2)
	b.Run("op=go+wait/tasks=8", func(b *testing.B) {
		b.ReportAllocs()
		g := s.NewGroup(sched.GroupConfig{})
		for b.Loop() {
			for range 8 {
				g.Go(func() error { return nil })
			}
			_ = g.Wait()
		}
	})
	b.Run("op=goroutines/tasks=8", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {})
			}
			wg.Wait()
		}
	})
	b.Run("op=nested", func(b *testing.B) {
		b.ReportAllocs()
		child := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
		n := b.N
		_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			var g sched.Group
			b.ResetTimer()
			for range n {
				_ = g.Schedule(w, child)
				_ = w.Wait(&g)
			}
		}})
	})
}
