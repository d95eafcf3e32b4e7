package par

import "github.com/lanewright/lanewright/sched"

// orDefault returns s, or the default scheduler if s is nil.
func orDefault(s *sched.Scheduler) *sched.Scheduler {
	if s == nil {
		return sched.Default()
	}
	return s
}
