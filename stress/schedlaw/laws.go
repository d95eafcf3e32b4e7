package schedlaw

import (
	"runtime"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// Laws returns the laws of schedulers.
func Laws() []Law {
	return []Law{
		{"once", "A task runs at most once.", lawAfterDrain((*trial).checkOnce)},
		{"lost", "Every accepted task has run when Shutdown returns.", lawAfterDrain((*trial).checkLost)},
		{"limit", "No more tasks run at once than there are workers.", lawLimit},
		{"refused", "Shutdown makes the scheduler refuse tasks of external callers, and a refused task does not run.", lawRefused},
		{"awake", "No worker stays parked while tasks of external callers are queued: as many of them as there are workers run at once.", lawAwake},
		{"chain", "No worker stays parked while tasks are queued by tasks that then block their workers.", lawChain},
		{"fair", "Every accepted task runs while other tasks schedule themselves for ever.", lawFair},
		{"stalled", "Every task that a task schedules runs, although that task then waits for it without Blocking.", lawStalled},
		{"blocked", "Every accepted task runs, although the tasks before it wait for it without Blocking.", lawBlocked},
		{"computing", "Tasks that compute never run at once in a larger number than there are workers, or one more if stalled workers are replaced.", lawComputing},
		{"waits", "Every Wait of an external caller returns when all tasks of its group have run, and not before.", lawWaits},
		{"nested", "Every Wait of a task returns when all tasks of its group have run, for any number and depth of waiting tasks.", lawNested},
		{"shared", "Wait returns when all tasks of a group have run to which all workers schedule from its first task on, and not before.", lawShared},
		{"blocking", "Tasks in Blocking do not reduce the number of other tasks that run at once.", lawBlocking},
		{"resumes", "A task that is in Blocking during Shutdown may schedule tasks afterwards, and each accepted one has run when Shutdown returns.", lawResumes},
		{"counters", "Executed grows to the number of accepted tasks, and Parked never exceeds Workers.", lawCounters},
		{"close", "After Close every accepted task has run or was counted as not run, and no further task is accepted or started.", lawClose},
		{"closing", "Close ends every Wait.", lawClosing},
	}
}

// lawAfterDrain returns a law that checks a scheduler after it has run trees of tasks.
func lawAfterDrain(check func(*trial)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		r.EachShape(func(operations int) {
			r.T.Helper()
			run := newTrial(r, k, operations)
			if run.await("Schedule", harness.Start(run.callers(operations)...)) && run.shutdown() {
				check(run)
			}
		})
	}
}

// lawRefused shuts the scheduler down while external callers schedule tasks.
func lawRefused(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations)
		after := int64(r.Between(0, operations/2))
		fns := append(run.callers(operations), func() {
			for run.offered.Load() < after && !r.IsExpired() {
				runtime.Gosched()
			}
			run.s.Shutdown()
		})
		if !run.await("Shutdown", harness.Start(fns...)) {
			return
		}
		ran := make(chan struct{})
		if run.s.Schedule(func(Worker) { close(ran) }) {
			r.Failf("a task was accepted after Shutdown")
		}
		for range 100 {
			runtime.Gosched()
		}
		select {
		case <-ran:
			r.Failf("a task ran after Shutdown")
		default:
		}
		run.checkRefused()
		run.checkLost()
	})
}

// lawCounters observes the counters while tasks run.
func lawCounters(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, operations)
		c, ok := run.s.(Counter)
		if !ok {
			run.without("Counters")
			return
		}
		observed, quit := make(chan struct{}), make(chan struct{})
		observer := harness.Start(func() { run.observe(c, observed, quit) })
		if !run.await("Counters", observed) || !run.await("Schedule", harness.Start(run.callers(operations)...)) || !run.shutdown() {
			return
		}
		close(quit)
		if !run.await("Counters", observer) {
			return
		}
		if got, want := c.Counters().Executed, uint64(run.accepted.Load()); got != want {
			r.Failf("the counters say %d executed tasks, and %d were accepted", got, want)
		}
		if n := c.Counters().Workers; n != 0 {
			r.Failf("the counters say %d workers after Shutdown", n)
		}
	})
}

// observe compares snapshots of the counters until quit is closed. It closes observed
// after the first snapshot.
func (run *trial) observe(c Counter, observed chan<- struct{}, quit <-chan struct{}) {
	before := uint64(0)
	for first := true; ; first = false {
		now := c.Counters()
		offered := uint64(run.offered.Load()) // loaded after the snapshot: it can only be higher
		switch {
		case now.Executed < before:
			run.r.Record("Executed went from %d to %d", before, now.Executed)
		case now.Executed > offered:
			run.r.Record("the counters say %d executed tasks when %d had been scheduled", now.Executed, offered)
		case now.Parked > now.Workers || now.Workers > run.workers || now.Parked < 0:
			run.r.Record("the counters say %d parked workers of %d", now.Parked, now.Workers)
		}
		before = now.Executed
		if first {
			close(observed)
		}
		select {
		case <-quit:
			return
		case <-run.r.Expired():
			return
		default:
			runtime.Gosched()
		}
	}
}

// without skips the law because the scheduler lacks an ability, and shuts the scheduler
// down.
func (run *trial) without(what string) {
	run.r.T.Helper()
	run.r.Skipf("the scheduler has no %s", what)
	run.shutdown()
}
