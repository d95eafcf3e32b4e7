//go:build interleave

package sched

import "github.com/lanewright/lanewright/interleave"

// In a model, the hooks of model_hooks_interleave.go start threads of the model. In other
// tests of this build they start goroutines.
func init() {
	goStallMonitor = func(run func()) {
		if interleave.Active() {
			interleave.Go("stall monitor", run) // it ends when no task is queued
		} else {
			go run()
		}
	}
}

// IdleTimerAsThread makes the call of the idle timer a thread of each model of the test.
func IdleTimerAsThread(t interface{ Cleanup(f func()) }) {
	has, model := hasIdleTimer, modelIdleTimer
	t.Cleanup(func() { hasIdleTimer, modelIdleTimer = has, model })
	hasIdleTimer = func() bool { return true }
	modelIdleTimer = func(call func()) bool {
		if interleave.Active() {
			interleave.Go("idle timer", call)
		}
		return interleave.Active()
	}
}

// IdleTimerAsTimer lets each model of the test start the timer, which must not end during it.
func IdleTimerAsTimer(t interface{ Cleanup(f func()) }) {
	has := hasIdleTimer
	t.Cleanup(func() { hasIdleTimer = has })
	hasIdleTimer = func() bool { return true }
}

// StopIdleTimer stops the timer of the IdleTimeout, and reports whether it ran.
func (s *Scheduler) StopIdleTimer() bool {
	t := s.idleEnd.timer.Load()
	return t != nil && t.Stop()
}
