// Package cpu has instructions that the standard library does not export: [Pause] is
// the hint that the calling thread spins, and [Ticks] reads the time counter.
//
// Pause is in assembly for 386, amd64 and arm64. Ticks is in assembly for amd64 and arm64.
// The portable forms in the *_generic.go files are the reference. They build on other
// architectures, under the tag purego and under -race. The race detector cannot see into
// assembly. Terms are defined in docs/GLOSSARY.md.
package cpu
