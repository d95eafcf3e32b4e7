package sched_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// BenchmarkStallAfter measures what Config.StallAfter costs when no worker stalls.
func BenchmarkStallAfter(b *testing.B) {
	for _, after := range []time.Duration{0, 10 * time.Millisecond} {
		for _, workers := range []int{1, 2} {
			s, err := sched.New(sched.Config{MaxWorkers: workers, StallAfter: after})
			if err != nil {
				b.Fatal(err)
			}
			name := func(op string) string { return fmt.Sprintf("op=%s/workers=%d/after=%v", op, workers, after) }
			b.Run(name("reschedule"), func(b *testing.B) { benchReschedule(b, s) })
			b.Run(name("external"), func(b *testing.B) { benchExternal(b, s) })
			b.Run(name("do"), func(b *testing.B) {
				ran := 0
				task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					if err := s.Do(task); err != nil {
						b.Fatal(err)
					}
					n++
				}
				if ran != n {
					b.Fatalf("%d tasks ran, of %d", ran, n)
				}
			})
			if st := s.Stats(); st.Stalls > 0 {
				b.Logf("%d workers were marked as stalled", st.Stalls)
			}
			if err := s.Shutdown(within(b)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// benchReschedule runs two tasks that reschedule themselves. One of them is always queued, so
// the stall monitor runs.
func benchReschedule(b *testing.B, s *sched.Scheduler) {
	b.Helper()
	done := make(chan struct{}, 2)
	n := b.N
	b.ReportAllocs()
	b.ResetTimer()
	for range 2 {
		left := n/2 + 1
		if err := s.Schedule(&sched.Task{Fn: func(w *sched.Worker, t *sched.Task) {
			if left--; left == 0 {
				done <- struct{}{}
				return
			}
			if err := w.Schedule(t); err != nil {
				panic(err)
			}
		}}); err != nil {
			b.Fatal(err)
		}
	}
	<-done
	<-done
}

// benchExternal schedules tasks that only count, as an external caller.
func benchExternal(b *testing.B, s *sched.Scheduler) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	fn := func(*sched.Worker, *sched.Task) {
		if left.Add(-1) == 0 {
			close(done)
		}
	}
	tasks := make([]sched.Task, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range tasks {
		tasks[i].Fn = fn
		if err := s.Schedule(&tasks[i]); err != nil {
			b.Fatal(err)
		}
	}
	<-done
}
