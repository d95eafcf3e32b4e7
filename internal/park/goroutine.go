package park

import "runtime"

// Number returns the number of the calling goroutine, which the runtime prints in the first
// line of its stack trace. It is not 0. No two goroutines have the same number, even if one
// has ended before the other starts; on 32 bits that holds for the first 2^32 of them.
// Number takes about 1 µs, and longer on a deep stack: the runtime walks the stack to its end.
//
// The line is written to buf. Number therefore neither allocates nor synchronizes the
// caller with another goroutine, which could hide a race from the race detector.
func Number(buf *[64]byte) uintptr {
	id, ok := parseGoroutine(buf[:runtime.Stack(buf[:], false)])
	if !ok {
		panic("park: Number: the runtime prints stacks in an unknown form")
	}
	return id
}

// parseGoroutine returns the number in the first line of a stack trace, "goroutine 17
// [running]:".
func parseGoroutine(stack []byte) (id uintptr, ok bool) {
	const prefix = "goroutine "
	if len(stack) < len(prefix) || string(stack[:len(prefix)]) != prefix {
		return 0, false
	}
	i := len(prefix)
	for ; i < len(stack) && '0' <= stack[i] && stack[i] <= '9'; i++ {
		id = id*10 + uintptr(stack[i]-'0')
	}
	return id, id != 0 && i < len(stack) && stack[i] == ' '
}
