package park

// ParseGoroutine is what Self uses where there is no assembly.
var ParseGoroutine = parseGoroutine
