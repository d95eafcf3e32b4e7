//go:build !purego && !race

package cpu

// TicksPerMicrosecond returns how often the counter of Ticks goes up in a
// microsecond: 24 on some processors, 1000 on others.
func TicksPerMicrosecond() uint64 { return max(frequency()/1e6, 1) }

// frequency returns how often the counter goes up in a second.
//
//go:noescape
func frequency() uint64
