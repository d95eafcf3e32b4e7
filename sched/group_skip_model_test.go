//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/sched"
)

// TestModelGroupSkips: a task ends the Context of its group while two workers enter the other
// tasks. Each task runs once or is skipped. Wait returns after all of them, and returns the
// cause, once, if a task was skipped. A skipped task belongs to the caller again.
func TestModelGroupSkips(t *testing.T) {
	interleave.Check(t, "sched-group-skips", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		ctx, cancel := context.WithCancelCause(context.Background())
		m.Final(func() { cancel(nil) })
		g := md.s.NewGroup(sched.GroupConfig{Context: ctx, AllErrors: true})
		var ran [3]int
		var tasks [3]sched.Task
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) {
				if ran[i]++; i == 0 {
					cancel(errors.New("ended"))
				}
			}
		}
		m.Go("caller", func() {
			md.must(g.Schedule(nil, &tasks[0], &tasks[1], &tasks[2]))
			err := g.Wait()
			skipped := false
			for i := range tasks {
				switch ran[i] {
				case 0:
					skipped = true
					var b sched.Batch
					md.must(b.Add(&tasks[i]))
				case 1:
				default:
					m.Fatalf("task %d ran %d times", i, ran[i])
				}
			}
			if skipped && (err == nil || err.Error() != "ended") || !skipped && err != nil {
				m.Fatalf("the tasks ran %v times, Wait = %v", ran, err)
			}
		})
	})
}
