// Package tick waits for short times. On Linux it is more exact than the timers of the Go
// runtime, which are rounded up to a millisecond there while a processor is idle. Terms
// are defined in docs/GLOSSARY.md.
package tick
