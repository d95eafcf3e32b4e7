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
		{"refused", "After Shutdown tasks from outside are refused, and a refused task does not run.", lawRefused},
		{"awake", "As many tasks as there are workers, scheduled from outside, all run at once: none waits beside a parked worker.", lawAwake},
		{"chain", "The same for tasks that are scheduled by a task that then blocks its worker.", lawChain},
		{"waits", "Every Wait outside of the scheduler ends, when all tasks of its group have run and not before.", lawWaits},
		{"nested", "So does every Wait of a task, however many tasks wait and however deep.", lawNested},
		{"blocking", "Tasks in Blocking take no worker from the others.", lawBlocking},
		{"counters", "Counters add up: what was executed grows to what was accepted, and parked workers are workers.", lawCounters},
		{"close", "After Close every accepted task has run or was counted as not run, and no other is accepted or started.", lawClose},
		{"closing", "Close ends every Wait.", lawClosing},
	}
}

// lawAfterDrain is a law about a scheduler that has run trees of tasks.
func lawAfterDrain(check func(*trial)) func(*harness.Run, Kind) {
	return func(r *harness.Run, k Kind) {
		r.T.Helper()
		r.EachShape(func(operations int) {
			r.T.Helper()
			run := newTrial(r, k, operations)
			if run.ends("Schedule", harness.Start(run.callers(operations)...)) && run.shutdown() {
				check(run)
			}
		})
	}
}

// lawRefused shuts the scheduler down while tasks are scheduled.
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
		if !run.ends("Shutdown", harness.Start(fns...)) {
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

// lawCounters looks at the counters all the time.
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
		looked, quit := make(chan struct{}), make(chan struct{})
		watch := harness.Start(func() { run.watch(c, looked, quit) })
		if !run.ends("Counters", looked) || !run.ends("Schedule", harness.Start(run.callers(operations)...)) || !run.shutdown() {
			return
		}
		close(quit)
		if !run.ends("Counters", watch) {
			return
		}
		if got, want := c.Counters().Executed, uint64(run.accepted.Load()); got != want {
			r.Failf("%d tasks were executed by the counters, %d were accepted", got, want)
		}
		if n := c.Counters().Workers; n != 0 {
			r.Failf("there are %d workers after Shutdown by the counters", n)
		}
	})
}

// watch compares snapshots of the counters until quit is closed. It closes looked
// after the first.
func (run *trial) watch(c Counter, looked chan<- struct{}, quit <-chan struct{}) {
	before := uint64(0)
	for first := true; ; first = false {
		now := c.Counters()
		offered := uint64(run.offered.Load()) // later: it may only be more
		switch {
		case now.Executed < before:
			run.r.Record("Executed went from %d to %d", before, now.Executed)
		case now.Executed > offered:
			run.r.Record("%d tasks were executed by the counters when %d had been scheduled", now.Executed, offered)
		case now.Parked > now.Workers || now.Workers > run.workers || now.Parked < 0:
			run.r.Record("%d of %d workers are parked by the counters", now.Parked, now.Workers)
		}
		before = now.Executed
		if first {
			close(looked)
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

// without says that the law does not apply to a scheduler, and ends that.
func (run *trial) without(what string) {
	run.r.T.Helper()
	run.r.Skipf("there is no %s", what)
	run.shutdown()
}
