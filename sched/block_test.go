package sched

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestGoroutineHoldsOnePlace: a fork-join body that has released its place takes none while its
// goroutine runs a Do, which has a place of its own, and none while that Do blocks.
func TestGoroutineHoldsOnePlace(t *testing.T) {
	s, err := New(Config{MaxWorkers: 3})
	if err != nil {
		t.Fatal(err)
	}
	ForkJoin(s, func(f *Forks[int, int], _ int) int {
		w := f.w
		w.releasePlace()
		err := s.Do(&Task{Fn: func(inner *Worker, _ *Task) {
			w.settle()
			if w.place != nil {
				t.Error("a goroutine that holds the place of its Do has taken another one")
			}
			inner.Blocking(func() {
				w.settle()
				if w.place != nil {
					t.Error("a goroutine that blocks in its Do has taken a place")
				}
			})
		}})
		if err != nil {
			t.Error(err)
		}
		w.settle()
		p := w.place
		if p == nil {
			t.Error("the body has taken no place, although one is free")
		}
		if w.settle(); w.place != p {
			t.Error("the body has taken another place in addition to its own")
		}
		return 0
	}, 0)
}

// TestJoinTakesAFreePlace: a fork-join body without a place takes one when it joins a fork that
// another worker has run.
func TestJoinTakesAFreePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{MaxWorkers: 2})
		if err != nil {
			t.Fatal(err)
		}
		got := ForkJoin(s, func(f *Forks[int, int], n int) int {
			if n > 0 {
				return n
			}
			f.Fork(1)
			f.w.releasePlace()
			synctest.Wait() // another worker has run the fork
			n = f.Await()
			if f.w.place == nil {
				t.Error("the body has taken no place, although one is free")
			}
			return n
		}, 0)
		if got != 1 {
			t.Errorf("ForkJoin = %d, want 1", got)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
