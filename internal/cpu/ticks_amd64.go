//go:build !purego && !race

package cpu

// TicksPerMicrosecond returns about how often the counter of [Ticks] increases in a
// microsecond, within a factor of two. The processor does not report its rate, and
// common processors count at 1.2 to 5 GHz.
func TicksPerMicrosecond() uint64 { return 2500 }
