//go:build !(amd64 || arm64) || purego || race

package cpu

import "time"

var started = time.Now()

// Ticks returns a counter that goes up at an even rate, about TicksPerMicrosecond.
// It is for measuring short times roughly.
func Ticks() uint64 { return uint64(time.Since(started)) }

// TicksPerMicrosecond returns how often the counter of Ticks goes up in a
// microsecond.
func TicksPerMicrosecond() uint64 { return 1000 }
