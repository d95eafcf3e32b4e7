// Package invariant checks the internal rules of the algorithms, and records which of
// their rare branches were reached.
//
// It is on under the build tag invariants and under the race detector. Otherwise it
// costs nothing: [Enabled] is a constant, and [Assert] and [Reached] compile to no code
// when it is false.
//
//	invariant.Assert(n < Capacity, "runqueue: Ring: full")
//	invariant.Reached("runqueue: steal: torn pair")
//
// Assert is for rules that hold unless this library has a bug. Misuse by a caller is
// not checked with this package, because it must panic in every build. Terms are defined
// in docs/GLOSSARY.md.
package invariant
