// Package park has the primitives with which goroutines wait: a counting semaphore, a
// lock, yields, and the identity of the calling goroutine.
//
// The algorithm packages park and lock through this package only. In a normal build a
// [Sema] is a buffered channel, [Mutex] is [sync.Mutex], and [Yield] and [Pause] are
// [runtime.Gosched]. Under the build tag interleave package interleave schedules them. A
// lost wake-up or a deadlock of locks is then a deadlock report instead of a test that
// hangs. [Once] is built on Mutex in both builds.
//
// Yield is for a loop that waits: only another goroutine can end it. Pause is for a loop
// that also ends by itself, such as one that spins a few rounds and then parks. A model
// runs the orders in which such a loop ends before any other thread has taken a step only
// if the loop calls Pause. Terms are defined in docs/GLOSSARY.md.
package park
