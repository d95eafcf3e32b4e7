// Package helper starts this program again in a role, as a process of a benchmark, and has the stream between the two.
// Terms are defined in docs/GLOSSARY.md.
package helper
