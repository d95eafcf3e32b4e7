//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// TestModelIdleEnd: the timer ends the idle workers while a caller schedules a task. The task
// runs, on a worker that has found it or on a new one.
func TestModelIdleEnd(t *testing.T) {
	interleave.Check(t, "sched-idle-end", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		m.Go("caller", func() {
			g := md.s.NewGroup(sched.GroupConfig{})
			md.must(g.Schedule(nil, md.task("a", nil)))
			md.must(g.Wait())
			interleave.Go("timer", md.s.EndIdle)
			md.must(md.s.Schedule(md.task("b", nil)))
		})
	})
}

// TestModelIdleTimer: each worker has ended when no thread but workers is left, because the timer
// runs while one is parked. The timer may end at any moment.
func TestModelIdleTimer(t *testing.T) {
	sched.IdleTimerAsThread(t)
	interleave.Check(t, "sched-idle-timer", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", nil)))
			md.must(md.s.Schedule(md.task("b", nil)))
		})
		m.Final(func() {
			if st := md.s.Stats(); st.Workers != 0 || md.s.IdleTimerRuns() {
				m.Fatalf("at rest: the timer runs: %t, %+v", md.s.IdleTimerRuns(), st)
			}
		})
	})
}
