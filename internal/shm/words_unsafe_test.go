package shm_test

import (
	"sync/atomic"
	"unsafe"
)

// address returns the address of the first byte.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// wordsOf returns the whole words of b.
func wordsOf(b []byte) []atomic.Uint32 {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
