//go:build interleave

package atomix

import "github.com/lanewright/lanewright/interleave"

// The model types of package interleave. In an exploration each operation is a
// step; outside one they behave, and lie in memory, as the types of sync/atomic.
type (
	Bool           = interleave.Bool
	Int32          = interleave.Int32
	Int64          = interleave.Int64
	Uint32         = interleave.Uint32
	Uint64         = interleave.Uint64
	Uintptr        = interleave.Uintptr
	Pointer[T any] = interleave.Pointer[T]
	Cell[T any]    = interleave.Cell[T]
)
