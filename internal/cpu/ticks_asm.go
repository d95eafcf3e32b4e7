//go:build (amd64 || arm64) && !purego && !race

package cpu

// Ticks returns a counter that increases at a constant rate of about
// [TicksPerMicrosecond]. It measures short times roughly, because the read does not
// wait for the instructions before it, and because the counters of two processors may
// differ a little. A read takes about 10 ns.
//
//go:noescape
func Ticks() uint64
