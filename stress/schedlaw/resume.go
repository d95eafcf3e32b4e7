package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// lawResumes shuts a scheduler down while tasks are in Blocking. They schedule tasks afterwards.
func lawResumes(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		for left := operations; left > 0 && !r.Failed() && !r.Recorded(); left -= 256 {
			run := newTrial(r, k, 0)
			if !run.canBlock() || !run.resume(k) {
				return
			}
		}
	})
}

// resume shuts the scheduler down and reports whether that ended.
func (run *trial) resume(k Kind) bool {
	run.r.T.Helper()
	r := run.r
	n, each, late := r.Between(1, 3*run.workers), r.Between(1, 16), r.Rand.IntN(2) == 0
	r.Shape = fmt.Sprintf("%d workers, %d tasks block and then schedule %d, after the begin of Shutdown: %v", run.workers, n, each, late)
	blocked, gate := newMeeting(r, n), make(chan struct{})
	returned := newMeeting(r, n)
	var ended atomic.Bool // Shutdown has returned
	run.invite(blocked, n, func(w Worker) {
		defer returned.arrive()
		w.(Blocker).Blocking(func() {
			blocked.arrive()
			r.Hold(gate)
		})
		if ended.Load() {
			r.Record("Shutdown returned before a task that was in Blocking")
		}
		for range each {
			switch {
			case w.Schedule(func(Worker) { run.ran.Add(1) }):
				run.accepted.Add(1)
			case k.DrainAccepts:
				r.Record("a task of a running task was refused before Shutdown returned")
			}
		}
	})
	if !blocked.await("tasks in Blocking") {
		return false
	}
	done := harness.Start(func() {
		run.s.Shutdown()
		ended.Store(true)
	}, func() {
		for late && !r.IsExpired() && run.s.Schedule(func(Worker) {}) {
			runtime.Gosched()
		}
		close(gate)
	})
	if !run.await("Shutdown", done) || !returned.await("tasks that were in Blocking") {
		return false
	}
	if ran, accepted := run.ran.Load(), run.accepted.Load(); ran != accepted {
		r.Failf("%d tasks of tasks that were in Blocking were accepted, and %d had run when Shutdown returned", accepted, ran)
	}
	return true
}
