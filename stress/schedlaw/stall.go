package schedlaw

import (
	"fmt"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// lawStalled has tasks that schedule tasks and then wait for these without Blocking, while other
// tasks schedule themselves for ever.
func lawStalled(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		if !k.ReplacesStalled {
			r.Skipf("the scheduler replaces no stalled worker")
			return
		}
		run := newTrial(r, k, 0)
		stalled, each := r.Between(1, 2*run.workers), []int{1, 8, 300}[r.Rand.IntN(3)]
		r.Shape = fmt.Sprintf("%d workers, %d tasks stall, each with %d tasks", run.workers, stalled, each)
		for range max(1, operations/(64*run.workers)) {
			m := newMeeting(r, stalled*each)
			ended := func() bool { return int(m.arrived.Load()) == m.want }
			run.invite(m, stalled, func(w Worker) {
				for range each {
					if !w.Schedule(func(Worker) { m.arrive() }) {
						m.refused.Store(true)
					}
				}
				r.Hold(m.all)
			})
			start := harness.Start(func() {
				for range run.workers {
					run.repeat(run.s.Schedule, ended)
				}
			})
			if !run.await("Schedule", start) || !m.await("tasks of stalled workers") {
				return
			}
		}
		run.shutdown()
	})
}
