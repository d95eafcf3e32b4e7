package futex

import "golang.org/x/sys/unix"

// clockID is the clock of the system that the Go runtime reads. CLOCK_MONOTONIC goes on while
// the machine sleeps, and the clock of the runtime does not.
const clockID = unix.CLOCK_UPTIME_RAW
