//go:build interleave

package sched

// goWatch starts the stall watch: in a model, as a thread of it.
var goWatch = func(watch func()) { go watch() }
