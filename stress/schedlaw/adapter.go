package schedlaw

import (
	"context"
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/sched"
)

// Sched returns the kind of [sched.Scheduler] with the configuration c. Each law
// chooses MaxWorkers. The schedulers also have the method Stats of [sched.Scheduler].
func Sched(c sched.Config) Kind {
	return Kind{
		Name: "sched.Scheduler",
		New: func(workers int) Scheduler {
			c.MaxWorkers = workers
			s, err := sched.New(c)
			if err != nil {
				panic(fmt.Sprintf("schedlaw: Sched: %v", err))
			}
			return adapter{s}
		},
		DrainAccepts:    true,
		ReplacesStalled: c.StallAfter > 0,
	}
}

// ZeroSched returns the kind of a [sched.Scheduler] with the zero [sched.Config].
func ZeroSched() Kind {
	return Kind{
		Name:           "zero sched.Scheduler",
		New:            func(int) Scheduler { return adapter{new(sched.Scheduler)} },
		DrainAccepts:   true,
		ReplacesIfIdle: true,
	}
}

type adapter struct{ s *sched.Scheduler }

// isAccepted reports whether the scheduler accepted tasks. It keeps them queued when
// its Spawner fails.
func isAccepted(err error) bool { return err == nil || errors.Is(err, sched.ErrQueued) }

func taskOf(task Task) *sched.Task {
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { task(workerAdapter{w}) }}
}

func (s adapter) Schedule(task Task) bool { return isAccepted(s.s.Schedule(taskOf(task))) }

func (s adapter) Shutdown() { s.must(s.s.Shutdown(context.Background())) }

// must panics on an error that only a mistake in this file causes.
func (s adapter) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("schedlaw: Sched: %v", err))
	}
}

func (s adapter) Close() int {
	first, err := s.s.Close()
	s.must(err)
	rest, err := s.s.Join(context.Background())
	s.must(err)
	return len(first) + len(rest)
}

func (s adapter) Stats() sched.Stats { return s.s.Stats() }

func (s adapter) Counters() Counters {
	st := s.s.Stats()
	return Counters{Executed: st.Executed, Workers: st.Workers, Parked: st.Parked}
}

func (s adapter) NewGroup() Group { return groupAdapter{s.s.NewGroup(sched.GroupConfig{})} }

type workerAdapter struct{ w *sched.Worker }

func (w workerAdapter) Schedule(task Task) bool { return isAccepted(w.w.Schedule(taskOf(task))) }

func (w workerAdapter) Blocking(fn func()) { w.w.Blocking(fn) }

type groupAdapter struct{ g *sched.Group }

func (g groupAdapter) Schedule(w Worker, task Task) bool {
	if w == nil {
		return isAccepted(g.g.Schedule(nil, taskOf(task)))
	}
	return isAccepted(g.g.Schedule(w.(workerAdapter).w, taskOf(task)))
}

// Wait ignores the error, which is that of the tasks or of a Close.
func (g groupAdapter) Wait(w Worker) {
	if w == nil {
		_ = g.g.Wait()
		return
	}
	_ = w.(workerAdapter).w.Wait(g.g)
}
