// Package invariant checks the internal rules of the algorithms, and records
// that their rare branches were reached.
//
// It is on under the build tag invariants and under the race detector, and
// costs nothing otherwise: [Enabled] is a constant, and [Assert] and [Reached]
// compile to no code when it is false.
//
//	invariant.Assert(n < Capacity, "runqueue: Ring: full")
//	invariant.Reached("runqueue: steal: torn pair")
//
// Assert is for rules that hold unless this library is wrong. Misuse by a
// caller is no matter of this package: it panics in every build.
package invariant
