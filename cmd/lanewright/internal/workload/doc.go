// Package workload holds the work that the benchmarks and the tour share: the quicksort as
// tasks, as goroutines and on a pool of goroutines, and a crowd of callers. Terms are
// defined in docs/GLOSSARY.md.
package workload
