//go:build !interleave

package atomix

import "sync/atomic"

// The types of package sync/atomic, unchanged.
type (
	Bool           = atomic.Bool
	Int32          = atomic.Int32
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Uintptr        = atomic.Uintptr
	Pointer[T any] = atomic.Pointer[T]
)

// Cell is plain memory that the algorithm shares without atomics: whoever may
// touch it at a given moment is said by the algorithm, and checked in models.
type Cell[T any] struct{ v T }

// Get reads the cell.
func (c *Cell[T]) Get() T { return c.v }

// Set writes the cell.
func (c *Cell[T]) Set(v T) { c.v = v }
