package sched

import (
	"context"
	"runtime/pprof"
	"time"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/tick"
)

// The watch is a goroutine that looks for computations which no worker knows of,
// because all were parked when they began. It asks them for a fork when they turn
// out to last, and the Promote that answers wakes a worker.
//
// So a computation need not tell anybody that it begins: one that takes 3 µs does not
// pay for a wake-up that takes as long. The first one after a pause pays for the start of
// the watch, which goes on until watchIdle looks in a row have seen no computation
// begin, and none that is still to be asked.
//
// A look costs the processor time of a wake-up: 53 µs where the machine is a virtual one,
// so some 0.7 ms in the 1.2 ms after the last computation. It was 1.7 ms with 38
// looks, which gained nothing that we could measure.
//
// Laws: a computation that lasts has a second worker within 200 µs, while a processor
// is idle to run it; one of a few microseconds is asked for nothing; nothing ticks later
// than 2 ms after the last. While all processors are busy the poller runs every
// 10 ms only, and nobody could come.
//
// Rejected: a worker that parks with a timeout, since timers of the Go runtime are
// rounded up to a millisecond while a processor is idle (1.09 ms measured for 75 µs; a timer of the
// system, waited for in the poller, takes 109 µs). A look at the clock in the
// computation: 40 ns, as much as ten forks.
const (
	monitorEvery = 120 * time.Microsecond
	monitorFirst = 25 * time.Microsecond // after a look that saw a new computation, once
	monitorBusy  = time.Millisecond      // while nobody could come
	monitorIdle  = 10                    // looks that saw nothing to do, watchEvery apart
)

// startWatch sees to it that somebody watches. Models have a thread that looks.
func (s *Scheduler) startForkMonitor() {
	if s.max > 1 && !s.forkMonitorRuns.Load() && !park.Explored() && s.life.phase.Load() == open && s.forkMonitorRuns.CompareAndSwap(false, true) {
		s.life.alive.Add(1)
		go s.forkMonitor()
	}
}

func (s *Scheduler) forkMonitor() {
	defer s.life.workerEnded()
	pprof.SetGoroutineLabels(context.Background()) // not those of whoever began
	clock := tick.New()
	defer clock.Close()
	s.notify(false) // a worker that begs at once: the first computation may last
	var o observer
	again := false // the last look was to see whether a new computation lasts
	for idle := 0; ; {
		free := !s.places.full() // there is a place for who would come
		v := o.observe(s, nil, free)
		if idle++; !free {
			idle += int(monitorBusy/monitorEvery) - 1
		}
		if v.changed || v.requestPending {
			idle = 0
		}
		if free && v.requestPending {
			s.notify(false) // here it costs less than in the computation, on a processor that is awake
		}
		if s.life.phase.Load() != open || idle >= monitorIdle {
			if s.stopForkMonitor(&o) {
				return
			}
			idle = 0
		}
		switch {
		case v.firstSeen && !again:
			again = true
			clock.Wait(monitorFirst)
			continue
		case free:
			clock.Wait(monitorEvery)
		default:
			time.Sleep(monitorBusy)
		}
		again = false
	}
}

// stopWatch ends the watch unless something has begun since the last look.
func (s *Scheduler) stopForkMonitor(o *observer) bool {
	s.forkMonitorRuns.Store(false)
	if s.life.phase.Load() != open {
		return true
	}
	return !o.observe(s, nil, true).changed || !s.forkMonitorRuns.CompareAndSwap(false, true)
}
