package sched

// Raise asks for a fork of the place that w holds, as a worker without work does:
// the next Promote promotes one.
func (w *Worker) SetDemand() {
	if w.place != nil && w.forks != nil {
		w.place.forks.setDemand()
	}
}

// Watching reports whether the watch of s runs.
func (s *Scheduler) ForkMonitorRuns() bool { return s.forkMonitorRuns.Load() }

// Blocked reports how many callbacks of s run without a place.
func (s *Scheduler) Blocked() int { return s.life.blockedCallbacks() }
