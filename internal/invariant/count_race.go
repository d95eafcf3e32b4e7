//go:build race

package invariant

// For the race detector, an atomic counter synchronizes all goroutines that access it,
// which would hide their races. It does not see this plain counter. Concurrent calls
// may lose counts, but the value of a mark that was reached is never 0.

//go:norace
func count(n *uint64) { *n++ }

//go:norace
func value(n *uint64) uint64 { return *n }
