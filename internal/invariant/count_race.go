//go:build race

package invariant

// The race detector takes an atomic counter for synchronization between all
// that touch it. A plain one that it does not see hides nothing; it may lose a
// count to another goroutine, never all of them.

//go:norace
func count(n *uint64) { *n++ }

//go:norace
func value(n *uint64) uint64 { return *n }
