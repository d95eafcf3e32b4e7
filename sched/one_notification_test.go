package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// TestOneNotificationManyPushes has as many tasks as there are workers, none of which ends
// before all have begun, while workers of tasks before are being started still.
func TestOneNotificationManyPushes(t *testing.T) {
	const workers = 8
	for before := range 6 {
		for range 200 {
			s, err := sched.New(sched.Config{MaxWorkers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for range before {
				done := make(chan struct{})
				if err := s.Go(func() { close(done) }); err != nil {
					t.Fatal(err)
				}
				<-done
			}
			var left atomic.Int32
			left.Store(workers)
			all := make(chan struct{})
			for range workers {
				if err := s.Go(func() {
					if left.Add(-1) == 0 {
						close(all)
					}
					<-all
				}); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-all:
			case <-time.After(time.Minute):
				t.Fatalf("%d tasks before: %d of %d have not begun, while workers are parked: %+v", before, left.Load(), workers, s.Stats())
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
