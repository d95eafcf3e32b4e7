//go:build interleave

package sched

import "testing"

// newStack returns a worker with a place, and a stack of pointers that is in use on it. No
// other goroutine runs.
func newStack(t *testing.T) (*Worker, *Forks[*int, int]) {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, Spawner: failingSpawn{}})
	if err != nil {
		t.Fatal(err)
	}
	w := s.newCaller(s.takePlace())
	f := takeForks[*int, int](w)
	f.body = func(_ *Forks[*int, int], p *int) int { return *p }
	f.enter(w)
	return w, f
}

// failingSpawn is a Spawner that starts no worker.
type failingSpawn struct{}

func (failingSpawn) Spawn(func()) error { return ErrQueued }

// TestModelForkRetainsNothing: after each kind of join, nothing of a fork with a pointer
// is reachable from the stack.
func TestModelForkRetainsNothing(t *testing.T) {
	joins := []struct {
		name string
		join func(f *Forks[*int, int]) int
	}{
		{"TakeBackPointer", func(f *Forks[*int, int]) int {
			f.TakeBackPointer()
			return 7
		}},
		{"Await of a private fork", func(f *Forks[*int, int]) int {
			if f.TakeBack() {
				t.Error("TakeBack took a fork whose slot holds a pointer")
			}
			return f.Await()
		}},
		{"Await of a promoted fork", func(f *Forks[*int, int]) int {
			f.SetDemand()
			f.Promote()
			if f.slots[0] != nil || f.TakeBackPointer() || len(f.promoted) != 1 {
				t.Error("the fork was not promoted out of its slot")
			}
			return f.Await()
		}},
		{"close", func(f *Forks[*int, int]) int {
			f.SetDemand()
			f.Promote()
			f.Push(new(int))
			f.close(false)
			return 7
		}},
	}
	for _, tc := range joins {
		t.Run(tc.name, func(t *testing.T) {
			_, f := newStack(t)
			n := 7
			f.Push(&n)
			if got := tc.join(f); got != 7 {
				t.Errorf("the join returned %d", got)
			}
			for i, p := range f.slots {
				if p != nil {
					t.Errorf("slot %d holds a pointer", i)
				}
			}
			for i, k := range f.promoted[:cap(f.promoted)] {
				if k != nil {
					t.Errorf("promoted fork %d is still reachable", i)
				}
			}
			if f.top != 0 || f.prom != 0 {
				t.Errorf("top %d, prom %d, want 0 and 0", f.top, f.prom)
			}
		})
	}
}
