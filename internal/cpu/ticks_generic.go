//go:build !(amd64 || arm64) || purego || race

package cpu

import "time"

var started = time.Now()

// Ticks returns a counter that increases at a constant rate of [TicksPerMicrosecond].
// It measures short times roughly.
func Ticks() uint64 { return uint64(time.Since(started)) }

// TicksPerMicrosecond returns how often the counter of [Ticks] increases in a
// microsecond.
func TicksPerMicrosecond() uint64 { return 1000 }
