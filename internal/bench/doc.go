// Package bench measures benchmarks against references and reports rows.
//
// A [Benchmark] sets up an [Instance] for a number of workers: our variant and
// its references, which do the same work in the way that Go programs do it. The
// variants run in turn, in the same process, with a garbage collection before
// each run, and the order is reversed after each turn. The ratio to a reference
// is taken pair by pair, and the median of the pairs is reported: a machine that
// slows down for a while slows both halves of a pair.
//
// A run calls [Meter.Start] and [Meter.Stop] around what is measured, and checks
// its own result before it returns nil. The first turn warms up and is not
// counted.
//
// [Calibrate] tells whether the machine has a second processor to give at all.
package bench
