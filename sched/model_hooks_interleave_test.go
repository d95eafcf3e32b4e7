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
