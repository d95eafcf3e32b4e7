package park

// ParseGoroutine is part of Number.
var ParseGoroutine = parseGoroutine
