package transport

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// The words of a region are atomics that are laid over its bytes. The types of
// sync/atomic, and the model types in their place, have the memory layout of the plain
// numbers. The offsets are constants of the layout, and [fits] has checked the region.

// aligned returns size bytes that begin at a multiple of 64.
func aligned(size int) []byte {
	b := make([]byte, size+63)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[skip : skip+size : skip+size]
}

// fits reports whether b has size bytes and is aligned, so that a region can be laid
// over it.
func fits(b []byte, size int) bool {
	return len(b) >= size && uintptr(unsafe.Pointer(unsafe.SliceData(b)))&63 == 0
}

// wordsAt returns the n words that begin at an offset.
func wordsAt(b []byte, off, n int) []atomix.Uint32 {
	return unsafe.Slice((*atomix.Uint32)(unsafe.Pointer(&b[off : off+4*n][0])), n)
}

// sideAt returns the side word at an offset. The bytes around the word are not touched.
func sideAt(b []byte, off int) *Side {
	from := off - int(unsafe.Offsetof(Side{}.word))
	return (*Side)(unsafe.Pointer(&b[from : from+int(unsafe.Sizeof(Side{}))][0]))
}

// A Side extends around its word by no more than a line of the layout.
var _ [lineBytes - unsafe.Offsetof(Side{}.word)]struct{}

// within reports whether b, which is not empty, begins in block.
func within(b, block []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(block)))
	return at < uintptr(len(block))
}
