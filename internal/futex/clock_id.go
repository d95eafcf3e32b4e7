//go:build dragonfly || freebsd || linux || openbsd

package futex

import "golang.org/x/sys/unix"

// clockID is the clock of the system that the Go runtime reads.
const clockID = unix.CLOCK_MONOTONIC
