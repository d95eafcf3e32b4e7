//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// In these models workers are daemons: they may stay parked when all other threads have
// ended. A stranded task is then a task that has not run at the end, or a waiter that
// waits for ever.

// modelSpawner starts workers as threads of the model. The explorer chooses which calls
// fail, at most failures of them.
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

// model is a scheduler in an exploration, with the tasks that must run exactly once.
type model struct {
	m     *interleave.M
	s     *sched.Scheduler
	names []string
	ran   map[string]*int
}

// infallibleModelSpawner starts every worker, as the default Spawner does.
type infallibleModelSpawner struct {
	sched.Infallible
	modelSpawner
}

// newModel returns a model with a Spawner that may fail in the given number of calls.
func newModel(m *interleave.M, workers, failures int) *model {
	return newModelOf(m, sched.Config{MaxWorkers: workers}, failures)
}

func newModelOf(m *interleave.M, c sched.Config, failures int) *model {
	c.Spawner = &modelSpawner{failures}
	if failures == 0 {
		c.Spawner = &infallibleModelSpawner{}
	}
	return newModelWith(m, c)
}

func newModelWith(m *interleave.M, c sched.Config) *model {
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

// must fails the execution when err is not nil.
func (md *model) must(err error) {
	if err != nil {
		md.m.Fatalf("unexpected error: %v", err)
	}
}

// closeAndJoin closes and joins the scheduler, and returns the number of returned tasks.
func (md *model) closeAndJoin() (returned int) {
	now, err := md.s.Close()
	md.must(err)
	later, err := md.s.Join(context.Background())
	md.must(err)
	return len(now) + len(later)
}

// bounded returns the options of an exploration up to two preemptions.
func bounded() interleave.Options { return interleave.Options{Preemptions: 2} }

// checkAndDraw explores a model that has too many executions for more preemptions than those of o. PCT
// draws some thousands with more.
func checkAndDraw(t *testing.T, name string, o interleave.Options, model func(m *interleave.M)) {
	t.Helper()
	interleave.Check(t, name, o, model)
	o.Strategy, o.Preemptions, o.Seed, o.Depth, o.Executions = interleave.PCT, 0, 1, 4, 20_000
	interleave.Check(t, name+"-pct", o, model)
}
