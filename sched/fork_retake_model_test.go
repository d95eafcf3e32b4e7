//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
)

// TestModelForkRetakeNotifies: a callback that finds no place after a join has counted as
// a worker for a moment. It notifies for tasks that were pushed in that moment.
func TestModelForkRetakeNotifies(t *testing.T) {
	interleave.Check(t, "fork-retake-notifies", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 1, Spawner: daemonSpawn{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		var begun, held, pushed, ran park.Sema
		for _, sema := range []*park.Sema{&begun, &held, &pushed, &ran} {
			sema.Init(1)
		}
		m.Go("callback", func() {
			s.sync.Enter(1)
			w := newWorker(s, spawnedWorker)
			w.attach(s.takePlace())
			w.frame.Enter()
			defer w.frame.Leave()
			w.releasePlace()
			begun.Post()
			held.Wait()
			w.retakePlace()
			w.withoutPlace(ran.Wait)
			w.endWorker()
		})
		m.Go("do", func() {
			begun.Wait()
			if err := s.Do(&Task{Fn: func(*Worker, *Task) { pushed.Post(); held.Post() }}); err != nil {
				m.Fatalf("Do: %v", err)
			}
		})
		m.Go("caller", func() {
			pushed.Wait()
			if err := s.Schedule(&Task{Fn: func(*Worker, *Task) { ran.Post() }}); err != nil {
				m.Fatalf("Schedule: %v", err)
			}
		})
	})
}
