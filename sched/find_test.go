package sched

import (
	"testing"

	"github.com/lanewright/lanewright/runqueue"
)

// TestSpinBeforeARefill: the rounds that a worker spins before a refill from the injection queue are
// in proportion to the tasks of the last refill. It spins neither after one task nor after many. One
// spin ends that, also if the refill after it finds no task.
func TestSpinBeforeARefill(t *testing.T) {
	for _, tc := range []struct {
		tasks  int
		rounds uint32
	}{
		{1, 0},
		{2, 2 * spinPerTask},
		{10, 10 * spinPerTask},
		{32, maxRefillSpin},
		{drainedTasks - 1, maxRefillSpin},
		{drainedTasks, 0},
		{2 * drainedTasks, 0},
	} {
		if tc.tasks > runqueue.Capacity/2 {
			continue // a refill of a small ring takes less
		}
		s, err := New(Config{MaxWorkers: 1, Spawner: noSpawn{}})
		if err != nil {
			t.Fatal(err)
		}
		for range tc.tasks {
			_ = s.Schedule(&Task{Fn: func(*Worker, *Task) {}}) // no worker can be started
		}
		w := s.newCaller(s.takePlace())
		p := w.place
		if n, _ := p.find(s, w); n == nil || p.queue.Len() != tc.tasks-1 {
			t.Fatalf("the refill took %d tasks, want %d", p.queue.Len()+1, tc.tasks)
		}
		if p.refillSpin != tc.rounds {
			t.Errorf("after %d tasks: %d rounds before the next refill, want %d", tc.tasks, p.refillSpin, tc.rounds)
		}
		for p.queue.Pop() != nil {
		}
		if n, _ := p.find(s, w); n != nil || p.refillSpin != 0 {
			t.Errorf("after a refill without a task: %d rounds before the next one, want 0", p.refillSpin)
		}
		s.returnPlace(w)
	}
}

// noSpawn is a Spawner that always fails.
type noSpawn struct{}

func (noSpawn) Spawn(func()) error { return ErrQueued }
