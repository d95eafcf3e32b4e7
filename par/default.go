package par

import "github.com/lanewright/lanewright/sched"

// standard is what runs loops that name no scheduler. Its workers start on first
// use, and park when there is nothing to do.
var standard sched.Scheduler

// on returns s, or the scheduler that stands for nil.
func on(s *sched.Scheduler) *sched.Scheduler {
	if s == nil {
		return &standard
	}
	return s
}
