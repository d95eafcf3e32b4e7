// Package workload is the work that the benchmarks and the tour have in common: the
// quicksort as tasks, as goroutines and on a pool of goroutines, and a crowd of callers.
package workload
