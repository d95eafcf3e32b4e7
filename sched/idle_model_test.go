//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
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

// TestModelIdleTimerAfterALeave: each worker has ended when no thread but workers is left, also when
// the last worker that was busy at the end of the timer leaves the count. In the second model that
// is a worker whose Spawner fails.
func TestModelIdleTimerAfterALeave(t *testing.T) {
	sched.IdleTimerAsThread(t)
	check := func(m *interleave.M, md *model) {
		m.Final(func() {
			if st := md.s.Stats(); st.Workers != 0 || md.s.IdleTimerRuns() {
				m.Fatalf("at rest: the timer runs: %t, %+v", md.s.IdleTimerRuns(), st)
			}
		})
	}
	o := interleave.Options{Preemptions: 1}
	interleave.Check(t, "sched-idle-timer-run-ends", o, func(m *interleave.M) {
		md := newModel(m, 2, 0)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", func(*sched.Worker) { cancel() })))
			md.must(md.s.Schedule(md.task("b", nil)))
		})
		check(m, md)
	})
	interleave.Check(t, "sched-idle-timer-spawn-fails", o, func(m *interleave.M) {
		md := newModel(m, 2, 1)
		var begun, end park.Sema
		begun.Init(1)
		end.Init(1)
		m.Go("caller", func() {
			queued := func(err error) (alone bool) {
				if err != nil && !errors.Is(err, sched.ErrQueued) {
					m.Fatalf("Schedule: %v", err)
				}
				return err != nil
			}
			if !queued(md.s.Schedule(md.task("a", func(*sched.Worker) { begun.Post(); end.Wait() }))) {
				begun.Wait() // the next push starts another worker
			}
			if queued(md.s.Schedule(md.task("b", nil))) {
				md.must(md.s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})) // starts a worker
			}
		})
		m.Go("end", func() { end.Post() })
		check(m, md)
	})
}

// TestModelIdleTimerStops: no timer runs when a Shutdown has returned and all workers have ended,
// although a worker may start it at the same time.
func TestModelIdleTimerStops(t *testing.T) {
	sched.IdleTimerAsTimer(t)
	interleave.Check(t, "sched-idle-timer-stops", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		md := newModelOf(m, sched.Config{MaxWorkers: 1, IdleTimeout: time.Hour}, 0)
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", nil)))
			md.must(md.s.Shutdown(context.Background()))
		})
		m.Final(func() {
			if md.s.StopIdleTimer() {
				m.Fatalf("the timer runs after the end")
			}
		})
	})
}
