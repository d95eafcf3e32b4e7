//go:build interleave

package sched

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// counting holds the steps of a group that a model replaces to plant a fault.
type counting struct {
	add    func(g *Group, p *place, push func()) // counts a task and pushes it
	isDone func(g *Group) bool
}

var sound = counting{
	add: func(g *Group, p *place, push func()) {
		g.addScheduled(p, 1)
		push()
	},
	isDone: (*Group).isDone,
}

// groupModel is a model of three threads: a task of place 0 that schedules another task, place 1
// that finishes the other task, and a waiter that must not see the end of the group before both
// have ended.
func groupModel(c counting) func(m *interleave.M) {
	return func(m *interleave.M) {
		g := new(Group)
		g.s.Store(&Scheduler{max: 2})
		own, thief := &place{index: 0}, &place{index: 1}
		var stolen atomix.Bool
		var ran [2]atomix.Cell[bool]
		c.add(g, nil, func() {})
		m.Go("worker", func() {
			c.add(g, own, func() { stolen.Store(true) })
			ran[0].Set(true) // the end of the callback
			g.addFinished(own, 1)
		})
		m.Go("thief", func() {
			if !stolen.Load() {
				// Not stolen: the worker runs the task itself, which is another model.
				return
			}
			ran[1].Set(true)
			g.addFinished(thief, 1)
		})
		m.Go("waiter", func() {
			if c.isDone(g) && !(ran[0].Get() && ran[1].Get()) {
				m.Fatalf("the group is done and a task has not run")
			}
		})
	}
}

// TestModelGroupCount: a waiter that finds the sums equal sees the effects of all tasks, also
// when stripes are made during the sum.
func TestModelGroupCount(t *testing.T) {
	interleave.Check(t, "group-count", interleave.Options{Preemptions: interleave.All, Reduce: true}, groupModel(sound))
}

// TestModelGroupCountMutants: the explorer finds each planted fault that the order of the
// counters excludes.
func TestModelGroupCountMutants(t *testing.T) {
	scheduledFirst := sound
	scheduledFirst.isDone = func(g *Group) bool {
		scheduled := g.own.scheduled.Load() + g.shared.scheduled.Load()
		return g.own.finished.Load()+g.shared.finished.Load() == scheduled
	}
	pushFirst := sound
	pushFirst.add = func(g *Group, p *place, push func()) {
		push()
		g.addScheduled(p, 1)
	}
	for name, c := range map[string]counting{"scheduled summed first": scheduledFirst, "pushed before counted": pushFirst} {
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Reduce: true}, groupModel(c))
		if r.Failure == nil {
			t.Errorf("%s: not found in %d executions", name, r.Executions)
		}
	}
}

// TestModelGroupGrow: two places without a stripe make the padded stripes at the same time.
// Each of them then schedules a task that the other one may run. No count is lost: the
// group is not done before both tasks have ended, and it is done afterwards.
func TestModelGroupGrow(t *testing.T) {
	interleave.Check(t, "group-grow", interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
		g := new(Group)
		g.s.Store(&Scheduler{max: 3})
		g.home.Store(2 + 1) // own belongs to place 2
		g.addScheduled(nil, growAfter+4)
		g.addFinished(nil, growAfter)
		places := [2]*place{{index: 0}, {index: 1}}
		var pushed [2]atomix.Bool
		var ended [2]atomix.Cell[bool]
		for i := range places {
			m.Go("place", func() {
				g.addFinished(places[i], 1) // a first task, which makes the stripes
				g.addScheduled(places[i], 1)
				pushed[i].Store(true)
				g.addFinished(places[i], 1) // the task that has scheduled the new one
				if other := 1 - i; pushed[other].Load() {
					ended[other].Set(true)
					g.addFinished(places[i], 1)
				}
			})
		}
		m.Go("waiter", func() {
			if g.isDone() && !(ended[0].Get() && ended[1].Get()) {
				m.Fatalf("the group is done and a task has not ended")
			}
		})
		m.Final(func() {
			for i := range ended {
				if !ended[i].Get() { // the place found the task of the other one not pushed yet
					g.addFinished(places[1-i], 1)
				}
			}
			if !g.isDone() {
				m.Fatalf("all tasks have ended and the group is not done")
			}
		})
	})
}

// TestModelGroupWaiter: the last finisher and a waiter that parks do not miss each other.
func TestModelGroupWaiter(t *testing.T) {
	interleave.Check(t, "group-waiter", interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 2})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		g := s.NewGroup(GroupConfig{})
		s.sync.Enter(2) // otherwise the waiter would run the tasks itself
		g.addScheduled(nil, 2)
		for _, name := range []string{"one", "two"} {
			m.Go(name, func() { g.addFinished(nil, 1) })
		}
		m.Go("waiter", func() {
			if err := g.park(context.Background()); err != nil {
				m.Fatalf("park: %v", err)
			}
		})
	})
}

// TestModelGroupContext: the context of a group has ended after a task has failed, although
// another goroutine makes the context at the same time. Its cause is that error.
func TestModelGroupContext(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "sched-group-context", all, func(m *interleave.M) {
		g := new(Scheduler).NewGroup(GroupConfig{})
		failed := errors.New("failed")
		var got [2]context.Context
		for i := range got {
			m.Go("user", func() { got[i] = g.Context() })
		}
		m.Go("task", func() { g.fail(failed) })
		m.Final(func() {
			if got[0] != got[1] {
				m.Fatalf("the group has two contexts")
			}
			if cause := context.Cause(got[0]); cause != failed {
				m.Fatalf("the cause is %v, want that of the task", cause)
			}
		})
	})
}
