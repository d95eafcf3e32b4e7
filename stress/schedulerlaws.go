package stress

import "runtime"

// SchedulerLaws returns the laws of schedulers.
func SchedulerLaws() []SchedulerLaw {
	return []SchedulerLaw{
		{"once", "A task runs at most once.", schedDrained((*schedRun).checkOnce)},
		{"lost", "Every accepted task has run when Shutdown returns.", schedDrained((*schedRun).checkLost)},
		{"limit", "No more tasks run at once than there are workers.", schedLimit},
		{"refused", "After Shutdown tasks from outside are refused, and a refused task does not run.", schedRefused},
		{"awake", "As many tasks as there are workers, scheduled from outside, all run at once: none waits beside a parked worker.", schedAwake},
		{"chain", "The same for tasks that are scheduled by a task that then blocks its worker.", schedChain},
		{"waits", "Every Wait outside of the scheduler ends, when all tasks of its group have run and not before.", schedWaits},
		{"nested", "So does every Wait of a task, however many tasks wait and however deep.", schedNested},
		{"blocking", "Tasks in Blocking take no worker from the others.", schedBlocking},
		{"counters", "Counters add up: what was executed grows to what was accepted, and parked workers are workers.", schedCounters},
		{"close", "After Close every accepted task has run or was counted as not run, and no other is accepted or started.", schedClose},
		{"closing", "Close ends every Wait.", schedClosing},
	}
}

// schedDrained is a law about a scheduler that has run trees of tasks.
func schedDrained(check func(*schedRun)) func(*lawRun, SchedulerKind) {
	return func(r *lawRun, k SchedulerKind) {
		r.t.Helper()
		r.shapes(func(operations int) {
			r.t.Helper()
			run := newSchedRun(r, k, operations)
			if run.ends("Schedule", lawStart(run.callers(operations)...)) && run.shutdown() {
				check(run)
			}
		})
	}
}

// schedRefused shuts the scheduler down while tasks are scheduled.
func schedRefused(r *lawRun, k SchedulerKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newSchedRun(r, k, operations)
		after := int64(r.between(0, operations/2))
		fns := append(run.callers(operations), func() {
			for run.offered.Load() < after && !r.over() {
				runtime.Gosched()
			}
			run.s.Shutdown()
		})
		if !run.ends("Shutdown", lawStart(fns...)) {
			return
		}
		ran := make(chan struct{})
		if run.s.Schedule(func(Worker) { close(ran) }) {
			r.failf("a task was accepted after Shutdown")
		}
		for range 100 {
			runtime.Gosched()
		}
		select {
		case <-ran:
			r.failf("a task ran after Shutdown")
		default:
		}
		run.checkRefused()
		run.checkLost()
	})
}

// schedCounters looks at the counters all the time.
func schedCounters(r *lawRun, k SchedulerKind) {
	r.t.Helper()
	r.shapes(func(operations int) {
		r.t.Helper()
		run := newSchedRun(r, k, operations)
		c, ok := run.s.(Counter)
		if !ok {
			run.without("Counters")
			return
		}
		looked, quit := make(chan struct{}), make(chan struct{})
		watch := lawStart(func() { run.watch(c, looked, quit) })
		if !run.ends("Counters", looked) || !run.ends("Schedule", lawStart(run.callers(operations)...)) || !run.shutdown() {
			return
		}
		close(quit)
		if !run.ends("Counters", watch) {
			return
		}
		if got, want := c.Counters().Executed, uint64(run.accepted.Load()); got != want {
			r.failf("%d tasks were executed by the counters, %d were accepted", got, want)
		}
		if n := c.Counters().Workers; n != 0 {
			r.failf("there are %d workers after Shutdown by the counters", n)
		}
	})
}

// watch compares snapshots of the counters until quit is closed. It closes looked
// after the first.
func (run *schedRun) watch(c Counter, looked chan<- struct{}, quit <-chan struct{}) {
	before := uint64(0)
	for first := true; ; first = false {
		now := c.Counters()
		offered := uint64(run.offered.Load()) // later: it may only be more
		switch {
		case now.Executed < before:
			run.r.saw("Executed went from %d to %d", before, now.Executed)
		case now.Executed > offered:
			run.r.saw("%d tasks were executed by the counters when %d had been scheduled", now.Executed, offered)
		case now.Parked > now.Workers || now.Workers > run.workers || now.Parked < 0:
			run.r.saw("%d of %d workers are parked by the counters", now.Parked, now.Workers)
		}
		before = now.Executed
		if first {
			close(looked)
		}
		select {
		case <-quit:
			return
		case <-run.r.late:
			return
		default:
			runtime.Gosched()
		}
	}
}

// without says that the law does not apply to a scheduler, and ends that.
func (run *schedRun) without(what string) {
	run.r.t.Helper()
	run.r.skipf("there is no %s", what)
	run.shutdown()
}
