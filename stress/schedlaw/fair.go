package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// lawFair has trees of tasks run while other tasks schedule themselves for ever. A task that
// does so runs on each worker before the first tree is scheduled, so that no worker is without
// such a task.
func lawFair(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations)
		more := r.Between(0, 3*run.workers)
		r.Shape += fmt.Sprintf(", %d tasks schedule themselves", run.workers+more)
		var stop atomic.Bool
		m := newMeeting(r, run.workers)
		run.invite(m, run.workers, func(w Worker) {
			m.meet()
			run.repeat(w.Schedule, stop.Load)
		})
		if !m.await("tasks of external callers") {
			return
		}
		start := harness.Start(func() {
			for range more {
				run.repeat(run.s.Schedule, stop.Load)
			}
		})
		if !run.await("Schedule", start) || !run.await("Schedule", harness.Start(run.callers(operations)...)) {
			return
		}
		all := harness.Start(func() {
			for run.ran.Load() < run.accepted.Load() && !r.IsExpired() {
				runtime.Gosched()
			}
		})
		done := r.Await(all, func() string {
			return fmt.Sprintf("%d of %d accepted tasks have run while others schedule themselves", run.ran.Load(), run.accepted.Load())
		})
		if stop.Store(true); done && run.shutdown() {
			run.checkOnce()
		}
	})
}

// repeat schedules a task that schedules itself until ended reports true.
func (run *trial) repeat(schedule func(Task) bool, ended func() bool) {
	ok := schedule(func(w Worker) {
		if !ended() && !run.r.IsExpired() {
			run.repeat(w.Schedule, ended)
		}
	})
	if !ok {
		run.r.Record("a task was refused by a scheduler that was not shut down")
	}
}
