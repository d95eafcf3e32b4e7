package sched

import "testing"

// TestGoroutineHoldsOnePlace: a callback that has released its place takes none while its
// goroutine runs a Do, which has a place of its own, and none while that Do blocks.
func TestGoroutineHoldsOnePlace(t *testing.T) {
	s, err := New(Config{MaxWorkers: 3})
	if err != nil {
		t.Fatal(err)
	}
	w := s.newCaller(s.takePlace())
	w.enterFrame()
	defer w.endDo()
	w.releasePlace()
	err = s.Do(&Task{Fn: func(inner *Worker, _ *Task) {
		w.retakePlace()
		if w.place != nil {
			t.Error("a goroutine that holds the place of its Do has taken another one")
		}
		inner.Blocking(func() {
			w.retakePlace()
			if w.place != nil {
				t.Error("a goroutine that blocks in its Do has taken a place")
			}
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.retakePlace()
	if w.place == nil {
		t.Error("the callback has taken no place, although one is free")
	}
}
