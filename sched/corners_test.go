package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestScheduledBatchCopy: a copy of a batch that was scheduled is refused while
// the tasks are queued.
func TestScheduledBatchCopy(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
	must(t, err)
	var b sched.Batch
	ran := 0
	for range 2 {
		must(t, b.Add(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}))
	}
	clone := copyBatch(&b)
	must(t, queuedOrNil(s.ScheduleBatch(&b)))
	wantIn(t, "ScheduleBatch(copy)", s.ScheduleBatch(clone), sched.ErrAlreadyScheduled)
	must(t, s.Shutdown(t.Context()))
	if ran != 2 {
		t.Errorf("%d tasks ran, want 2", ran)
	}
}

// TestQueuesHaveTheirTurn: a task that reschedules itself for as long as it may
// keeps neither the injection queue nor the own overflow queue from its turn.
func TestQueuesHaveTheirTurn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		queue func(w *sched.Worker, other *sched.Task) error
	}{
		{"injection", func(w *sched.Worker, other *sched.Task) error {
			return w.Scheduler().Schedule(other)
		}},
		{"overflow", func(w *sched.Worker, other *sched.Task) error {
			err := w.Schedule(other) // the oldest in the ring: it goes when the ring is full
			for range ringSize {
				err = errors.Join(err, w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}))
			}
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			other := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { cancel() }}
			turns := 0
			must(t, queuedOrNil(s.Schedule(&sched.Task{Fn: func(w *sched.Worker, self *sched.Task) {
				if turns++; turns == 1 {
					if err := tc.queue(w, other); err != nil {
						t.Error(err)
					}
				}
				if turns == 1000*fairEvery {
					t.Error("the other task has not had its turn")
					cancel()
				}
				if err := w.Schedule(self); err != nil {
					t.Error(err)
				}
			}})))
			mustBe(t, s.Run(ctx), context.Canceled)
		})
	}
}
