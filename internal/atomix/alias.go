//go:build !interleave

// This file and inline.go are the build without models: the types of sync/atomic and
// plain memory. In models, model.go replaces them.

package atomix

import "sync/atomic"

// The types of package sync/atomic.
type (
	Bool           = atomic.Bool
	Int32          = atomic.Int32
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uint64         = atomic.Uint64
	Uintptr        = atomic.Uintptr
	Pointer[T any] = atomic.Pointer[T]
)

// Cell is plain memory that goroutines share without atomics. The algorithm states
// which goroutine may access it at each moment, and models check that.
type Cell[T any] struct{ v T }

// Get reads the cell.
func (c *Cell[T]) Get() T { return c.v }

// Set writes the cell.
func (c *Cell[T]) Set(v T) { c.v = v }
