package transport

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// The words of a region are atomics laid over its bytes: the types of sync/atomic,
// and the model types in their place, lie in memory as the plain numbers do. The
// offsets are constants of the layout, and [fits] has checked the region.

// aligned returns size bytes, the first at a multiple of 64.
func aligned(size int) []byte {
	b := make([]byte, size+63)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 63)
	return b[skip : skip+size : skip+size]
}

// fits reports whether a region of that many bytes can be laid over b.
func fits(b []byte, size int) bool {
	return len(b) >= size && uintptr(unsafe.Pointer(unsafe.SliceData(b)))&63 == 0
}

// wordsAt returns n words from an offset on.
func wordsAt(b []byte, off, n int) []atomix.Uint32 {
	return unsafe.Slice((*atomix.Uint32)(unsafe.Pointer(&b[off : off+4*n][0])), n)
}

// sideAt returns the side word at an offset. What stands around it is not touched.
func sideAt(b []byte, off int) *Side {
	from := off - int(unsafe.Offsetof(Side{}.word))
	return (*Side)(unsafe.Pointer(&b[from : from+int(unsafe.Sizeof(Side{}))][0]))
}

// Side{} reaches no further around its word than a line of the layout.
var _ [lineBytes - unsafe.Offsetof(Side{}.word)]struct{}

// within reports whether b, which is not empty, begins in block.
func within(b, block []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(block)))
	return at < uintptr(len(block))
}
