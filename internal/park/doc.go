// Package park holds what goroutines block on: a counting semaphore, hints
// that the caller waits for others, and the identity of the calling goroutine.
//
// The algorithm packages park through this package only. In a normal build a
// [Sema] is a buffered channel and [Yield] is [runtime.Gosched]; under the
// build tag interleave both are operations that package interleave schedules,
// so that a lost wake-up is a deadlock report and not a hanging test.
package park
