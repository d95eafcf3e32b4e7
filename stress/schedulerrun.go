package stress

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// schedRun is one scheduler in use, with the tasks that it may get.
type schedRun struct {
	r       *lawRun
	s       Scheduler
	workers int
	tasks   []schedTask

	fan    int // tasks that each task schedules, while there are any
	yields int // how often a task yields the processor

	offered, accepted, ran atomic.Int64
}

// schedTask is what happened to one task.
type schedTask struct {
	accepted, refused atomic.Bool
	runs              atomic.Int32

	// Plain memory: a scheduler that does not order what it does is found by the
	// race detector.
	before, after bool // written before Schedule, and by the task
}

// newSchedRun draws a shape and makes the scheduler.
func newSchedRun(r *lawRun, k SchedulerKind, tasks int) *schedRun {
	most := 8
	if k.MaxWorkers > 0 {
		most = min(most, k.MaxWorkers)
	}
	run := &schedRun{
		r:       r,
		workers: r.between(1, most),
		tasks:   make([]schedTask, tasks),
		fan:     []int{1, 2, 4, 300}[r.rng.IntN(4)],
		yields:  r.rng.IntN(3),
	}
	r.shape = fmt.Sprintf("%d workers, a task schedules up to %d", run.workers, run.fan)
	if tasks > 0 {
		r.shape += fmt.Sprintf(", %d tasks", tasks)
	}
	run.s = k.New(run.workers)
	return run
}

// offer schedules task lo, which schedules those up to hi in turn. It reports
// whether the scheduler accepted it.
func (run *schedRun) offer(schedule func(Task) bool, lo, hi int) bool {
	t := &run.tasks[lo]
	t.before = true
	run.offered.Add(1)
	ok := schedule(func(w Worker) {
		run.enter(t)
		schedEach(lo+1, hi, run.fan, func(lo, hi int) { run.offer(w.Schedule, lo, hi) })
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
func (run *schedRun) enter(t *schedTask) {
	run.ran.Add(1)
	if t.runs.Add(1) > 1 {
		return
	}
	if !t.before {
		run.r.saw("a task did not see what was written before it was scheduled")
	}
	t.after = true
}

// schedEach cuts [lo, hi) into at most fan parts of about the same length.
func schedEach(lo, hi, fan int, do func(lo, hi int)) {
	for ; lo < hi && fan > 0; fan-- {
		mid := lo + (hi-lo+fan-1)/fan
		do(lo, mid)
		lo = mid
	}
}

// callers returns functions that schedule the tasks below n from outside: trees of
// them, each from its root. They stop when one is refused.
func (run *schedRun) callers(n int) (fns []func()) {
	schedEach(0, n, run.r.between(1, 4), func(lo, hi int) {
		rng := run.r.split()
		fns = append(fns, func() {
			for next := lo; next < hi && !run.r.over(); {
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
func (run *schedRun) ends(what string, done <-chan struct{}) bool {
	run.r.t.Helper()
	return run.r.ends(done, func() string {
		return fmt.Sprintf("%s has not ended: %d tasks were accepted and %d have run", what, run.accepted.Load(), run.ran.Load())
	})
}

// shutdown ends the scheduler and reports whether it did.
func (run *schedRun) shutdown() bool {
	run.r.t.Helper()
	return run.ends("Shutdown", lawStart(run.s.Shutdown))
}

// checkOnce checks that no task ran twice.
func (run *schedRun) checkOnce() {
	run.r.t.Helper()
	for i := range run.tasks {
		if n := run.tasks[i].runs.Load(); n > 1 {
			run.r.failf("task %d ran %d times", i, n)
		}
	}
}

// checkLost checks that all accepted tasks ran, before the scheduler ended.
func (run *schedRun) checkLost() {
	run.r.t.Helper()
	lost := 0
	for i := range run.tasks {
		if t := &run.tasks[i]; t.accepted.Load() && !t.after {
			lost++
		}
	}
	if lost > 0 {
		run.r.failf("%d of %d accepted tasks had not run when Shutdown returned", lost, run.accepted.Load())
	}
}

// checkRefused checks that no refused task ran.
func (run *schedRun) checkRefused() {
	run.r.t.Helper()
	for i := range run.tasks {
		if t := &run.tasks[i]; t.refused.Load() && t.runs.Load() > 0 {
			run.r.failf("task %d was refused and ran", i)
		}
	}
}
