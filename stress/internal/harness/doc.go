// Package harness runs the laws of the packages queuelaw, schedlaw and lanelaw: it
// generates shapes from a seed, starts goroutines, waits with a deadline, and reports
// the first violation together with the options that repeat it. Terms are defined in
// docs/GLOSSARY.md.
package harness
