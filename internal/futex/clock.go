package futex

// Now returns the time in nanoseconds of a clock that never goes back and that all processes
// of the machine share: CLOCK_MONOTONIC. It is more than 0. Two processes read it with a
// difference of less than a microsecond. On systems on which [Dispatcher.NewWaker] is not
// supported, each process has a clock of its own. Safe for concurrent use.
func Now() int64 { return now() }
