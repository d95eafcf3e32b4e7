//go:build purego || !(386 || amd64 || arm64)

package park

import (
	"runtime"
	"sync"
)

// buffers has buffers for stack traces, so that Self does not allocate one in each call.
var buffers = sync.Pool{New: func() any { return new([64]byte) }}

// Self returns the identity of the calling goroutine: a number that is not 0 and that
// no other live goroutine has. Self takes about 1 µs.
//
// The number is the one that the runtime prints in the first line of the stack trace of
// the goroutine.
func Self() uintptr {
	buf := buffers.Get().(*[64]byte)
	defer buffers.Put(buf)
	n := runtime.Stack(buf[:], false)
	id, ok := parseGoroutine(buf[:n])
	if !ok {
		panic("park: Self: the runtime prints stacks in an unknown form")
	}
	return id
}
