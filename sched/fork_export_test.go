package sched

// SetDemand requests a fork of the place that w holds, as a worker without work does. The
// next Promote promotes one.
func (w *Worker) SetDemand() {
	if w.place != nil && w.forks != nil {
		w.place.forks.setDemand()
	}
}

// ForkMonitorRuns reports whether the fork monitor of s runs.
func (s *Scheduler) ForkMonitorRuns() bool { return s.forkMonitorRuns.Load() }

// Blocked returns the number of callbacks of s that run without a place.
func (s *Scheduler) Blocked() int { return int(s.life.blocked.Load()) }

// PromotedEver returns the number of forks that all holders of the place have promoted, or 0
// without a place.
func (w *Worker) PromotedEver() uint64 {
	if w.place == nil {
		return 0
	}
	return w.place.counts.promoted
}
