// Package suite is the command bench: the benchmarks of BENCHMARKS.md and the rows that
// they print. Terms are defined in docs/GLOSSARY.md.
package suite
