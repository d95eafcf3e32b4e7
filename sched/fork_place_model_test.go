//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
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

// TestModelForkTakesPlaceAfterWait: a body that has waited for a group takes a place again,
// whichever call it has waited in. Its later forks can then be promoted.
func TestModelForkTakesPlaceAfterWait(t *testing.T) {
	program := func(wait func(w *sched.Worker, g *sched.Group) error) func(m *interleave.M) {
		return func(m *interleave.M) {
			var fm *forkModel
			fm = newForkModel(m, 2, func(f *forks) int {
				w, g := f.Worker(), fm.s.NewGroup(sched.GroupConfig{})
				fm.must(g.Schedule(nil, fm.task("task", nil)))
				fm.must(wait(w, g))
				if w.ID() < 0 {
					m.Fatalf("the body has no place after Wait")
				}
				promote(f, 1)
				return fm.join(f, 1)
			}, result(10))
			m.Go("root", func() { fm.runs(10) })
		}
	}
	o := interleave.Options{Preemptions: 1} // with one more, two workers may hold both places for a moment
	interleave.Check(t, "fork-wait-worker", o, program((*sched.Worker).Wait))
	interleave.Check(t, "fork-wait-group", o, program(func(_ *sched.Worker, g *sched.Group) error { return g.Wait() }))
	interleave.Check(t, "fork-wait-limit", o, program(func(w *sched.Worker, g *sched.Group) error {
		limited := w.Scheduler().NewGroup(sched.GroupConfig{Limit: 1})
		ends := func() error { return nil }
		limited.Go(ends)
		limited.Go(ends) // waits for the permit
		return nil
	}))
	interleave.Check(t, "fork-wait-do", o, program(func(w *sched.Worker, _ *sched.Group) error {
		return w.DoElsewhere(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})
	}))
}

// TestModelForkBlocksWithoutPlace: a body that is inside Blocking holds no place, also after
// a call inside it that blocks. With one place, a task that ends the wait therefore runs.
func TestModelForkBlocksWithoutPlace(t *testing.T) {
	program := func(call func(fm *forkModel, f *forks)) func(m *interleave.M) {
		return func(m *interleave.M) {
			var ran park.Sema
			ran.Init(1)
			var fm *forkModel
			fm = newForkModel(m, 1, func(f *forks) int {
				n := 0
				f.Fork(1)
				f.Worker().Blocking(func() {
					call(fm, f)
					n = fm.join(f, 1)
					fm.must(fm.s.Schedule(fm.task("task", func(*sched.Worker) { ran.Post() })))
					ran.Wait()
				})
				return n
			}, result(10))
			m.Go("root", func() { fm.runs(10) })
		}
	}
	interleave.Check(t, "fork-blocks-join", bounded(), program(func(*forkModel, *forks) {}))
	interleave.Check(t, "fork-blocks-blocking", bounded(), program(func(_ *forkModel, f *forks) { f.Worker().Blocking(func() {}) }))
	interleave.Check(t, "fork-blocks-wait", bounded(), program(func(fm *forkModel, f *forks) {
		g := fm.s.NewGroup(sched.GroupConfig{})
		fm.must(g.Schedule(nil, fm.task("awaited", nil)))
		fm.must(f.Worker().Wait(g))
	}))
	interleave.Check(t, "fork-blocks-do", bounded(), program(func(fm *forkModel, f *forks) {
		fm.must(fm.s.Do(fm.task("inner", func(w *sched.Worker) { w.Blocking(func() {}) })))
	}))
	interleave.Check(t, "fork-blocks-try-do", bounded(), program(func(fm *forkModel, f *forks) {
		inner := func(*sched.Worker, *sched.Task) { f.Worker().Blocking(func() {}) } // on this goroutine
		_, err := fm.s.TryDo(&sched.Task{Fn: inner})
		fm.must(err)
	}))
}
