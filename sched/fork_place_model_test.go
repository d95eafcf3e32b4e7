//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/sched"
)

// TestModelForkRetakesPlace: a joiner that has parked takes a place again if one is free.
// Its later forks are then promoted on demand. The joiner is a worker or the caller of
// ForkJoin.
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

// TestModelForkBeyondMax: a worker that has taken a place again beyond MaxWorkers ends
// after its task. Another worker has replaced it during its block. No two goroutines run
// with the one place at the same time. Tasks that are scheduled during the block run.
func TestModelForkBeyondMax(t *testing.T) {
	interleave.Check(t, "fork-beyond-max", bounded(), func(m *interleave.M) {
		var withPlace atomix.Int32 // bodies and tasks that run with a place
		runs := func(w *sched.Worker) {
			if w.ID() < 0 {
				return
			}
			if n := withPlace.Add(1); n > 1 {
				m.Fatalf("%d goroutines run with one place", n)
			}
			withPlace.Add(-1)
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
				m.Fatalf("%d workers remain, %d are parked, want at most 1", n, fm.s.Idle())
			}
		})
	})
}
