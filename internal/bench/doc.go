// Package bench measures benchmarks against references and reports rows.
//
// A [Benchmark] sets up an [Instance] for a number of workers: our variant and its
// references, which do the same work in the usual ways of Go programs. A lap runs each
// variant once in the same process, with a garbage collection before each run. The order is
// reversed after each lap. The first lap warms up and is not counted.
//
// The ratio to a reference is taken lap by lap, and its median is reported. A machine that
// slows down for a while then slows both runs of a ratio.
//
// A run calls [Meter.Start] and [Meter.Stop] around the measured part, and checks its own
// result before it returns nil.
//
// [Calibrate] reports whether the machine has a second processor that is free. Terms are
// defined in docs/GLOSSARY.md.
package bench
