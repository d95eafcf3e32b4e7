// Package park has the primitives with which goroutines wait: a counting semaphore,
// yields, and the identity of the calling goroutine.
//
// The algorithm packages park through this package only. In a normal build a [Sema] is
// a buffered channel and [Yield] is [runtime.Gosched]. Under the build tag interleave
// both are operations that package interleave schedules, so a lost wake-up is a
// deadlock report instead of a test that hangs.
package park
