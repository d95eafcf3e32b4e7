//go:build race

package interleave

import (
	"runtime"
	"sync/atomic"
)

// raceBuild reports whether the race detector is on.
const raceBuild = true

// running is the identity of the goroutine that has control, and 0 when no
// exploration runs. A goroutine compares it with its own identity only. The
// holder of control has stored its identity itself. Any other goroutine reads a
// value that differs from its identity, however old the value is. The watchdog
// stores 0 when it gives an exploration up.
//
// Its loads are plain here, and its writes are hidden from the race detector.
// Otherwise they would order the threads of the program and hide their races.
var running uintptr

//go:norace
func loadRunning() uintptr { return running }

//go:norace
func swapRunning(before, g uintptr) bool {
	syncOff()
	ok := atomic.CompareAndSwapUintptr(&running, before, g)
	syncOn()
	return ok
}

// syncOff and syncOn enclose synchronization that the race detector must not
// see: the hand-over of control belongs to the explorer and not to the program
// that it runs.
func syncOff() { runtime.RaceDisable() }
func syncOn()  { runtime.RaceEnable() }

// raceErrors returns the number of races that the race detector has reported.
func raceErrors() int { return runtime.RaceErrors() }

// A mark is an atomic by which the race detector sees an order. Nothing else reads it.
type mark struct{ v atomic.Uint32 }

//go:norace
func (m *mark) add() { m.v.Add(1) }

//go:norace
func (m *mark) store() { m.v.Store(1) }

//go:norace
func (m *mark) load() { m.v.Load() }

// An edge lets the race detector see that the actions before release happen before
// those after acquire. Each release has a word of its own, which the releasing thread
// allocates, so that the detector sees no other order and no race on the word.
type edge struct{ word *atomic.Uint32 }

//go:norace
func (e *edge) release() {
	e.word = new(atomic.Uint32)
	e.word.Store(1)
}

//go:norace
func (e *edge) acquire() { e.word.Load() }
