package interleave

import (
	"io"
	"time"
)

// SelfKnown reports whether the explorer distinguishes goroutines.
const SelfKnown = selfKnown

// RaceBuild reports whether the race detector is on.
const RaceBuild = raceBuild

// Budgets returns the time that an exploration with these options may take, and the part
// of it that a search that deepens may take. 0 is no limit.
func Budgets(o Options) (all, search time.Duration, err error) {
	err = o.check()
	return o.Budget, o.searchTime(), err
}

// FormatSchedule parses a schedule and formats the result.
func FormatSchedule(text string) (string, error) {
	s, err := parseSchedule(text)
	return formatSchedule(s), err
}

// SetHangTimeout makes the watchdog give up explorations without progress for d, and
// print its report to w. reset restores the previous values.
func SetHangTimeout(d time.Duration, w io.Writer) (reset func()) {
	oldTimeout, oldOutput := hangTimeout, hangOutput
	hangTimeout, hangOutput = d, w
	return func() { hangTimeout, hangOutput = oldTimeout, oldOutput }
}

// SetHangTicks makes the watchdog look for progress at each value of the channel. reset
// restores the timer.
func SetHangTicks(ticks <-chan time.Time) (reset func()) {
	old := newTicks
	newTicks = func(time.Duration) (<-chan time.Time, func()) { return ticks, func() {} }
	return func() { newTicks = old }
}

// HangLooks is how many times in a row the watchdog sees no progress before it gives up.
const HangLooks = looks

// LostGoroutines returns the number of goroutines from which a watchdog has taken
// control and which have not ended.
func LostGoroutines() int { return int(lostGoroutines.n.Load()) }

// SetDelay sets the value of the flag -interleave.delay. reset restores the
// previous value.
func SetDelay(oneIn uint) (reset func()) {
	old := flagDelay
	flagDelay = oneIn
	return func() { flagDelay = old }
}
