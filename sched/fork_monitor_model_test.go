//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestModelForkMonitor: each computation that lasts receives a request while fork monitors
// end and start. The request comes from the fork monitor that runs or from the one that
// the computation has started.
func TestModelForkMonitor(t *testing.T) {
	interleave.Check(t, "fork-monitor", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		s := placeless(m)
		s.max = 2
		// The model has the start and the end of the fork monitor but no clock.
		monitor := func() {
			var o observer
			for {
				if v := o.observe(s, nil, true); v.changed || v.unrequested {
					interleave.Pause() // the observer compares this observation with the next one
				} else if s.stopForkMonitor(&o) {
					return
				}
			}
		}
		m.Go("owner", func() {
			w := &Worker{s: s, callerWorker: true}
			w.attach(s.takePlace())
			for range 2 {
				f := takeForks[int, int](w)
				w.enterForks(&f.forkHead)
				if !s.forkMonitorRuns.Load() && s.forkMonitorRuns.CompareAndSwap(false, true) { // startForkMonitor
					interleave.Go("fork monitor", monitor)
				}
				for !f.Wanted() {
					interleave.Yield()
				}
				w.leaveForks(&f.forkHead)
			}
		})
	})
}

// TestModelForkFirstObservation: an observer requests no fork of a computation that it
// sees for the first time. The owner may end one computation and begin another one between
// two observations.
func TestModelForkFirstObservation(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "fork-first-observation", all, func(m *interleave.M) {
		s := placeless(m)
		p := s.takePlace()
		m.Go("owner", func() {
			w := &Worker{s: s, callerWorker: true}
			w.attach(p)
			for range 2 {
				f := takeForks[int, int](w)
				w.enterForks(&f.forkHead)
				w.leaveForks(&f.forkHead)
			}
		})
		m.Go("observer", func() {
			var o observer
			var last uint32
			for range 3 {
				before := p.forks.demand.Load()
				o.observe(s, nil, true)
				seen := o.seen[p.index]
				if !before && p.forks.demand.Load() && seen != last {
					m.Fatalf("a fork was requested at the first observation of epoch %d", seen)
				}
				last = seen
			}
		})
	})
}
