package stress

import (
	"context"
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/sched"
)

// Sched returns [sched.Scheduler] with the configuration c, other than its
// MaxWorkers. Its schedulers also have the method Stats of [sched.Scheduler].
func Sched(c sched.Config) SchedulerKind {
	return SchedulerKind{
		Name: "sched.Scheduler",
		New: func(workers int) Scheduler {
			c.MaxWorkers = workers
			s, err := sched.New(c)
			if err != nil {
				panic(fmt.Sprintf("stress: Sched: %v", err))
			}
			return schedOurs{s}
		},
	}
}

type schedOurs struct{ s *sched.Scheduler }

// schedAccepted reports whether tasks were taken. A Spawner that failed leaves
// them queued.
func schedAccepted(err error) bool { return err == nil || errors.Is(err, sched.ErrQueued) }

func schedTaskOf(task Task) *sched.Task {
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { task(schedWorker{w}) }}
}

func (s schedOurs) Schedule(task Task) bool { return schedAccepted(s.s.Schedule(schedTaskOf(task))) }

func (s schedOurs) Shutdown() { s.must(s.s.Shutdown(context.Background())) }

// must panics on what can only be a mistake in this file.
func (s schedOurs) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("stress: Sched: %v", err))
	}
}

func (s schedOurs) Close() int {
	first, err := s.s.Close()
	s.must(err)
	rest, err := s.s.Join(context.Background())
	s.must(err)
	return len(first) + len(rest)
}

func (s schedOurs) Stats() sched.Stats { return s.s.Stats() }

func (s schedOurs) Counters() Counters {
	st := s.s.Stats()
	return Counters{Executed: st.Executed, Workers: st.Workers, Parked: st.Parked}
}

func (s schedOurs) NewGroup() Group { return schedGroup{s.s.NewGroup(sched.GroupConfig{})} }

type schedWorker struct{ w *sched.Worker }

func (w schedWorker) Schedule(task Task) bool { return schedAccepted(w.w.Schedule(schedTaskOf(task))) }

func (w schedWorker) Blocking(fn func()) { w.w.Blocking(fn) }

type schedGroup struct{ g *sched.Group }

func (g schedGroup) Schedule(w Worker, task Task) bool {
	if w == nil {
		return schedAccepted(g.g.Schedule(nil, schedTaskOf(task)))
	}
	return schedAccepted(g.g.Schedule(w.(schedWorker).w, schedTaskOf(task)))
}

// Wait drops the error: it is that of the tasks, or of a Close.
func (g schedGroup) Wait(w Worker) {
	if w == nil {
		_ = g.g.Wait()
		return
	}
	_ = w.(schedWorker).w.Wait(g.g)
}
