package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// trial is one scheduler under test, with the records of its tasks.
type trial struct {
	r       *harness.Run
	s       Scheduler
	workers int
	tasks   []taskRecord

	fan    int // tasks that each task schedules, until none is left
	yields int // yields of each task

	offered, accepted, ran atomic.Int64
}

// taskRecord records what happened to one task.
type taskRecord struct {
	accepted, refused atomic.Bool
	runs              atomic.Int32

	// before is written before Schedule, after by the task. They are plain memory: when
	// a scheduler does not order these accesses, the race detector reports it.
	before, after bool
}

// newTrial generates a shape and makes the scheduler.
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
	if k.ReplacesIfIdle {
		run.workers = runtime.GOMAXPROCS(0)
	}
	r.Shape = fmt.Sprintf("%d workers, a task schedules up to %d", run.workers, run.fan)
	if tasks > 0 {
		r.Shape += fmt.Sprintf(", %d tasks", tasks)
	}
	run.s = k.New(run.workers)
	return run
}

// offer schedules task lo, which schedules the tasks up to hi. It reports whether the
// scheduler accepted task lo.
func (run *trial) offer(schedule func(Task) bool, lo, hi int) bool {
	t := &run.tasks[lo]
	t.before = true
	run.offered.Add(1)
	ok := schedule(func(w Worker) {
		if !run.enter(t) {
			return
		}
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

// enter counts an entry into t and reports whether it is the first one. After another one the
// task schedules no tasks, because two entries would write the same plain memory.
func (run *trial) enter(t *taskRecord) (first bool) {
	run.ran.Add(1)
	if t.runs.Add(1) > 1 {
		return false
	}
	if !t.before {
		run.r.Record("a task did not see what its caller wrote before Schedule")
	}
	t.after = true
	return true
}

// callers returns functions for external callers, which schedule the tasks below n as
// trees, each tree by its root. A function returns when the scheduler refuses a root.
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
					runtime.Gosched() // the workers may find nothing at times
				}
			}
		})
	})
	return fns
}

// await waits for an operation on the scheduler.
func (run *trial) await(what string, done <-chan struct{}) bool {
	run.r.T.Helper()
	return run.r.Await(done, func() string {
		return fmt.Sprintf("%s has not ended: %d tasks were accepted and %d have run", what, run.accepted.Load(), run.ran.Load())
	})
}

// shutdown shuts the scheduler down and reports whether that ended.
func (run *trial) shutdown() bool {
	run.r.T.Helper()
	return run.await("Shutdown", harness.Start(run.s.Shutdown))
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

// checkLost checks that all accepted tasks ran before Shutdown returned.
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
