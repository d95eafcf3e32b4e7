package schedlaw

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/stress/internal/harness"
)

// meeting is where tasks wait for each other.
type meeting struct {
	r       *harness.Run
	want    int
	came    atomic.Int32
	all     chan struct{} // closed when all have come
	refused atomic.Bool
}

func newMeeting(r *harness.Run, want int) *meeting {
	return &meeting{r: r, want: want, all: make(chan struct{})}
}

// come waits for the others.
func (m *meeting) come() {
	m.arrive()
	m.r.Hold(m.all)
}

// arrive does not wait.
func (m *meeting) arrive() {
	if int(m.came.Add(1)) == m.want {
		close(m.all)
	}
}

// ends waits until all have come.
func (m *meeting) ends(who string) bool {
	m.r.T.Helper()
	return m.r.Await(m.all, func() string {
		if m.refused.Load() {
			return "a task was refused by a scheduler that was not shut down"
		}
		return fmt.Sprintf("%d of %d %s run: the others are queued, or lost, while workers are parked", m.came.Load(), m.want, who)
	})
}

// invite schedules n tasks for m, from up to three goroutines. If Schedule waits
// for the task, which it must not, m does not take place.
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

// lawLimit schedules tasks that stay, twice as many as can run at once.
func lawLimit(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		for range max(1, operations/(64*run.workers)) {
			m, gate := newMeeting(r, run.workers), make(chan struct{})
			run.invite(m, 2*run.workers, func(Worker) {
				m.arrive()
				r.Hold(gate)
			})
			if !m.ends("tasks scheduled from outside") {
				return
			}
			for range 100 {
				runtime.Gosched() // for one more, if there is a worker for it
			}
			if n := int(m.came.Load()); n > run.workers {
				r.Failf("%d tasks run at once", n)
			}
			close(gate)
		}
		run.shutdown()
	})
}

// lawAwake lets as many tasks meet as there are workers, again and again.
func lawAwake(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		for range max(1, operations/run.workers) {
			m := newMeeting(r, run.workers)
			run.invite(m, run.workers, func(Worker) { m.come() })
			if !m.ends("tasks scheduled from outside") {
				return
			}
			run.idle()
		}
		run.shutdown()
	})
}

// lawChain does so with tasks of which each but the first is scheduled by
// another one. Only whoever was woken for one task can have others woken.
func lawChain(r *harness.Run, k Kind) {
	r.T.Helper()
	r.EachShape(func(operations int) {
		r.T.Helper()
		run := newTrial(r, k, 0)
		for range max(1, operations/run.workers) {
			m := newMeeting(r, run.workers)
			go run.link(m, run.s.Schedule, 0, run.workers)
			if !m.ends("tasks scheduled by each other") {
				return
			}
			run.idle()
		}
		run.shutdown()
	})
}

// link schedules a task that schedules those of (lo, hi) and then blocks.
func (run *trial) link(m *meeting, schedule func(Task) bool, lo, hi int) {
	ok := schedule(func(w Worker) {
		harness.Divide(lo+1, hi, run.fan, func(lo, hi int) { run.link(m, w.Schedule, lo, hi) })
		m.come()
	})
	if !ok {
		m.refused.Store(true)
	}
}

// idle lets the workers park, or not quite.
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

// lawBlocking fills the scheduler with tasks that block, and lets as many
// others meet as there are workers.
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
			if !blocked.ends("tasks in Blocking") {
				return
			}
			run.invite(m, run.workers, func(Worker) { m.come() })
			if !m.ends("tasks beside those in Blocking") {
				return
			}
		}
		run.shutdown()
	})
}

// canBlock reports whether the workers are Blockers.
func (run *trial) canBlock() (can bool) {
	run.r.T.Helper()
	looked := make(chan struct{})
	start := harness.Start(func() {
		run.s.Schedule(func(w Worker) {
			_, can = w.(Blocker)
			close(looked)
		})
	})
	if !run.ends("Schedule", start) || !run.ends("the first task", looked) {
		return false
	}
	if !can {
		run.without("Blocking")
	}
	return can
}
