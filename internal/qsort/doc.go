// Package qsort is the quicksort of the zap benchmarks without the code that runs the two
// halves, because the benchmarks compare ways to run them.
//
// The input is the 32-bit integers from 0 to [Size]-1 in the order of [Shuffle], which is
// the same on every machine. A part of more than [Cutoff] elements is partitioned around
// its last element (Lomuto) and both halves are sorted. The right half includes the
// pivot. Smaller parts are sorted by insertion. [Internal] parts are partitioned, and
// [Leaves] parts are sorted by insertion.
//
// Source: kprotty/zap, benchmarks/zig/qsort.zig. The Go program there sorts other integers
// in another order. Here all variants sort the same integers. Terms are defined in
// docs/GLOSSARY.md.
package qsort
