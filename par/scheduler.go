package par

import "github.com/lanewright/lanewright/sched"

// required returns s. It panics when s is nil.
func required(s *sched.Scheduler) *sched.Scheduler {
	if s == nil {
		panic("par: nil scheduler")
	}
	return s
}
