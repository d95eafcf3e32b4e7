//go:build interleave

package sched

// The functions of model_hooks.go are variables in this build. The tests set them in
// model_hooks_interleave_test.go, so that this package does not import the explorer.

// goStallMonitor starts the stall monitor, whose function is run. In a model it starts the
// monitor as a thread of the model.
var goStallMonitor = func(run func()) { go run() }
