//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// noteSpawn is a Spawner that notes the first notification and starts no worker.
type noteSpawn struct {
	Infallible
	notified *bool
}

func (n noteSpawn) Spawn(func()) error {
	*n.notified = true
	return nil
}

// requesterModel is an owner that promotes two forks, and a requester with a place that it
// does not return. No worker runs, so a fork that remains queued needs a notification, by the
// owner or by the requester.
func requesterModel(request func(m *interleave.M, w *Worker) (notifies bool)) func(m *interleave.M) {
	return func(m *interleave.M) {
		notified := false
		s, err := New(Config{MaxWorkers: 4, Spawner: noteSpawn{notified: &notified}})
		if err != nil {
			m.Fatalf("New: %v", err)
		}
		owner, requester := s.newCaller(s.takePlace()), s.newCaller(s.takePlace())
		f := takeForks[int, int](owner)
		f.body = func(*Forks[int, int], int) int { return 0 }
		f.enter(owner)
		m.Go("owner", func() {
			for i := range 2 {
				f.Push(i)
				f.SetDemand()
				f.Promote()
			}
		})
		notifies := false
		m.Go("requester", func() { notifies = request(m, requester) })
		m.Final(func() {
			if s.anyQueued() && !notified && !notifies {
				m.Fatalf("a promoted fork is queued, and no worker is notified of it")
			}
		})
	}
}

// TestModelForkRequesterCount: a promotion that relies on a requester is found by that
// requester, before it returns its place. The requester is a worker or a joiner. It leaves
// the number of requesters and then searches, and the owner pushes and then loads the number.
func TestModelForkRequesterCount(t *testing.T) {
	o := interleave.Options{Preemptions: 3}
	for rounds, name := range []string{"fork-requester-0", "fork-requester-1"} {
		t.Run(name, func(t *testing.T) {
			defer SetRequestRounds(rounds)()
			interleave.Check(t, name, o, requesterModel(func(_ *interleave.M, w *Worker) bool {
				_, pushed := w.place.requestFork(w.s, w)
				return pushed
			}))
		})
	}
	t.Run("joiner", func(t *testing.T) {
		defer SetRequestRounds(1)()
		interleave.Check(t, "fork-requester-joiner", o, requesterModel(func(_ *interleave.M, w *Worker) bool {
			k := &forkTask{root: new(forkRoot)}
			k.awaitRounds(w, false)
			return false // awaitRounds notifies itself
		}))
	})
}
