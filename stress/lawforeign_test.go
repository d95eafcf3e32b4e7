package stress_test

import (
	"testing"

	"github.com/lanewright/lanewright/stress"
)

// TestForeignQueues shows that the laws are not about our queues: two that work
// in another way keep them.
func TestForeignQueues(t *testing.T) {
	for _, k := range []stress.QueueKind{mutexQueues(0), mutexQueues(100), chanQueues(100), chanQueues(1)} {
		keepsQueueLaws(t, 10_000, k)
	}
}

// TestForeignSchedulers shows the same for schedulers.
func TestForeignSchedulers(t *testing.T) {
	for _, k := range []stress.SchedulerKind{mutexSchedulers(noFault), chanPools()} {
		keepsSchedulerLaws(t, 10_000, k)
	}
}
