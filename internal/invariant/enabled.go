//go:build invariants || race

package invariant

// Enabled is true if rules are checked and marks are counted.
const Enabled = true
