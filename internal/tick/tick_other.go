//go:build !linux

package tick

import "time"

// Clock waits. It is for one goroutine.
type Clock struct{ timer *time.Timer }

// New returns a Clock.
func New() *Clock { return new(Clock) }

// Wait returns after d, or slightly later.
func (c *Clock) Wait(d time.Duration) {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	<-c.timer.C
}

// Close stops the timer.
func (c *Clock) Close() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
