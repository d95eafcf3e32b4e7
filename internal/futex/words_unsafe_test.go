package futex_test

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
)

// wordsOf returns the words of b.
func wordsOf(b []byte) []atomix.Uint32 {
	return unsafe.Slice((*atomix.Uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
