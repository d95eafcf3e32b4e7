//go:build purego || !(386 || amd64 || arm64)

package park

import (
	"runtime"
	"sync"
)

// buffers keeps Self from allocating one each time.
var buffers = sync.Pool{New: func() any { return new([64]byte) }}

// Self returns the identity of the calling goroutine: a number that is not 0
// and that no other live goroutine has. It takes about a microsecond.
//
// It is the number that the runtime prints at the head of the stack trace of
// the goroutine.
func Self() uintptr {
	buf := buffers.Get().(*[64]byte)
	defer buffers.Put(buf)
	n := runtime.Stack(buf[:], false)
	id, ok := parseGoroutine(buf[:n])
	if !ok {
		panic("park: Self: the runtime prints stacks in a form that is not known")
	}
	return id
}
