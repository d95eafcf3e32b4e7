//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
)

// twoPromotions is two computations. First one promotes a fork and then the other. Each
// fork waits for the other one, so two workers must take them.
type twoPromotions struct {
	s      *Scheduler
	stacks [2]*Forks[int, int]
	ran    [2]park.Sema
}

// newTwoPromotions makes the computations. With pause, other threads run between the two
// promotions in every execution.
func newTwoPromotions(m *interleave.M, pause bool) *twoPromotions {
	s, err := New(Config{MaxWorkers: 4, Spawner: daemonSpawn{}})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	tp := &twoPromotions{s: s}
	for i := range tp.stacks {
		tp.ran[i].Init(2)
		w := s.newCaller(s.takePlace())
		f := takeForks[int, int](w)
		f.body = tp.body
		f.enter(w)
		f.Push(i)
		tp.stacks[i] = f
	}
	m.Go("owners", func() {
		for i, f := range tp.stacks {
			f.SetDemand()
			f.Promote()
			if pause {
				interleave.Yield()
			}
			defer tp.ran[i].Wait()
		}
	})
	return tp
}

func (tp *twoPromotions) body(_ *Forks[int, int], me int) int {
	tp.ran[me].Post()
	tp.ran[me].Post()
	tp.ran[1-me].Wait()
	return 0
}

// TestModelForkTwoPromotions: two promotions that rely on one requester both reach a
// worker. The requester is a worker or a joiner.
func TestModelForkTwoPromotions(t *testing.T) {
	t.Run("requester", func(t *testing.T) {
		defer SetRequestRounds(0)()
		interleave.Check(t, "fork-promotion-requester", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
			tp := newTwoPromotions(m, false)
			m.Go("requester", tp.s.RequestForkOnce)
		})
	})
	t.Run("joiner", func(t *testing.T) {
		defer SetRequestRounds(2)()
		// With a pause the owners promote between two rounds of the joiner, which takes a preemption otherwise.
		model := func(m *interleave.M) {
			tp := newTwoPromotions(m, interleave.Choose(2) == 1)
			k := &forkTask{root: new(forkRoot)}
			tp.stacks[interleave.Choose(2)].root = k.root // the joiner may run forks of this one
			m.Go("joiner", func() {
				w := tp.s.enterAsCaller()
				if w == nil {
					return
				}
				defer w.endDo()
				k.awaitRounds(w, true)
			})
		}
		interleave.Check(t, "fork-promotion-joiner", interleave.Options{Preemptions: interleave.None}, model)
		interleave.Check(t, "fork-promotion-joiner-pct", interleave.Options{Strategy: interleave.PCT, Seed: 1, Depth: 4, Executions: 20_000}, model)
	})
}

// TestModelForkRequesterLeaves: a fork that is promoted while a requester gives up reaches
// a worker. Either the requester finds the task or the owner notifies. The owner does not
// continue before.
func TestModelForkRequesterLeaves(t *testing.T) {
	defer SetRequestRounds(1)()
	defer YieldAfterRounds()()
	interleave.Check(t, "fork-requester-leaves", interleave.Options{Preemptions: 1, Rounds: 1}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 3, Spawner: daemonSpawn{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		var ran park.Sema
		ran.Init(1)
		w := s.newCaller(s.takePlace())
		f := takeForks[int, int](w)
		f.body = func(*Forks[int, int], int) int { ran.Post(); return 0 }
		f.enter(w)
		f.Push(0)
		m.Go("owner", func() {
			f.SetDemand()
			f.Promote()
			ran.Wait()
		})
		m.Go("requester", s.RequestForkOnce)
	})
}

// daemonSpawn is a Spawner that makes each worker a daemon of the model.
type daemonSpawn struct{ Infallible }

func (daemonSpawn) Spawn(run func()) error { interleave.GoDaemon("worker", run); return nil }
