//go:build interleave

package sched_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelDo: a Do takes the only place while an external caller schedules, and all tasks run,
// also the tasks that the Do leaves queued.
func TestModelDo(t *testing.T) {
	interleave.Check(t, "sched-do-1", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(c)) })
		m.Go("do", func() {
			md.must(md.s.Do(a))
			if *md.ran["a"] != 1 {
				m.Fatalf("Do returned before its task ran")
			}
		})
		m.Go("caller", func() { md.must(md.s.Schedule(b)) })
	})
	interleave.Check(t, "sched-do-2", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a, b, c := md.task("a", nil), md.task("b", nil), md.task("c", nil)
		m.Go("do one", func() { md.must(md.s.Do(a, b)) })
		m.Go("do other", func() { md.must(md.s.Do(c)) })
	})
}

// TestModelDoNotifies: Do notifies for the tasks after its first one, because the first may wait
// for them.
func TestModelDoNotifies(t *testing.T) {
	interleave.Check(t, "sched-do-notifies", bounded(), func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var ready park.Sema
		ready.Init(1)
		a := md.task("a", func(*sched.Worker) { ready.Wait() })
		b := md.task("b", func(*sched.Worker) { ready.Post() })
		m.Go("do", func() { md.must(md.s.Do(a, b)) })
	})
}

// TestModelDoBlocks: the task of a Do waits without its Worker, and the Do releases its place.
func TestModelDoBlocks(t *testing.T) {
	interleave.Check(t, "sched-do-blocks", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		b := md.task("b", nil)
		a := md.task("a", func(*sched.Worker) {
			md.must(g.Schedule(nil, b))
			md.must(g.Wait())
		})
		m.Go("do", func() { md.must(md.s.Do(a)) })
	})
}
