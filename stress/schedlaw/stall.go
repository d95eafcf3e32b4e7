package schedlaw

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// eachReplacing calls law with a trial for each shape, if the scheduler replaces stalled workers.
func eachReplacing(r *harness.Run, k Kind, law func(run *trial, operations int)) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		if !k.replaces() {
			r.Skipf("the scheduler replaces no stalled worker")
			return
		}
		law(newTrial(r, k, 0), operations)
	})
}

// lawStalled has tasks that schedule tasks and then wait for these without Blocking, while other
// tasks schedule themselves for ever.
func lawStalled(r *harness.Run, k Kind) {
	r.T.Helper()
	eachReplacing(r, k, func(run *trial, operations int) {
		r.T.Helper()
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

// lawBlocked has more tasks meet than there are workers, without Blocking.
func lawBlocked(r *harness.Run, k Kind) {
	r.T.Helper()
	eachReplacing(r, k, func(run *trial, operations int) {
		r.T.Helper()
		n := run.workers + r.Between(1, 2*run.workers)
		r.Shape = fmt.Sprintf("%d workers, %d tasks wait for each other", run.workers, n)
		for range max(1, operations/(256*run.workers)) {
			m := newMeeting(r, n)
			run.invite(m, n, func(Worker) { m.meet() })
			if !m.await("tasks that wait for each other") {
				return
			}
		}
		run.shutdown()
	})
}

// computeFor is how long a task of the law computing computes: five times
// [sched.DefaultStallAfter], so that a scheduler of package sched could mark its worker.
const computeFor = 50 * time.Millisecond

// lawComputing has tasks compute, several for each worker. A task counts from its first statement to
// its last.
func lawComputing(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(int) {
		r.T.Helper()
		if k.ReplacesStalled {
			r.Skipf("the scheduler replaces workers whose tasks compute")
			return
		}
		run := newTrial(r, k, 0)
		most, n := int64(run.workers), run.workers*r.Between(2, 4)
		if k.ReplacesIfIdle {
			most++
		}
		r.Shape = fmt.Sprintf("%d workers, %d tasks compute", run.workers, n)
		var now atomic.Int64
		m := newMeeting(r, n)
		run.invite(m, n, func(Worker) {
			if at := now.Add(1); at > most {
				r.Record("%d tasks compute at once, at most %d may", at, most)
			}
			for began := time.Now(); time.Since(began) < computeFor && !r.IsExpired(); {
			}
			now.Add(-1)
			m.arrive()
		})
		if m.await("tasks that compute") {
			run.shutdown()
		}
	})
}
