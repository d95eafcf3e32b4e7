package par

import "github.com/lanewright/lanewright/sched"

// on returns s, which the caller must have given.
func on(s *sched.Scheduler) *sched.Scheduler {
	if s == nil {
		panic("par: nil scheduler")
	}
	return s
}
