// Package tick waits for short times, more exactly than the timers of the Go
// runtime do where it can: those are rounded up to a millisecond on Linux, while
// a processor is idle.
package tick
