package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// meeting is a point where tasks wait for each other.
type meeting struct {
	r       *harness.Run
	want    int
	arrived atomic.Int32
	all     chan struct{} // closed when all tasks have arrived
	refused atomic.Bool
}

func newMeeting(r *harness.Run, want int) *meeting {
	return &meeting{r: r, want: want, all: make(chan struct{})}
}

// meet waits for the other tasks.
func (m *meeting) meet() {
	m.arrive()
	m.r.Hold(m.all)
}

// arrive counts a task and does not wait for the others. It returns the number of tasks that
// have arrived before.
func (m *meeting) arrive() (before int) {
	n := int(m.arrived.Add(1))
	if n == m.want {
		close(m.all)
	}
	return n - 1
}

// await waits until all tasks have arrived.
func (m *meeting) await(tasks string) bool {
	m.r.T.Helper()
	return m.r.Await(m.all, func() string {
		if m.refused.Load() {
			return "a task was refused by a scheduler that was not shut down"
		}
		return fmt.Sprintf("%d of %d %s run; the others are queued or lost, and workers are parked", m.arrived.Load(), m.want, tasks)
	})
}

// invite schedules n tasks for m, from up to three goroutines. A Schedule that waits
// for its task, which is forbidden, keeps the tasks of its goroutine from the meeting.
func (run *trial) invite(m *meeting, n int, task Task) {
	harness.Divide(0, n, run.r.Between(1, 3), func(lo, hi int) {
		go func() {
			for range hi - lo {
				if !run.s.Schedule(task) {
					m.refused.Store(true)
				}
			}
		}()
	})
}

// lawLimit schedules tasks that do not return, twice as many as may run at once.
func lawLimit(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		if k.replaces() {
			r.Skipf("the scheduler replaces stalled workers")
			return
		}
		run := newTrial(r, k, 0)
		for range max(1, operations/(64*run.workers)) {
			m, gate := newMeeting(r, run.workers), make(chan struct{})
			run.invite(m, 2*run.workers, func(Worker) {
				m.arrive()
				r.Hold(gate)
			})
			if !m.await("tasks of external callers") {
				return
			}
			for range 100 {
				runtime.Gosched() // a worker too many would start one more
			}
			if n := int(m.arrived.Load()); n > run.workers {
				r.Failf("%d tasks run at once", n)
			}
			close(gate)
		}
		run.shutdown()
	})
}

// lawAwake has as many tasks meet as there are workers, repeatedly.
func lawAwake(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		for range max(1, operations/run.workers) {
			m := newMeeting(r, run.workers)
			run.invite(m, run.workers, func(Worker) { m.meet() })
			if !m.await("tasks of external callers") {
				return
			}
			run.idle()
		}
		run.shutdown()
	})
}

// lawChain does the same with tasks that tasks schedule, except for the first. A worker
// that was woken for one task has to wake the workers for the others.
func lawChain(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		for range max(1, operations/run.workers) {
			m := newMeeting(r, run.workers)
			go run.link(m, run.s.Schedule, 0, run.workers)
			if !m.await("tasks that tasks scheduled") {
				return
			}
			run.idle()
		}
		run.shutdown()
	})
}

// link schedules a task that schedules the tasks of (lo, hi) and then blocks.
func (run *trial) link(m *meeting, schedule func(Task) bool, lo, hi int) {
	ok := schedule(func(w Worker) {
		harness.Divide(lo+1, hi, run.fan, func(lo, hi int) { run.link(m, w.Schedule, lo, hi) })
		m.meet()
	})
	if !ok {
		m.refused.Store(true)
	}
}

// idle yields up to 99 times, or until all workers are parked if the scheduler counts
// them.
func (run *trial) idle() {
	c, counts := run.s.(Counter)
	for range run.r.Rand.IntN(100) {
		if counts {
			if now := c.Counters(); now.Parked > 0 && now.Parked == now.Workers {
				return
			}
		}
		runtime.Gosched()
	}
}

// lawBlocking fills the scheduler with tasks in Blocking, and then has as many other
// tasks meet as there are workers.
func lawBlocking(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		if !run.canBlock() {
			return
		}
		for range max(1, operations/(64*run.workers)) {
			n := r.Between(1, 3*run.workers)
			blocked, m := newMeeting(r, n), newMeeting(r, run.workers)
			run.invite(blocked, n, func(w Worker) {
				w.(Blocker).Blocking(func() {
					blocked.arrive()
					r.Hold(m.all)
				})
			})
			if !blocked.await("tasks in Blocking") {
				return
			}
			run.invite(m, run.workers, func(Worker) { m.meet() })
			if !m.await("tasks in addition to those in Blocking") {
				return
			}
		}
		run.shutdown()
	})
}

// canBlock reports whether the workers are Blockers.
func (run *trial) canBlock() (can bool) {
	run.r.T.Helper()
	ran := make(chan struct{})
	start := harness.Start(func() {
		run.s.Schedule(func(w Worker) {
			_, can = w.(Blocker)
			close(ran)
		})
	})
	if !run.await("Schedule", start) || !run.await("the first task", ran) {
		return false
	}
	if !can {
		run.without("Blocking")
	}
	return can
}
