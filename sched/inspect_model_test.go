//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// TestModelInspect: a mark that an inspection finds again belongs to the callback that it has found
// before, or to the next one if that was about to begin. No free place stays marked. The holder
// runs two callbacks, returns its place, takes it again, and runs two more. In the second model it
// lingers in place of the return, and a claimant takes the place.
func TestModelInspect(t *testing.T) {
	interleave.Check(t, "sched-inspect", interleave.Options{Preemptions: 3}, inspectModel(false))
	interleave.Check(t, "sched-inspect-linger", interleave.Options{Preemptions: 3}, inspectModel(true))
}

func inspectModel(lingers bool) func(m *interleave.M) {
	return func(m *interleave.M) {
		s := withPlaces(m, 1)
		p := s.places.all[0].Load()
		var begun atomix.Int32
		m.Go("holder", func() {
			w := newWorker(s, callerWorker)
			for range 2 {
				w.attach(s.takePlace())
				begun.Add(1)
				w.stops()
				begun.Add(1)
				if lingers {
					w.lingerer.kept.Store(w.place)
					w.place = nil
					s.lingerer.Store(&w.lingerer)
					s.returnLingeringPlace()
				} else {
					s.returnPlace(w)
				}
			}
		})
		m.Go("inspector", func() {
			for range 2 {
				holder, first := s.mark(p)
				found := begun.Load()
				if later := begun.Load(); holder != 0 && first && (occupant{p, holder}).lasts() && later > found+1 {
					m.Fatalf("callback %d has the mark of callback %d", later, found)
				}
			}
		})
		m.Final(func() {
			if p.inspected.Load() || s.attention.Load() != 0 {
				m.Fatalf("at the end: the free place is marked: %t, the attention counter is %d", p.inspected.Load(), s.attention.Load())
			}
		})
	}
}
