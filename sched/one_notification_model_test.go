//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelOneNotificationManyPushes: as many tasks as MaxWorkers are scheduled, and none ends
// before all have begun. Workers of earlier tasks have not polled the queues yet. A notification
// may therefore stand for two pushes: a worker that takes it and finds a task has to pass it on.
func TestModelOneNotificationManyPushes(t *testing.T) {
	const workers = 3
	options := interleave.Options{Strategy: interleave.PCT, Depth: 4, Executions: 30_000, Seed: 1}
	interleave.Check(t, "sched-one-notification", options, func(m *interleave.M) {
		md := newModel(m, workers, 0)
		all := make([]park.Sema, workers)
		for i := range all {
			all[i].Init(workers)
		}
		m.Go("caller", func() {
			for range workers - 1 {
				done := new(park.Sema)
				done.Init(1)
				md.must(md.s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { done.Post() }}))
				done.Wait()
			}
			for i := range workers {
				md.must(md.s.Schedule(md.task(string(rune('a'+i)), func(*sched.Worker) {
					for k := range all {
						if k != i {
							all[k].Post()
						}
					}
					for range workers - 1 {
						all[i].Wait()
					}
				})))
			}
		})
	})
}
