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
var Command = command

// SetPatience makes the explorer complain to w about executions that take
// longer than d. It returns what sets everything back.
func SetPatience(d time.Duration, w io.Writer) (reset func()) {
	oldPatience, oldComplain := patience, complain
	patience, complain = d, w
	return func() { patience, complain = oldPatience, oldComplain }
}

// SetDisturb sets the flag, and returns what sets it back.
func SetDisturb(oneIn uint) (reset func()) {
	old := flagDisturb
	flagDisturb = oneIn
	return func() { flagDisturb = old }
}
