//go:build interleave

package sched

import "github.com/lanewright/lanewright/interleave"

func init() {
	goStallMonitor = func(watch func()) {
		if interleave.Active() {
			interleave.Go("watch", watch) // it ends when nothing is queued
		} else {
			go watch()
		}
	}
}
