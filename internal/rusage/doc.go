// Package rusage reports the processor time and the memory that the process has used.
//
// It asks getrusage on Unix systems, and GetProcessTimes and GetProcessMemoryInfo on
// Windows. Other systems (plan9, js, wasip1) do not report these figures. The functions
// return false there, because a zero would look like a measurement. Terms are defined in
// docs/GLOSSARY.md.
package rusage
