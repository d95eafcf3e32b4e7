//go:build interleave

package sched

import "testing"

// newStack returns a worker with a place, and a stack of pointers in use on it. Nobody
// else runs.
func newStack(t *testing.T) (*Worker, *Forks[*int, int]) {
	t.Helper()
	s, err := New(Config{MaxWorkers: 1, Spawner: failingSpawn{}})
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{s: s, callerWorker: true}
	w.attach(s.takePlace())
	f := takeForks[*int, int](w)
	f.body = func(_ *Forks[*int, int], p *int) int { return *p }
	w.enterForks(&f.forkHead)
	return w, f
}

// failingSpawn starts no workers.
type failingSpawn struct{}

func (failingSpawn) Spawn(func()) error { return ErrQueued }

// TestModelForkRetainsNothing: nothing of a fork with a pointer is reachable from the stack
// after its join, whichever way that goes.
func TestModelForkRetainsNothing(t *testing.T) {
	ways := []struct {
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
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			_, f := newStack(t)
			n := 7
			f.Push(&n)
			if got := way.join(f); got != 7 {
				t.Errorf("the join returned %d", got)
			}
			for i, p := range f.slots {
				if p != nil {
					t.Errorf("slot %d holds a pointer", i)
				}
			}
			for i, k := range f.promoted[:cap(f.promoted)] {
				if k != nil {
					t.Errorf("promoted fork %d is still there", i)
				}
			}
			if f.top != 0 || f.prom != 0 {
				t.Errorf("top %d, prom %d", f.top, f.prom)
			}
		})
	}
}
