package schedlaw_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/stress/internal/harness"
	"github.com/lanewright/lanewright/stress/internal/lawtest"
	"github.com/lanewright/lanewright/stress/schedlaw"
)

func keepsLaws(t *testing.T, operations int, k schedlaw.Kind) {
	t.Helper()
	for _, l := range schedlaw.Laws() {
		t.Run(k.Name+"/"+l.Name, func(t *testing.T) {
			lawtest.Keeps(t, operations, func(r harness.T, o harness.Options) { l.Check(r, k, schedlaw.Options(o)) })
		})
	}
}

// TestSchedulerOfThisModule checks that sched.Scheduler keeps the laws.
func TestSchedulerOfThisModule(t *testing.T) {
	keepsLaws(t, 0, schedlaw.Sched(sched.Config{}))
	stalls := schedlaw.Sched(sched.Config{StallAfter: time.Millisecond})
	stalls.Name = "sched.Scheduler with a stall monitor"
	keepsLaws(t, 0, stalls)
	keepsLaws(t, 5_000, schedlaw.ZeroSched()) // a stall lasts for 10 to 20 ms
}

// TestOtherSchedulers checks that two schedulers with other algorithms keep the laws:
// the laws do not depend on the scheduler of this module.
func TestOtherSchedulers(t *testing.T) {
	for _, k := range []schedlaw.Kind{mutexSchedulers(noFault), chanPools()} {
		keepsLaws(t, 10_000, k)
	}
}
