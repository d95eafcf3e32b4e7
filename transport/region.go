package transport

import "fmt"

// Region is memory that one side of a Link writes and the other side reads. It has its
// final size from the start and never moves. A Link grows by using more of it. Pages
// that were never touched need not take memory.
type Region interface {
	// Bytes returns the whole region. It is zero at first, and its first byte is
	// aligned to 64 bytes.
	Bytes() []byte
	// Close gives the memory back. The region must not be accessed afterwards.
	Close() error
}

// Direction says which side of a [Link] writes a [Region].
type Direction uint8

// The directions.
const (
	Requests Direction = iota // the host writes, and the worker side reads
	Answers                   // the worker side writes, and the host reads
)

// String returns the name of the direction.
func (d Direction) String() string {
	switch d {
	case Requests:
		return "requests"
	case Answers:
		return "answers"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// heap is a Region of ordinary memory.
type heap []byte

// NewHeap returns a region of ordinary memory, for use within one process. size is at
// least 1; otherwise NewHeap returns [ErrRegion]. A large region takes memory page by
// page when it is touched, unless the Go runtime makes it of memory that was used
// before. Close does nothing: the garbage collector frees the memory when no pointer to
// it is left.
func NewHeap(size int) (Region, error) {
	if size < 1 {
		return nil, fmt.Errorf("transport: NewHeap of %d bytes: %w", size, ErrRegion)
	}
	return heap(aligned(size)), nil
}

func (h heap) Bytes() []byte { return h }
func (heap) Close() error    { return nil }
