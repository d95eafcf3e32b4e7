//go:build !interleave

package sched

// goWatch starts the stall watch.
func goStallMonitor(watch func()) { go watch() }
