package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// trial is one scheduler in use, with the tasks that it may get.
type trial struct {
	r       *harness.Run
	s       Scheduler
	workers int
	tasks   []taskRecord

	fan    int // tasks that each task schedules, while there are any
	yields int // how often a task yields the processor

	offered, accepted, ran atomic.Int64
}

// taskRecord is what happened to one task.
type taskRecord struct {
	accepted, refused atomic.Bool
	runs              atomic.Int32

	// Plain memory: a scheduler that does not order what it does is found by the
	// race detector.
	before, after bool // written before Schedule, and by the task
}

// newTrial draws a shape and makes the scheduler.
func newTrial(r *harness.Run, k Kind, tasks int) *trial {
	most := 8
	if k.MaxWorkers > 0 {
		most = min(most, k.MaxWorkers)
	}
	run := &trial{
		r:       r,
		workers: r.Between(1, most),
		tasks:   make([]taskRecord, tasks),
		fan:     []int{1, 2, 4, 300}[r.Rand.IntN(4)],
		yields:  r.Rand.IntN(3),
	}
	r.Shape = fmt.Sprintf("%d workers, a task schedules up to %d", run.workers, run.fan)
	if tasks > 0 {
		r.Shape += fmt.Sprintf(", %d tasks", tasks)
	}
	run.s = k.New(run.workers)
	return run
}

// offer schedules task lo, which schedules those up to hi in turn. It reports
// whether the scheduler accepted it.
func (run *trial) offer(schedule func(Task) bool, lo, hi int) bool {
	t := &run.tasks[lo]
	t.before = true
	run.offered.Add(1)
	ok := schedule(func(w Worker) {
		run.enter(t)
		harness.Divide(lo+1, hi, run.fan, func(lo, hi int) { run.offer(w.Schedule, lo, hi) })
		for range run.yields {
			runtime.Gosched()
		}
	})
	if ok {
		t.accepted.Store(true)
		run.accepted.Add(1)
	} else {
		t.refused.Store(true)
	}
	return ok
}

// enter counts a run of t.
func (run *trial) enter(t *taskRecord) {
	run.ran.Add(1)
	if t.runs.Add(1) > 1 {
		return
	}
	if !t.before {
		run.r.Record("a task did not see what was written before it was scheduled")
	}
	t.after = true
}

// callers returns functions that schedule the tasks below n from outside: trees of
// them, each from its root. They stop when one is refused.
func (run *trial) callers(n int) (fns []func()) {
	harness.Divide(0, n, run.r.Between(1, 4), func(lo, hi int) {
		rng := run.r.Split()
		fns = append(fns, func() {
			for next := lo; next < hi && !run.r.IsExpired(); {
				end := min(hi, next+1+rng.IntN(256))
				if !run.offer(run.s.Schedule, next, end) {
					return
				}
				next = end
				if rng.IntN(16) == 0 {
					runtime.Gosched() // now and then the workers find nothing
				}
			}
		})
	})
	return fns
}

// ends waits for what uses the scheduler.
func (run *trial) ends(what string, done <-chan struct{}) bool {
	run.r.T.Helper()
	return run.r.Await(done, func() string {
		return fmt.Sprintf("%s has not ended: %d tasks were accepted and %d have run", what, run.accepted.Load(), run.ran.Load())
	})
}

// shutdown ends the scheduler and reports whether it did.
func (run *trial) shutdown() bool {
	run.r.T.Helper()
	return run.ends("Shutdown", harness.Start(run.s.Shutdown))
}

// checkOnce checks that no task ran twice.
func (run *trial) checkOnce() {
	run.r.T.Helper()
	for i := range run.tasks {
		if n := run.tasks[i].runs.Load(); n > 1 {
			run.r.Failf("task %d ran %d times", i, n)
		}
	}
}

// checkLost checks that all accepted tasks ran, before the scheduler ended.
func (run *trial) checkLost() {
	run.r.T.Helper()
	lost := 0
	for i := range run.tasks {
		if t := &run.tasks[i]; t.accepted.Load() && !t.after {
			lost++
		}
	}
	if lost > 0 {
		run.r.Failf("%d of %d accepted tasks had not run when Shutdown returned", lost, run.accepted.Load())
	}
}

// checkRefused checks that no refused task ran.
func (run *trial) checkRefused() {
	run.r.T.Helper()
	for i := range run.tasks {
		if t := &run.tasks[i]; t.refused.Load() && t.runs.Load() > 0 {
			run.r.Failf("task %d was refused and ran", i)
		}
	}
}
