//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// withForkMonitor makes computations start a fork monitor without a clock, until restore
// is called.
func withForkMonitor() (restore func()) {
	has, start := hasForkMonitor, modelForkMonitor
	hasForkMonitor = func() bool { return true }
	modelForkMonitor = func(s *Scheduler) bool {
		interleave.Go("fork monitor", func() {
			var o observer
			for {
				if v := o.observe(s, nil, true); v.changed || v.unrequested {
					interleave.Pause() // the observer compares this observation with the next one
				} else if s.stopForkMonitor(&o) {
					return
				}
			}
		})
		return true
	}
	return func() { hasForkMonitor, modelForkMonitor = has, start }
}

// TestModelForkMonitor: each computation that lasts receives a request while fork monitors
// end and start. The request comes from the fork monitor that runs or from the one that
// the computation has started.
func TestModelForkMonitor(t *testing.T) {
	defer withForkMonitor()()
	interleave.Check(t, "fork-monitor", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		s := spawnless(m)
		s.max = 2
		m.Go("owner", func() {
			w := s.newCaller(s.takePlace())
			for range 2 {
				f := takeForks[int, int](w)
				f.enter(w)
				for !f.Wanted() {
					interleave.Yield()
				}
				f.leave()
			}
		})
	})
}

// TestModelForkMonitorAgain: a computation that has answered a request receives the next
// one, although the requester makes no further observation and the fork monitor may have
// ended before the answer.
func TestModelForkMonitorAgain(t *testing.T) {
	defer withForkMonitor()()
	interleave.Check(t, "fork-monitor-again", interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		s := spawnless(m)
		s.max = 2
		s.requesters.Store(1) // so that the answers start no worker
		m.Go("owner", func() {
			w := s.newCaller(s.takePlace())
			f := takeForks[int, int](w)
			f.body = func(*Forks[int, int], int) int { return 0 }
			f.enter(w)
			for range 2 {
				for f.Push(0); f.Promoted() == 0; {
					if f.Wanted() {
						f.Promote()
					} else {
						interleave.Yield()
					}
				}
				f.Await()
			}
			f.leave()
		})
	})
}

// TestModelForkFirstObservation: an observer requests no fork of a computation that it
// sees for the first time. The owner may end one computation and begin another one between
// two observations.
func TestModelForkFirstObservation(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "fork-first-observation", all, func(m *interleave.M) {
		s := spawnless(m)
		p := s.takePlace()
		m.Go("owner", func() {
			w := newWorker(s, callerWorker)
			w.attach(p)
			for range 2 {
				f := takeForks[int, int](w)
				f.enter(w)
				f.leave()
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
