//go:build race

package interleave

import "runtime"

// raceBuild reports whether the race detector is on.
const raceBuild = true

// running is the identity of the goroutine that has control, and 0 when no
// exploration runs. A goroutine compares it with its own identity only. The
// holder of control has stored its identity itself. Any other goroutine reads a
// value that differs from its identity, however old the value is.
//
// It is a plain word here, and its accesses are go:norace. An atomic word would
// order the threads of the program and hide their races from the detector.
var running uintptr

//go:norace
func loadRunning() uintptr { return running }

//go:norace
func storeRunning(g uintptr) { running = g }

// syncOff and syncOn enclose synchronization that the race detector must not
// see: the hand-over of control belongs to the explorer and not to the program
// that it runs.
func syncOff() { runtime.RaceDisable() }
func syncOn()  { runtime.RaceEnable() }

// raceErrors returns the number of races that the race detector has reported.
func raceErrors() int { return runtime.RaceErrors() }
