//go:build race

package interleave

import "runtime"

// raceBuild says whether the race detector is on.
const raceBuild = true

// running is the goroutine that the exploration runs at the moment, and 0 when
// there is no exploration. A goroutine asks whether it is the one; any other
// answer than its own number tells it nothing, however old it is.
//
// It is a plain word here, hidden from the race detector: an atomic one would
// order the threads of the program behind its back, and hide their races.
var running uintptr

//go:norace
func loadRunning() uintptr { return running }

//go:norace
func storeRunning(g uintptr) { running = g }

// syncOff and syncOn enclose synchronization that the race detector must not
// see: the hand-over between threads is the work of the explorer, not of the
// program that it runs.
func syncOff() { runtime.RaceDisable() }
func syncOn()  { runtime.RaceEnable() }

// raceErrors returns how many races the race detector has reported.
func raceErrors() int { return runtime.RaceErrors() }
