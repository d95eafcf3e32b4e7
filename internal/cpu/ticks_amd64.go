//go:build !purego && !race

package cpu

// TicksPerMicrosecond returns how often the counter of Ticks goes up in a
// microsecond, within a factor of two: the processor does not say, and those that
// people own count at 1.2 to 5 GHz.
func TicksPerMicrosecond() uint64 { return 2500 }
