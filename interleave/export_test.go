package interleave

import (
	"io"
	"time"
)

// SelfKnown says whether the explorer tells goroutines apart.
const SelfKnown = selfKnown

// RaceBuild says whether the race detector is on.
const RaceBuild = raceBuild

// FormatSchedule parses a schedule and writes it again.
func FormatSchedule(text string) (string, error) {
	s, err := parseSchedule(text)
	return formatSchedule(s), err
}

// Command returns what Check tells to type.
var Command = replayCommand

// SetHangTimeout makes the explorer hangOutput to w about executions that take
// longer than d. It returns what sets everything back.
func SetHangTimeout(d time.Duration, w io.Writer) (reset func()) {
	oldTimeout, oldOutput := hangTimeout, hangOutput
	hangTimeout, hangOutput = d, w
	return func() { hangTimeout, hangOutput = oldTimeout, oldOutput }
}

// SetDelay sets the flag, and returns what sets it back.
func SetDelay(oneIn uint) (reset func()) {
	old := flagDelay
	flagDelay = oneIn
	return func() { flagDelay = old }
}
