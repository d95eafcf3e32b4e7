package interleave

import (
	"io"
	"time"
)

// SelfKnown reports whether the explorer distinguishes goroutines.
const SelfKnown = selfKnown

// RaceBuild reports whether the race detector is on.
const RaceBuild = raceBuild

// FormatSchedule parses a schedule and formats the result.
func FormatSchedule(text string) (string, error) {
	s, err := parseSchedule(text)
	return formatSchedule(s), err
}

// SetHangTimeout makes the watchdog report to w each execution that takes longer
// than d. reset restores the previous values.
func SetHangTimeout(d time.Duration, w io.Writer) (reset func()) {
	oldTimeout, oldOutput := hangTimeout, hangOutput
	hangTimeout, hangOutput = d, w
	return func() { hangTimeout, hangOutput = oldTimeout, oldOutput }
}

// SetDelay sets the value of the flag -interleave.delay. reset restores the
// previous value.
func SetDelay(oneIn uint) (reset func()) {
	old := flagDelay
	flagDelay = oneIn
	return func() { flagDelay = old }
}
