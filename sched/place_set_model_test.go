//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
)

// unlisted fails the execution if a place has tasks and is not listed.
func unlisted(m *interleave.M, s *Scheduler) {
	if n := s.UnlistedPlaces(); n != 0 {
		m.Fatalf("%d places have tasks and are not listed", n)
	}
}

// TestModelListedBesideDrainer: a searcher finds the task that a drainer pushes to a place
// whose holder returns it, or the holder notifies afterwards.
func TestModelListedBesideDrainer(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "sched-listed-drainer", all, func(m *interleave.M) {
		s := withPlaces(m, 1)
		w := s.newCaller(s.takePlace())
		w.place.list(s)
		found := false
		m.Go("holder", func() { s.returnPlace(w) })
		m.Go("drainer", func() {
			var l mpsc.List
			l.Push(&new(Task).node)
			s.pushOverflow(&l)
			found = s.anyAvailable() // as a worker that is notified now
		})
		m.Final(func() {
			unlisted(m, s)
			if !found && !s.sync.Load().Notified() {
				m.Fatalf("a searcher has not found the task, and the holder has not notified")
			}
		})
	})
}

// TestModelListedBesideThief: a place stays listed while a thief holds its overflow queue
// and may leave tasks there.
func TestModelListedBesideThief(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "sched-listed-thief", all, func(m *interleave.M) {
		s := withPlaces(m, 2)
		w := s.newCaller(s.takePlace())
		thief := s.takePlace()
		w.place.list(s)
		var l mpsc.List
		for range 4 { // a thief takes half a ring, which is two, and one to run
			l.Push(&new(Task).node)
		}
		w.place.queue.PushOverflow(&l)
		m.Go("holder", func() { s.returnPlace(w) })
		m.Go("thief", func() { thief.steal(s) })
		m.Final(func() { unlisted(m, s) })
	})
}

// TestModelListedBesideBoth: a searcher finds the tasks that a drainer pushes to a place and
// that a thief leaves there, while the holder returns the place.
func TestModelListedBesideBoth(t *testing.T) {
	interleave.Check(t, "sched-listed-both", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s := withPlaces(m, 2)
		w := s.newCaller(s.takePlace())
		thief := s.takePlace()
		w.place.list(s)
		m.Go("holder", func() { s.returnPlace(w) })
		m.Go("drainer", func() {
			var l mpsc.List
			for range 4 {
				l.Push(&new(Task).node)
			}
			s.pushOverflow(&l)
		})
		m.Go("thief", func() { thief.steal(s) })
		m.Final(func() { unlisted(m, s) })
	})
}

// withPlaces returns a scheduler with n places that starts no worker.
func withPlaces(m *interleave.M, n int) *Scheduler {
	return newFor(m, Config{MaxWorkers: n, Spawner: noWorker{}})
}
