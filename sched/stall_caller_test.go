package sched

import (
	"context"
	"errors"
	"testing"
	"time"
)

// probedCallerLeaves takes the steps of a Do, and of a stall monitor that probes the place
// when the caller worker leaves it. The monitor looks at the probe before the place is put
// back. It must not mark the place as stalled.
func probedCallerLeaves(t *testing.T, after time.Duration) *Scheduler {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, StallAfter: after})
	if err != nil {
		t.Fatal(err)
	}
	w := s.enterAsCaller()
	w.frame.Leave()
	p := w.detach() // the monitor has seen the holder before
	p.endOccupancy(s)
	if !p.occupancy.CompareAndSwap(occHeld, occHeld|occProbed) {
		t.Fatalf("the occupancy is %b, want occHeld", p.occupancy.Load())
	}
	s.attention.Add(1)
	s.replaceStalled(false)
	if !s.putPlace(p) {
		t.Fatal("the free list is closed")
	}
	if bad := s.CheckPlaces(); bad != "" {
		t.Error(bad)
	}
	return s
}

// TestStallAfterCallerWorkerLeft checks that a caller worker that was probed when it left is
// not marked as stalled. A later stall at that place is noticed, and the queued task runs.
func TestStallAfterCallerWorkerLeft(t *testing.T) {
	s := probedCallerLeaves(t, time.Millisecond)
	begun, ran, gate := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(gate)
	for _, fn := range []func(){func() { close(begun); <-gate }, func() { close(ran) }} {
		if err := s.Go(fn); err != nil {
			t.Fatal(err)
		}
	}
	for name, done := range map[string]chan struct{}{"first": begun, "second": ran} {
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("the %s task has not run: %d workers are stalled, full is %t, the Sync word is %v", name, s.cold.stalls.Load(), s.full(), s.sync.Load())
		}
	}
}

// TestStallMovesTasks checks that the stall monitor moves the tasks of a stalled place to the
// injection queue, and that it leaves those of other places where they are.
func TestStallMovesTasks(t *testing.T) {
	s, err := New(Config{MaxWorkers: 1, StallAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.SetStallMonitorRuns()
	queued := func() (atPlace, injected bool) {
		return !s.places.all[0].Load().queue.Empty(), !s.injection.Empty()
	}
	if err := s.Do(&Task{Fn: func(w *Worker, _ *Task) {
		s.config.Spawner = noSpawner{} // no thief takes the task
		if err := w.Schedule(&Task{Fn: func(*Worker, *Task) {}}); !errors.Is(err, ErrQueued) {
			t.Errorf("Schedule = %v, want ErrQueued", err)
		}
		s.ProbeAll()
		s.DrainStalled()
		if atPlace, injected := queued(); !atPlace || injected {
			t.Errorf("a place that is not stalled: a task at the place is %t, in the injection queue %t", atPlace, injected)
		}
		s.ReplaceStalled()
		s.DrainStalled()
		if atPlace, injected := queued(); atPlace || !injected {
			t.Errorf("a stalled place: a task at the place is %t, in the injection queue %t", atPlace, injected)
		}
	}}); err != nil {
		t.Fatal(err)
	}
}

// TestStallNextHolderClearsProbe checks that the next caller worker at that place clears the
// probe of the last one, and that no more callbacks run than there are places.
func TestStallNextHolderClearsProbe(t *testing.T) {
	s := probedCallerLeaves(t, time.Hour)
	nothing := func(*Worker, *Task) {}
	inner := func(*Worker, *Task) {
		done := make(chan bool, 1)
		go func() {
			ran, err := s.TryDo(&Task{Fn: nothing})
			done <- ran || err != nil
		}()
		select {
		case ran := <-done:
			if ran {
				t.Error("two callbacks ran at once on one place")
			}
		case <-time.After(10 * time.Second):
			t.Error("TryDo has not returned within 10 s")
		}
	}
	if ran, err := s.TryDo(&Task{Fn: inner}); !ran || err != nil {
		t.Errorf("TryDo = %t, %v", ran, err)
	}
	if bad := s.CheckPlaces(); bad != "" {
		t.Error(bad)
	}
}

// noSpawner never starts a worker.
type noSpawner struct{}

func (noSpawner) Spawn(func()) error { return ErrQueued }

// TestStallMarkedCallerWorkerLeavesSparePlace checks that a caller worker that is marked as
// stalled before it leaves finds the mark, and makes its place a spare one.
func TestStallMarkedCallerWorkerLeavesSparePlace(t *testing.T) {
	s, err := New(Config{MaxWorkers: 1, StallAfter: time.Hour, Spawner: noSpawner{}}) // no worker takes the place
	if err != nil {
		t.Fatal(err)
	}
	w := s.enterAsCaller()
	defer w.frame.Leave()
	p := w.place
	s.probeAll()
	s.replaceStalled(false)
	s.returnPlace(w)
	if n, occupancy := s.cold.stalls.Load(), p.occupancy.Load(); n != 1 || occupancy != occSpare || p.stalled {
		t.Errorf("%d workers were marked, the occupancy is %b, stalled is %t; want 1, occSpare, false", n, occupancy, p.stalled)
	}
}

// TestStallMonitorProbesHeldPlacesOnly: the monitor does not probe a free place whose last caller
// worker has left its occupancy word. The probe would make each worker read its own word after each
// task, until the place is taken again.
func TestStallMonitorProbesHeldPlacesOnly(t *testing.T) {
	s, err := New(Config{MaxWorkers: 2, StallAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Do(&Task{Fn: func(*Worker, *Task) {}}); err != nil {
		t.Fatal(err)
	}
	left := false
	s.places.each(func(p *place) { left = left || p.occupancy.Load() == occHeld && p.holder.Load() == 0 })
	if !left {
		t.Fatal("no caller worker has left its occupancy word")
	}
	s.ProbeAll()
	if n := s.Attention(); n != 0 {
		t.Errorf("the attention counter is %d, want 0", n)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}
