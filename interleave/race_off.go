//go:build !race

package interleave

import "sync/atomic"

// raceBuild reports whether the race detector is on.
const raceBuild = false

// running is the identity of the goroutine that has control, and 0 when no
// exploration runs. A goroutine compares it with its own identity only. The
// holder of control has stored its identity itself. Any other goroutine reads a
// value that differs from its identity, however old the value is. The watchdog
// stores 0 when it gives an exploration up.
var running atomic.Uintptr

func loadRunning() uintptr               { return running.Load() }
func swapRunning(before, g uintptr) bool { return running.CompareAndSwap(before, g) }

// syncOff and syncOn enclose synchronization that the race detector must not
// see: the hand-over of control belongs to the explorer and not to the program
// that it runs.
func syncOff() {}
func syncOn()  {}

// raceErrors returns the number of races that the race detector has reported.
func raceErrors() int { return 0 }

// A mark is an atomic by which the race detector sees an order.
type mark struct{}

func (*mark) add()   {}
func (*mark) store() {}
func (*mark) load()  {}

// An edge is an order of the program that the race detector must see.
type edge struct{}

func (*edge) release() {}
func (*edge) acquire() {}
