package rusage

import "time"

// CPU returns the processor time that all threads of the process have used since the
// process started, in user mode and in kernel mode. It returns false on systems that do
// not report it. Safe for concurrent use.
func CPU() (used time.Duration, ok bool) { return cpu() }

// Peak returns the largest resident size of the process in bytes, since the process
// started or since the last [ResetPeak] that returned true. It returns false on systems
// that do not report it. Safe for concurrent use.
func Peak() (bytes int64, ok bool) { return peak() }

// ResetPeak lowers the result of [Peak] to the current resident size and returns true. It
// returns false and changes nothing where the system has no such operation. Only Linux
// has it, and only where /proc is mounted.
func ResetPeak() bool { return resetPeak() }
