package rusage

import "time"

// CPU returns the processor time that all threads of the process have used since
// it started, in user and kernel mode together. It reports false where the
// system does not tell. Safe for concurrent use.
func CPU() (used time.Duration, ok bool) { return cpu() }

// Peak returns the largest resident size of the process, in bytes, since it
// started or since the last [ResetPeak] that reported true. It reports false
// where the system does not tell. Safe for concurrent use.
func Peak() (bytes int64, ok bool) { return peak() }

// ResetPeak lowers what [Peak] reports to what is resident now. It reports false
// where the system has no such operation; Peak goes on as before then. Only
// Linux has it, and only where /proc is mounted.
func ResetPeak() bool { return resetPeak() }
