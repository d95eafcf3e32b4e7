package stress_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/sched"
	"github.com/lanewright/lanewright/stress"
)

var lawSeed = flag.Uint64("stress.seed", 0, "seed of the laws; 0 draws one for each")

// keeps checks that an implementation keeps a law. 0 operations are the default.
func keeps(t *testing.T, operations int, check func(stress.T, stress.Options)) {
	t.Helper()
	o := stress.Options{Seed: *lawSeed, Operations: operations}
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	if testing.Short() {
		o.Operations = 2_000
	}
	if check(t, o); t.Failed() {
		t.Logf("replay with -run '^%s$' -stress.seed=%d", strings.ReplaceAll(t.Name(), "/", "$/^"), o.Seed)
	}
}

func keepsQueueLaws(t *testing.T, operations int, k stress.QueueKind) {
	t.Helper()
	for _, l := range stress.QueueLaws() {
		t.Run(fmt.Sprintf("%s %d/%s", k.Name, k.Capacity, l.Name), func(t *testing.T) {
			keeps(t, operations, func(r stress.T, o stress.Options) { l.Check(r, k, o) })
		})
	}
}

func keepsSchedulerLaws(t *testing.T, operations int, k stress.SchedulerKind) {
	t.Helper()
	for _, l := range stress.SchedulerLaws() {
		t.Run(k.Name+"/"+l.Name, func(t *testing.T) {
			keeps(t, operations, func(r stress.T, o stress.Options) { l.Check(r, k, o) })
		})
	}
}

func TestOurQueues(t *testing.T) {
	for _, k := range []stress.QueueKind{stress.Ring(), stress.RunQueue(), stress.Overflow(mpsc.LIFO), stress.Overflow(mpsc.FIFO)} {
		keepsQueueLaws(t, 0, k)
	}
}

func TestOurScheduler(t *testing.T) {
	keepsSchedulerLaws(t, 0, stress.Sched(sched.Config{}))
}
