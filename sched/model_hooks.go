//go:build !interleave

package sched

// goWatch starts the stall watch.
func goWatch(watch func()) { go watch() }
