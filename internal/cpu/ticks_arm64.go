//go:build !purego && !race

package cpu

// TicksPerMicrosecond returns how often the counter of [Ticks] increases in a
// microsecond: 24 on some processors, 1000 on others.
func TicksPerMicrosecond() uint64 { return max(frequency()/1e6, 1) }

// frequency returns how often the counter increases in a second.
//
//go:noescape
func frequency() uint64
