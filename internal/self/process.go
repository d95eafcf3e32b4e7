package self

import (
	"math/bits"
	"runtime"
)

// process is the table of the process. Its first level has eight buckets for each processor,
// so that few goroutines that enter and leave at the same time share a cache line, and 256
// at least. Both are chosen. From 256 buckets (32 KiB) on, the allocator begins an array at
// a page, and the buckets begin at cache lines.
var process = table{bits: uint8(max(8, bits.Len(uint(8*runtime.NumCPU()-1))))}
