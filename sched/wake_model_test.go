//go:build interleave

package sched_test

import (
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelLocalPush: a task of an external caller schedules two more tasks through its worker,
// and a second worker may steal them. All run once. Z-034, Z-055, Z-057.
func TestModelLocalPush(t *testing.T) {
	interleave.Check(t, "sched-local-push", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			md.must(w.Schedule(c))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelTwoCallers: the tasks of two external callers run once on two workers.
func TestModelTwoCallers(t *testing.T) {
	interleave.Check(t, "sched-two-callers", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		for _, name := range []string{"a", "b"} {
			task := md.task(name, nil)
			m.Go("caller "+name, func() { md.must(md.s.Schedule(task)) })
		}
	})
}

// TestModelPushNotifies: a task that a callback schedules runs before the callback ends, on
// another worker. Here the callback waits for it. Z-057.
func TestModelPushNotifies(t *testing.T) {
	interleave.Check(t, "sched-push-notifies", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready park.Sema
		ready.Init(1)
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			ready.Wait()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelReleaseWindow: no task waits for a running task while a worker is parked (B7). Task a
// needs task b, which is pushed while the worker of a holds the consumer token and refuses the
// other worker. The first task has made the scheduler spawn that other worker, and it keeps the
// worker of a busy until a is queued.
func TestModelReleaseWindow(t *testing.T) {
	interleave.Check(t, "sched-release-window", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready, started, gate park.Sema
		ready.Init(1)
		started.Init(1)
		gate.Init(1)
		first := md.task("first", func(*sched.Worker) { started.Post(); gate.Wait() })
		a := md.task("a", func(*sched.Worker) { ready.Wait() })
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		m.Go("caller", func() {
			md.must(md.s.Schedule(first))
			started.Wait()
			md.must(md.s.Schedule(a))
			gate.Post()
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelOverflow: a callback schedules more tasks than a ring of the model holds, and all run
// once.
func TestModelOverflow(t *testing.T) {
	interleave.Check(t, "sched-overflow", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var tasks []*sched.Task
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			tasks = append(tasks, md.task(name, nil))
		}
		a := md.task("a", func(w *sched.Worker) {
			for _, t := range tasks {
				md.must(w.Schedule(t))
			}
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelSpawnFailure: the explorer chooses which spawns fail. After ErrQueued the next
// Schedule spawns the worker that runs the task. X-31, B6. V-13a.
func TestModelSpawnFailure(t *testing.T) {
	interleave.Check(t, "sched-spawn-failure", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 2)
		tasks := []*sched.Task{md.task("a", nil), md.task("b", nil), md.task("c", nil)}
		m.Go("caller", func() {
			for i, task := range tasks {
				err := md.s.Schedule(task)
				if err != nil && (!errors.Is(err, sched.ErrQueued) || i == 2) {
					m.Fatalf("Schedule %d = %v", i, err)
				}
			}
		})
	})
}
