//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package remote

import (
	"sync/atomic"
	"unsafe"
)

// word returns the first word of memory that begins at a page.
func word(b []byte) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(b))) }
