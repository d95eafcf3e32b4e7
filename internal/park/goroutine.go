package park

// parseGoroutine returns the number in the first line of a stack trace, "goroutine 17
// [running]:". Self uses it where there is no assembly.
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
