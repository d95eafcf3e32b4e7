// Package rusage tells what the process has used: processor time and memory.
//
// Unix systems answer through getrusage, Windows through GetProcessTimes and
// GetProcessMemoryInfo. Elsewhere (plan9, js, wasip1) nothing is known, and the
// functions say so instead of returning zeros that look like a measurement.
package rusage
