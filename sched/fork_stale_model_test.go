//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkStale: the stale task of a fork that its joiner has claimed does nothing
// and is counted as finished. It is queued in front of a task that another worker must
// run. A thief that finds the ring held during the removal is notified.
func TestModelForkStale(t *testing.T) {
	defer sched.SetRequestRounds(0)() // a thief that finds the ring held parks at once
	interleave.Check(t, "fork-stale", bounded(), func(m *interleave.M) {
		var ran park.Sema
		ran.Init(1)
		var g *sched.Group
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			g = f.Group()
			fm.must(f.Worker().Schedule(fm.task("behind", func(*sched.Worker) { ran.Post() })))
			n := fm.join(f, 1)
			ran.Wait()
			return n
		}, result(10))
		m.Go("root", func() { fm.runs(10) })
		m.Final(func() {
			if !g.Done() {
				m.Fatalf("the task of the fork is not counted as finished")
			}
		})
	})
}
