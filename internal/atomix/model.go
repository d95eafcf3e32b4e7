//go:build interleave

// This file replaces alias.go and inline.go in models. The explorer decides which
// thread takes each step, so it must get control before each atomic operation, and the
// operations of sync/atomic do not give it control.

package atomix

import "github.com/lanewright/lanewright/interleave"

// The model types of package interleave. In an exploration, each operation is a step
// that the explorer schedules. Outside an exploration they behave as the types of
// sync/atomic, and they have the same memory layout.
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
