package sched_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

// TestOneNotificationManyPushes: as many tasks as MaxWorkers run at the same time, although one
// notification may stand for several pushes and workers of earlier tasks are still starting.
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
			case <-time.After(patience.Limit):
				t.Fatalf("after %d tasks, %d of %d tasks have not begun while workers are parked: %+v", before, left.Load(), workers, s.Stats())
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
