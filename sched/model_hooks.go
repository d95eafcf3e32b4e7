//go:build !interleave

package sched

// A model of this package (build tag interleave) replaces the functions of this file, because
// the explorer only controls threads that the model has started. A goroutine that package
// sched starts by itself would run outside the schedule that is explored. Workers need no
// hook: a model starts them as its threads through Config.Spawner.

// goStallMonitor starts the stall monitor, whose function is run. A model replaces it.
func goStallMonitor(run func()) { go run() }
