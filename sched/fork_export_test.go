package sched

// Raise asks for a fork of the place that w holds, as a worker without work does.
func (w *Worker) Raise() {
	if w.place != nil && w.forks != nil {
		w.place.forks.raise()
	}
}

// Watching reports whether the watch of s runs.
func (s *Scheduler) Watching() bool { return s.watching.Load() }
