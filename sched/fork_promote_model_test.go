//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
)

// fedTwice is two computations, one of which is fed and then the other. Their forks need
// each other, so two have to come for them.
type fedTwice struct {
	s   *Scheduler
	of  [2]*Forks[int, int]
	ran [2]park.Sema
}

// newFedTwice makes them. With pause, others go on between the two feeds in any case.
func newFedTwice(m *interleave.M, pause bool) *fedTwice {
	s, err := New(Config{MaxWorkers: 4, Spawner: daemonSpawn{}})
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	fed := &fedTwice{s: s}
	for i := range fed.of {
		fed.ran[i].Init(2)
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		f := takeForks[int, int](w)
		f.body = fed.body
		w.enterForks(&f.forkHead)
		f.Push(i)
		fed.of[i] = f
	}
	m.Go("owners", func() {
		for i, f := range fed.of {
			f.Ask()
			f.Promote()
			if pause {
				interleave.Yield()
			}
			defer fed.ran[i].Wait()
		}
	})
	return fed
}

func (fed *fedTwice) body(_ *Forks[int, int], me int) int {
	fed.ran[me].Post()
	fed.ran[me].Post()
	fed.ran[1-me].Wait()
	return 0
}

// TestModelForkFedTwice: both rely on one beggar, or on one joiner that counts as such.
func TestModelForkFedTwice(t *testing.T) {
	t.Run("beggar", func(t *testing.T) {
		defer BegFor(0)()
		interleave.Check(t, "fork-fed-twice", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
			fed := newFedTwice(m, false)
			m.Go("beggar", fed.s.BegOnce)
		})
	})
	t.Run("joiner", func(t *testing.T) {
		defer BegFor(2)()
		interleave.Check(t, "fork-fed-joiner", interleave.Options{}, func(m *interleave.M) {
			fed := newFedTwice(m, interleave.Choose(2) == 1)
			k := &forkTask{root: new(forkRoot)}
			fed.of[interleave.Choose(2)].root = k.root // this one it may help
			m.Go("joiner", func() {
				w := fed.s.enterAsCaller()
				if w == nil {
					return
				}
				defer w.endDo()
				w.helpFork(k, true)
			})
		})
	})
}

// TestModelForkRequesterLeaves: the owner promotes a fork while a requester gives up. The
// owner does not continue before another worker has run the fork, so either the requester
// finds the task, or the owner notifies.
func TestModelForkRequesterLeaves(t *testing.T) {
	defer BegFor(1)()
	interleave.Check(t, "fork-requester-leaves", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		s, err := New(Config{MaxWorkers: 3, Spawner: daemonSpawn{}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		var ran park.Sema
		ran.Init(1)
		w := &Worker{s: s, callerWorker: true}
		w.attach(s.takePlace())
		f := takeForks[int, int](w)
		f.body = func(*Forks[int, int], int) int { ran.Post(); return 0 }
		w.enterForks(&f.forkHead)
		f.Push(0)
		m.Go("owner", func() {
			f.Ask()
			f.Promote()
			ran.Wait()
		})
		m.Go("requester", s.BegOnce)
	})
}

// daemonSpawn makes each worker a daemon of the model.
type daemonSpawn struct{ Infallible }

func (daemonSpawn) Spawn(run func()) error { interleave.GoDaemon("worker", run); return nil }
