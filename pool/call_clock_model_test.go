//go:build interleave

package pool_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/pool"
)

// TestModelClock checks that a timer that fires at any moment ends the call whose deadline it
// has. It ends no later call in the same memory. A timer that fires early ends none.
func TestModelClock(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, tc := range []struct {
		name      string
		deadlines []time.Time
		fires     int
	}{
		{"pool-clock-then-none", []time.Time{past, {}}, 1},
		{"pool-clock-then-later", []time.Time{past, future}, 2},
		{"pool-clock-early", []time.Time{future, past}, 2},
	} {
		interleave.Check(t, tc.name, interleave.Options{Preemptions: 3}, func(m *interleave.M) {
			k, memory := pool.NewClock(), new(pool.Future[int])
			m.Go("caller", func() {
				for i, cause := range k.ClockedCall(memory, tc.deadlines...) {
					switch {
					case cause == pool.CauseReturned:
					case cause == pool.CauseTimedOut && tc.deadlines[i] == past:
					default:
						m.Fatalf("call %d ended as %v", i, cause)
					}
				}
			})
			m.Go("timer", func() {
				for range tc.fires {
					k.Fire()
				}
			})
		})
	}
}
