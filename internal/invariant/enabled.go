//go:build invariants || race

package invariant

// Enabled says whether rules are checked and marks are counted.
const Enabled = true
