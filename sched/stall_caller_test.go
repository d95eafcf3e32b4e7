package sched

import (
	"testing"
	"time"
)

// guestGone takes the steps of a Do, and of a watch that asks as the guest goes, and looks
// StallAfter later, before the place is put back. Nobody is to be counted out then.
func guestGone(t *testing.T, after time.Duration) *Scheduler {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, StallAfter: after})
	if err != nil {
		t.Fatal(err)
	}
	p := s.enterAsCaller().detach() // the watch has seen the holder before
	p.endOccupancy(s)
	if !p.occupancy.CompareAndSwap(occHeld, occHeld|occProbed) {
		t.Fatalf("the stint is %b", p.occupancy.Load())
	}
	s.attention.Add(1)
	s.replaceStalled()
	if !s.putPlace(p) {
		t.Fatal("closed")
	}
	if bad := s.CheckPlaces(); bad != "" {
		t.Error(bad)
	}
	return s
}

// TestStallGuestGone: a worker stalls at a place whose guest was asked as it went. What is
// queued does not wait for it.
func TestStallGuestGone(t *testing.T) {
	s := guestGone(t, time.Millisecond)
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
			t.Fatalf("the %s task has not run: %d were counted out, full is %t, the word is %v", name, s.cold.stalls.Load(), s.places.full(), s.sync.Load())
		}
	}
}

// TestStallGuestGoneAlone: another guest takes that place. No more callbacks run than there
// are places, and nothing is left of the mark.
func TestStallGuestGoneAlone(t *testing.T) {
	s := guestGone(t, time.Hour)
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
				t.Error("two callbacks ran at once, with one place")
			}
		case <-time.After(10 * time.Second):
			t.Error("TryDo does not return")
		}
	}
	if ran, err := s.TryDo(&Task{Fn: inner}); !ran || err != nil {
		t.Errorf("TryDo = %t, %v", ran, err)
	}
	if bad := s.CheckPlaces(); bad != "" {
		t.Error(bad)
	}
}

// unable starts no worker.
type unable struct{}

func (unable) Spawn(func()) error { return ErrQueued }

// TestStallGuestIsTold: a guest that is counted out before it goes finds out, and makes its
// place a spare one.
func TestStallGuestIsTold(t *testing.T) {
	s, err := New(Config{MaxWorkers: 1, StallAfter: time.Hour, Spawner: unable{}}) // nobody takes the place
	if err != nil {
		t.Fatal(err)
	}
	w := s.enterAsCaller()
	p := w.place
	s.probeAll()
	s.replaceStalled()
	s.returnPlace(w)
	if n, occupancy := s.cold.stalls.Load(), p.occupancy.Load(); n != 1 || occupancy != occSpare || p.stalled {
		t.Errorf("%d were counted out, and the stint is %b", n, occupancy)
	}
}
