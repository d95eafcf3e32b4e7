// Package traffic has the calls of two benchmarks of pools: long calls among short ones, and
// the calls of the clients of a server. The programs that measure this library and other
// ones make the same calls. Terms are defined in docs/GLOSSARY.md.
package traffic
