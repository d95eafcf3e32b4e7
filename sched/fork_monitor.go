package sched

import (
	"context"
	"runtime/pprof"
	"time"

	"github.com/lanewright/lanewright/internal/tick"
)

// The fork monitor is a goroutine that observes computations which no worker observes,
// because all workers were parked when the computations began. It requests forks of
// computations that last. The Promote that answers wakes a worker.
//
// A computation therefore does not need to notify when it begins. One that takes 3 µs does
// not pay for a wake-up that takes as long. The first computation after a pause pays for
// the start of the fork monitor. The fork monitor runs until monitorIdle consecutive
// observations have seen no epoch change and no computation to request a fork of. A
// computation that answers a request later starts it again.
//
// An observation costs the processor time of a wake-up. That is 53 µs on a virtual
// machine. The observations in the 1.2 ms after the last computation cost some 0.7 ms.
// With 38 observations they cost 1.7 ms, without a measurable gain.
//
// Laws: a computation that lasts has a second worker within 200 µs while a processor is
// idle to run it. A computation of a few microseconds receives no request. No timer of the
// fork monitor runs later than 2 ms after the last computation. While all processors are
// busy, the poller of the Go runtime runs only every 10 ms, and no second worker could run.
//
// Rejected: a worker that parks with a timeout. The Go runtime rounds timers up to a
// millisecond while a processor is idle: 1.09 ms was measured for 75 µs. The fork monitor
// therefore waits in the poller for a timer of the operating system, for which 109 µs was
// measured. Also rejected: a load of the clock in the computation. It costs 40 ns, as much
// as ten forks.
const (
	monitorEvery = 120 * time.Microsecond
	monitorFirst = 25 * time.Microsecond // once, after an observation that saw a new computation
	monitorBusy  = time.Millisecond      // while no place is free for a worker
	monitorIdle  = 10                    // observations with nothing to do, monitorEvery apart
)

// startForkMonitor starts the fork monitor unless it runs.
func (s *Scheduler) startForkMonitor() {
	if s.max > 1 && hasForkMonitor() && !s.forkMonitorRuns.Load() && s.life.phase.Load() == open && s.forkMonitorRuns.CompareAndSwap(false, true) {
		s.life.alive.Add(1)
		if !modelForkMonitor(s) {
			go s.forkMonitor()
		}
	}
}

// forkMonitor is the function of the fork monitor.
func (s *Scheduler) forkMonitor() {
	defer s.life.workerEnded()
	pprof.SetGoroutineLabels(context.Background()) // not those of the goroutine that started it
	clock := tick.New()
	defer clock.Close()
	s.notify(false) // wakes a worker that requests forks at once: the first computation may last
	var o observer
	again := false // the last observation checked whether a new computation lasts
	for idle := 0; ; {
		free := !s.full() // a woken worker finds a place
		v := o.observe(s, nil, free)
		if idle++; !free {
			idle += int(monitorBusy/monitorEvery) - 1
		}
		if v.changed || v.unrequested {
			idle = 0
		}
		if free && v.unrequested {
			s.notify(false) // costs less here than in the computation, on a processor that is awake
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

// stopForkMonitor reports whether the fork monitor may end. It first stores that no fork
// monitor runs, and then observes. A computation that begins after this observation starts
// another fork monitor. If the observation sees a change, this fork monitor continues,
// unless another one has been started.
func (s *Scheduler) stopForkMonitor(o *observer) bool {
	s.forkMonitorRuns.Store(false)
	if s.life.phase.Load() != open {
		return true
	}
	return !o.observe(s, nil, true).changed || !s.forkMonitorRuns.CompareAndSwap(false, true)
}
