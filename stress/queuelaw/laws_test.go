package queuelaw_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/queuelaw"
)

func keepsLaws(t *testing.T, operations int, k queuelaw.Kind) {
	t.Helper()
	for _, l := range queuelaw.Laws() {
		t.Run(fmt.Sprintf("%s %d/%s", k.Name, k.Capacity, l.Name), func(t *testing.T) {
			lawtest.Keeps(t, operations, func(r harness.T, o harness.Options) { l.Check(r, k, queuelaw.Options(o)) })
		})
	}
}

// TestQueuesOfThisModule checks that the queues of mpsc and runqueue keep the laws.
func TestQueuesOfThisModule(t *testing.T) {
	for _, k := range []queuelaw.Kind{queuelaw.Ring(), queuelaw.RunQueue(), queuelaw.MPSC(mpsc.LIFO), queuelaw.MPSC(mpsc.FIFO)} {
		keepsLaws(t, 0, k)
	}
}

// TestOtherQueues checks that two queues with other algorithms keep the laws: the laws
// do not depend on the queues of this module.
func TestOtherQueues(t *testing.T) {
	for _, k := range []queuelaw.Kind{mutexQueues(0), mutexQueues(100), chanQueues(100), chanQueues(1)} {
		keepsLaws(t, 10_000, k)
	}
}
