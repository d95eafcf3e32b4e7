// Package qsort is the quicksort of the zap benchmarks, without the part that
// runs the two halves: that is what the benchmarks compare.
//
// The input is [Size] 32-bit integers 0, 1, 2, … in an order that [Shuffle]
// makes, the same on every machine. A part of more than [Cutoff] elements is
// partitioned around its last element (Lomuto) and both halves are sorted, the
// right one with the pivot still in it; a smaller part is sorted by insertion.
// That gives [Internal] parts that are split and [Leaves] that are not.
//
// Source: kprotty/zap, benchmarks/zig/qsort.zig. The Go program there sorts
// other integers in another order; here all variants sort the same ones.
package qsort
