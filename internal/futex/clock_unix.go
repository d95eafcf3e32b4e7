//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package futex

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// origin is a moment of the clock of this program, and originOfSystem is the same moment of
// the clock of the system.
var origin, originOfSystem = align()

// align reads the clock of the system between two readings of the clock of the program. It
// takes the closest of several pairs, because the thread may lose its processor in between.
func align() (moment time.Time, system int64) {
	best := time.Duration(math.MaxInt64)
	for range 8 {
		var ts unix.Timespec
		before := time.Now()
		if unix.ClockGettime(clockID, &ts) != nil {
			return before, 1 // no kernel that Go runs on is without this clock
		}
		if took := time.Since(before); took < best {
			best, moment, system = took, before.Add(took/2), ts.Nano()
		}
	}
	return moment, system
}

// now adds the time that has passed since origin. The runtime reads the same clock as the
// system call, and needs no system call on most systems.
func now() int64 { return originOfSystem + int64(time.Since(origin)) }
