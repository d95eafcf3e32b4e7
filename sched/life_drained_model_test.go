//go:build interleave

package sched

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// noWorker reports success and starts no worker, so that no task runs.
type noWorker struct{}

func (noWorker) Spawn(func()) error { return nil }

// TestModelDrainedSeesMovedTask: Shutdown does not find the scheduler drained while a task
// that has not run is queued, or is moved by the stall monitor. The holder of the stalled
// place returns it at the same time.
func TestModelDrainedSeesMovedTask(t *testing.T) {
	interleave.Check(t, "sched-drained-sees-moved", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 1, StallAfter: 1, Spawner: noWorker{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		s.SetStallMonitorRuns()
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		if err := w.Schedule(&Task{Fn: func(*Worker, *Task) {}}); err != nil {
			m.Fatalf("Schedule: %v", err)
		}
		s.probeAll()
		s.replaceStalled()
		s.life.phase.Store(draining)
		m.Go("holder", func() { s.returnPlace(w) })
		m.Go("stall monitor", s.drainStalled)
		m.Go("closer", func() {
			if s.drained(context.Background()) {
				m.Fatalf("the scheduler is closed, and a task has not run")
			}
		})
	})
}

// TestModelShutdownBlocks: Shutdown does not find the scheduler drained while a callback
// blocks, at whichever step the callback has released its place.
func TestModelShutdownBlocks(t *testing.T) {
	interleave.Check(t, "sched-drained-sees-blocked", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 1, Spawner: noWorker{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		s.life.phase.Store(draining)
		m.Go("callback", w.releasePlace)
		m.Go("closer", func() {
			if s.drained(context.Background()) {
				m.Fatalf("the scheduler is closed, and a callback blocks")
			}
		})
	})
}
