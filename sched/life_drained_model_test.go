//go:build interleave

package sched

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
)

// noWorker reports success and starts no worker, so that no task runs.
type noWorker struct{}

func (noWorker) Spawn(func()) error { return nil }

// TestModelDrainedSeesMovedTask: Shutdown does not find the scheduler drained while a task
// that has not run is queued, or is moved by the stall monitor. The holder of the stalled
// place returns it at the same time.
func TestModelDrainedSeesMovedTask(t *testing.T) {
	interleave.Check(t, "sched-drained-sees-moved", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s := newFor(m, Config{MaxWorkers: 1, StallAfter: 1, Spawner: noWorker{}})
		s.SetStallMonitorRuns()
		w := s.newCaller(s.takePlace())
		if err := w.Schedule(&Task{Fn: func(*Worker, *Task) {}}); err != nil {
			m.Fatalf("Schedule: %v", err)
		}
		s.probeAll()
		s.replaceStalled(false)
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
		s := withPlaces(m, 1)
		w := s.newCaller(s.takePlace())
		s.life.phase.Store(draining)
		m.Go("callback", w.releasePlace)
		m.Go("closer", func() {
			if s.drained(context.Background()) {
				m.Fatalf("the scheduler is closed, and a callback blocks")
			}
		})
	})
}

// TestModelDrainKeepsTasks: a draining scheduler accepts the task of a callback without a place,
// and keeps the tasks that Shutdown moves, although the stall monitor marks the only place that
// either of them finds.
func TestModelDrainKeepsTasks(t *testing.T) {
	begin := func(m *interleave.M) (s *Scheduler, task *Task) {
		s = newFor(m, Config{MaxWorkers: 1, StallAfter: 1, Spawner: noWorker{}})
		s.SetStallMonitorRuns()
		s.newCaller(s.takePlace())
		s.probeAll()
		m.Go("stall monitor", func() { s.replaceStalled(false) })
		m.Final(func() {
			if !s.anyQueued() {
				m.Fatalf("an accepted task is in no queue")
			}
		})
		return s, &Task{Fn: func(*Worker, *Task) {}}
	}
	interleave.Check(t, "sched-drain-accepts", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s, task := begin(m)
		s.injection.Seal(new(mpsc.List))
		s.life.phase.Store(draining)
		m.Go("callback", func() {
			w := unplaced(s)
			w.frame.Enter()
			defer w.frame.Leave()
			if err := s.Schedule(task); err != nil {
				m.Fatalf("Schedule in a callback = %v", err)
			}
		})
	})
	interleave.Check(t, "sched-drain-keeps", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s, task := begin(m)
		if err := s.Schedule(task); err != nil {
			m.Fatalf("Schedule: %v", err)
		}
		m.Go("closer", func() {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if s.Shutdown(ctx) == nil {
				m.Fatalf("Shutdown has returned, and the task has not run")
			}
		})
	})
}

// TestModelSweepSteals: Close cancels a task of a group that a thief leaves in the queue of a free
// place, without a Join. The thief takes two of the four tasks while Close finds the queue held.
func TestModelSweepSteals(t *testing.T) {
	interleave.Check(t, "sched-sweep-steals", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s := withPlaces(m, 2)
		thief, owner := s.newCaller(s.takePlace()), s.newCaller(s.takePlace())
		g := s.NewGroup(GroupConfig{})
		var l mpsc.List
		for range 4 {
			t := &Task{Fn: func(*Worker, *Task) {}}
			t.group = g
			l.Push(&t.node)
		}
		g.addScheduled(nil, 4)
		owner.place.list(s)
		owner.place.queue.PushOverflow(&l)
		s.returnPlace(owner)
		m.Go("thief", func() {
			if n, _ := thief.place.steal(s); n != nil {
				g.addFinished(thief.place, 1)
			}
			s.returnPlace(thief)
		})
		m.Go("closer", func() {
			if _, err := s.Close(); err != nil {
				m.Fatalf("Close = %v", err)
			}
		})
		m.Final(func() {
			if !g.isDone() {
				m.Fatalf("tasks of the group are not cancelled")
			}
		})
	})
}
