//go:build purego || !(386 || amd64 || arm64)

package interleave

// selfKnown says whether self can tell goroutines apart. Here it cannot: all
// model operations count as those of the thread that runs.
const selfKnown = false

func self() uintptr { return 1 }
