// Package atomix has the atomic types that the algorithm packages use.
//
// In a normal build they are aliases of the types of sync/atomic and cost nothing.
// Under the build tag interleave they are the model types of package interleave: each
// operation is a step that the explorer schedules. Terms are defined in docs/GLOSSARY.md.
package atomix
