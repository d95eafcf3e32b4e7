// Package peers runs the work of the benchmarks on the task pools that Go programs
// use, and by the means with which they call another process.
//
// A [Peer] is one library in one setting. Its [Pool] schedules tasks, waits for them,
// and forks. A [Workload] is one name of the list of benchmarks, written once for all
// pools. Where a library has a better form of its own, its pool has a function for it.
// The workloads process/ have no pool: a Peer with a [remote.Client] does them.
// Terms are defined in docs/GLOSSARY.md.
package peers
