package transport

import "fmt"

// Region is memory that one side of a Link writes and the other reads. It has its
// final size from the beginning, and never moves: to grow is to use more of it.
// What was not touched yet need not take memory.
type Region interface {
	// Bytes returns the whole region. It is zero at first, and its first byte is
	// aligned to 64 bytes.
	Bytes() []byte
	// Close gives the memory back. Nobody may touch it any more.
	Close() error
}

// heap is a Region of ordinary memory.
type heap []byte

// NewHeap returns a region of ordinary memory, which one process can use. Large
// ones take memory as they are touched, page by page, unless the Go runtime makes
// them of memory that it has used before. Close does nothing: the garbage
// collector takes the memory back when nothing points to it.
func NewHeap(size int) (Region, error) {
	if size < 1 {
		return nil, fmt.Errorf("transport: NewHeap of %d bytes: %w", size, ErrRegion)
	}
	return heap(aligned(size)), nil
}

func (h heap) Bytes() []byte { return h }
func (heap) Close() error    { return nil }
