package park

// ParseGoroutine is part of Self where there is no assembly.
var ParseGoroutine = parseGoroutine
