//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestModelForkMonitor: computations begin and end while the watch comes and goes. Each
// waits until somebody has asked it for a fork: the watch that runs, or the one that
// it has started.
func TestModelForkMonitor(t *testing.T) {
	interleave.Check(t, "fork-monitor", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		s := placeless(m)
		s.max = 2
		// What is modelled of the watch is how it begins and ends, without the clock.
		monitor := func() {
			var o observer
			for {
				if v := o.observe(s, nil, true); v.changed || v.unrequested {
					interleave.Yield()
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
				if !s.forkMonitorRuns.Load() && s.forkMonitorRuns.CompareAndSwap(false, true) { // startWatch
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
// sees for the first time, and requests one at the second observation of the same
// computation. The owner ends one computation and begins another in between.
func TestModelForkFirstObservation(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, SleepSets: true}
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
