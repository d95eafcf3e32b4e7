package futex

// clockID is CLOCK_MONOTONIC, the clock of the system that the Go runtime reads. Package unix
// has no name for it.
const clockID = 3
