//go:build !race

package interleave

import "sync/atomic"

// raceBuild says whether the race detector is on.
const raceBuild = false

// running is the goroutine that the exploration runs at the moment, and 0 when
// there is no exploration. A goroutine asks whether it is the one; any other
// answer than its own number tells it nothing, however old it is.
var running atomic.Uintptr

func loadRunning() uintptr   { return running.Load() }
func storeRunning(g uintptr) { running.Store(g) }

// syncOff and syncOn enclose synchronization that the race detector must not
// see: the hand-over between threads is the work of the explorer, not of the
// program that it runs.
func syncOff() {}
func syncOn()  {}

// raceErrors returns how many races the race detector has reported.
func raceErrors() int { return 0 }
