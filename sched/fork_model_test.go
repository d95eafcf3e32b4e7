//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// forks is the fork stack of most models. The argument selects a body of the model, and
// the result is that of the body.
type forks = sched.Forks[int, int]

// forkModel is a model with one computation. Each of its bodies runs once, and none runs
// after its end.
type forkModel struct {
	*model
	bodies []func(f *forks) int
	ran    []int
	ended  bool
}

// newForkModel makes a model of a computation of these bodies. The first is the body of
// the root. A fork of i runs the body with that index.
func newForkModel(m *interleave.M, workers int, bodies ...func(f *forks) int) *forkModel {
	return &forkModel{model: newModel(m, workers, 0), bodies: bodies, ran: make([]int, len(bodies))}
}

// body is the body of the computation.
func (fm *forkModel) body(f *forks, i int) int {
	if fm.ended {
		fm.m.Fatalf("body %d runs after the end of ForkJoin", i)
	}
	fm.ran[i]++
	return fm.bodies[i](f)
}

// run runs the computation and returns its result.
func (fm *forkModel) run() int {
	defer func() { fm.ended = true }()
	return sched.ForkJoin(fm.s, fm.body, 0)
}

// runs fails unless the computation returns want and each body has run once.
func (fm *forkModel) runs(want int) {
	got := fm.run()
	if got != want {
		fm.m.Fatalf("ForkJoin = %d, want %d", got, want)
	}
	for i, n := range fm.ran {
		if n != 1 {
			fm.m.Fatalf("body %d ran %d times", i, n)
		}
	}
}

// join joins a fork of i, in the form for arguments without pointers.
func (fm *forkModel) join(f *forks, i int) int {
	if f.TakeBack() {
		return fm.body(f, i)
	}
	return f.Await()
}

// promote requests a fork and makes a fork of i.
func promote(f *forks, i int) {
	f.SetDemand()
	f.Fork(i)
}

// result is a body without forks.
func result(n int) func(*forks) int { return func(*forks) int { return n } }

// TestModelForkHandOver: the join of a promoted fork returns its result, whether the fork
// was stolen or not.
func TestModelForkHandOver(t *testing.T) {
	interleave.Check(t, "fork-hand-over-2", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			return 1 + fm.join(f, 1)
		}, result(10))
		m.Go("root", func() { fm.runs(11) })
	})
	interleave.Check(t, "fork-hand-over-3", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 3, func(f *forks) int {
			promote(f, 1)
			promote(f, 2)
			n := fm.join(f, 2)
			return n + fm.join(f, 1)
		}, result(10), result(100))
		m.Go("root", func() { fm.runs(110) })
	})
}

// TestModelForkTakeBack: on a scheduler with one place, the owner takes its promoted forks
// back, because no thief exists.
func TestModelForkTakeBack(t *testing.T) {
	interleave.Check(t, "fork-take-back", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			promote(f, 1)
			n := fm.join(f, 1)
			promote(f, 2)
			return n + fm.join(f, 2)
		}, result(10), result(100))
		m.Go("root", func() { fm.runs(110) })
	})
}

// TestModelForkSlots: a thief runs the argument of its own fork although the owner uses
// the slot again.
func TestModelForkSlots(t *testing.T) {
	interleave.Check(t, "fork-slots", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			n := fm.join(f, 1)
			f.Fork(2)
			return n + fm.join(f, 2)
		}, func(f *forks) int {
			f.Fork(3)
			return fm.join(f, 3)
		}, result(100), result(1000))
		m.Go("root", func() { fm.runs(1100) })
	})
}

// TestModelForkInTask: a computation in a task has the right result, and so has a
// computation of other types nested in it.
func TestModelForkInTask(t *testing.T) {
	interleave.Check(t, "fork-in-task", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 2, func(f *forks) int {
			promote(f, 1)
			other := sched.ForkJoin(fm.s, func(g *sched.Forks[string, string], s string) string {
				if s != "root" {
					return s
				}
				g.SetDemand()
				g.Fork("b")
				if g.TakeBackPointer() {
					return "a" + "b"
				}
				return "a" + g.Await()
			}, "root")
			if other != "ab" {
				m.Fatalf("the nested computation returned %q, want ab", other)
			}
			return fm.join(f, 1)
		}, result(10))
		task := fm.task("task", func(*sched.Worker) { fm.runs(10) })
		m.Go("caller", func() { fm.must(fm.s.Schedule(task)) })
	})
}

// TestModelForkWithoutPlace: a computation has the right result when no place is free, or
// becomes free while the computation begins.
func TestModelForkWithoutPlace(t *testing.T) {
	interleave.Check(t, "fork-without-place", bounded(), func(m *interleave.M) {
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			f.Fork(1)
			return fm.join(f, 1)
		}, result(10))
		a := fm.task("a", nil)
		m.Go("do", func() { fm.must(fm.s.Do(a)) })
		m.Go("root", func() { fm.runs(10) })
	})
}

// TestModelForkBlocking: a body that blocks promotes all its forks and releases its place.
// It continues when both forks have run.
func TestModelForkBlocking(t *testing.T) {
	interleave.Check(t, "fork-blocking", bounded(), func(m *interleave.M) {
		var ran park.Sema
		ran.Init(2)
		post := func(*forks) int { ran.Post(); return 1 }
		var fm *forkModel
		fm = newForkModel(m, 1, func(f *forks) int {
			f.Fork(1)
			f.Fork(2)
			f.Worker().Blocking(func() { ran.Wait(); ran.Wait() })
			n := fm.join(f, 2)
			return n + fm.join(f, 1)
		}, post, post)
		m.Go("root", func() { fm.runs(2) })
	})
}
