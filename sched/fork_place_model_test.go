//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkRetakesPlace: a join parks, and has a place afterwards if one is free: so
// what is forked then is fed again. With a worker, and with the caller of ForkJoin.
func TestModelForkRetakesPlace(t *testing.T) {
	parks := func(m *interleave.M) *forkModel {
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			f.Fork(1)
			f.Worker().Blocking(func() {})
			n := fm.join(f, 1)
			promote(f, 2)
			return n + fm.join(f, 2)
		}, result(10), result(100))
		return fm
	}
	interleave.Check(t, "fork-retake-caller", bounded(), func(m *interleave.M) {
		fm := parks(m)
		m.Go("root", func() { fm.runs(110) })
	})
	interleave.Check(t, "fork-retake-worker", bounded(), func(m *interleave.M) {
		fm := parks(m)
		task := fm.task("task", func(*sched.Worker) { fm.runs(110) })
		m.Go("caller", func() { fm.must(fm.s.Schedule(task)) })
	})
}

// TestModelForkBeyondMax: a callback has given its place away in a computation, another
// worker came instead of it, and it comes back, beyond MaxWorkers. No two run with
// the one place at once, it ends after its task, and what was scheduled meanwhile runs.
func TestModelForkBeyondMax(t *testing.T) {
	interleave.Check(t, "fork-beyond-max", bounded(), func(m *interleave.M) {
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
