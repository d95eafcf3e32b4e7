//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkStale: a joiner claims a fork whose task is still queued, in front of
// another one that somebody else has to run. The stale task does nothing and is
// counted, and who was turned away while it was taken out is told.
func TestModelForkStale(t *testing.T) {
	defer sched.BegFor(0)() // who is turned away parks at once
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

// TestModelForkSurplus: a callback has given its place away in a computation, another
// worker came instead of it, and it comes back, beyond MaxWorkers. No two run with
// the one place at once, it ends after its task, and what was scheduled meanwhile runs.
func TestModelForkSurplus(t *testing.T) {
	interleave.Check(t, "fork-surplus", bounded(), func(m *interleave.M) {
		var with atomix.Int32 // bodies and tasks with a place
		runs := func(w *sched.Worker) {
			if w.ID() < 0 {
				return
			}
			if n := with.Add(1); n > 1 {
				m.Fatalf("%d run at once", n)
			}
			with.Add(-1)
		}
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			f.Fork(1)
			f.Worker().Blocking(func() {})
			runs(f.Worker())
			n := fm.join(f, 1)
			runs(f.Worker())
			return n
		}, func(f *forks) int {
			runs(f.Worker())
			return 10
		})
		task := fm.task("task", func(*sched.Worker) { fm.runs(10) })
		late := fm.task("late", runs)
		m.Go("caller", func() {
			fm.must(fm.s.Schedule(task))
			fm.must(fm.s.Schedule(late))
		})
		m.Final(func() {
			if n := fm.s.Stats().Workers; n > 1 || fm.s.Idle() > n {
				m.Fatalf("%d workers are left, %d are parked", n, fm.s.Idle())
			}
		})
	})
}
