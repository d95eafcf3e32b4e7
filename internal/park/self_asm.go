//go:build !purego && (386 || amd64 || arm || arm64)

package park

// Self returns the identity of the calling goroutine: a number that is not 0 and that
// no other live goroutine has. A later goroutine may have the same number after this
// one has ended. Self takes about 1.5 ns.
//
// The number is the address of the record that the runtime has of the goroutine. It
// must not be used to read or write memory.
func Self() uintptr
