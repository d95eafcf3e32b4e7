//go:build interleave

package sched_test

import (
	"context"
	"errors"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// In these models workers are daemons: they may be parked for ever when all
// others have ended. So a task that is stranded shows as a task that has not run
// in the end, or as a waiter that waits for ever.

// modelSpawner starts workers as threads of the model; it fails when the explorer
// says so, at most failures times.
type modelSpawner struct{ failures int }

var errSpawn = errors.New("spawn failed")

func (m *modelSpawner) Spawn(run func()) error {
	if m.failures > 0 && interleave.Choose(2) == 1 {
		m.failures--
		return errSpawn
	}
	interleave.GoDaemon("worker", run)
	return nil
}

// model is a scheduler in an exploration, and the tasks that must run once.
type model struct {
	m     *interleave.M
	s     *sched.Scheduler
	names []string
	ran   map[string]*int
}

// sureModelSpawner starts every worker, as the default Spawner does.
type sureModelSpawner struct {
	sched.Infallible
	modelSpawner
}

func newModel(m *interleave.M, workers, failures int) *model {
	return newModelOf(m, sched.Config{MaxWorkers: workers}, failures)
}

func newModelOf(m *interleave.M, c sched.Config, failures int) *model {
	c.Spawner = &modelSpawner{failures}
	if failures == 0 {
		c.Spawner = &sureModelSpawner{}
	}
	s, err := sched.New(c)
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	md := &model{m: m, s: s, ran: map[string]*int{}}
	m.Final(md.check)
	return md
}

// check is the law: each task ran exactly once.
func (md *model) check() {
	for _, name := range md.names {
		if n := *md.ran[name]; n != 1 {
			md.m.Fatalf("task %s ran %d times", name, n)
		}
	}
}

// task returns a task that must run exactly once.
func (md *model) task(name string, fn func(w *sched.Worker)) *sched.Task {
	md.names = append(md.names, name)
	ran := new(int)
	md.ran[name] = ran
	return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		*ran++
		if fn != nil {
			fn(w)
		}
	}}
}

func (md *model) must(err error) {
	if err != nil {
		md.m.Fatalf("unexpected error: %v", err)
	}
}

// closeAndJoin closes and joins the scheduler, and returns how many tasks came
// back.
func (md *model) closeAndJoin() (returned int) {
	now, err := md.s.Close()
	md.must(err)
	later, err := md.s.Join(context.Background())
	md.must(err)
	return len(now) + len(later)
}

func bounded() interleave.Options { return interleave.Options{Preemptions: 2} }

type spawnFunc func(func()) error

func (f spawnFunc) Spawn(run func()) error { return f(run) }
