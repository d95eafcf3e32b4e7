//go:build interleave

package sched

// goWatch starts the stall watch: in a model, as a thread of it.
var goStallMonitor = func(watch func()) { go watch() }
