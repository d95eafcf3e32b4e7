//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkStale: a joiner claims a fork whose task is still queued, in front of
// another one that somebody else has to run. The stale task does nothing and is
// counted, and who was turned away while it was taken out is told.
func TestModelForkStale(t *testing.T) {
	defer sched.SetRequestRounds(0)() // who is turned away parks at once
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
