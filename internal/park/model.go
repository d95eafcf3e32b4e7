//go:build interleave

// This file replaces sema.go in models. A thread of a model must not block or yield in
// the Go runtime, because the explorer decides which thread runs and has to know which
// threads are blocked. It reports a deadlock when all of them are.

package park

import "github.com/lanewright/lanewright/interleave"

// Sema is a counting semaphore. Post adds a token. Wait takes a token, and blocks while
// there is none. In an exploration, each operation is a step.
type Sema = interleave.Sema

// Mutex is a lock. In an exploration, each operation is a step.
type Mutex = interleave.Mutex

// Yield lets other goroutines run. A loop that waits for another goroutine calls it in
// each round. In an exploration the calling thread continues when another thread has
// changed an object that it has read since its last Yield, and without such a change only
// as often as the options allow.
func Yield() {
	interleave.Helper()
	interleave.Yield()
}

// Pause lets other goroutines run. A loop that ends by itself calls it in its rounds. In
// an exploration it does nothing.
func Pause() { interleave.Pause() }

// Explored reports whether the caller is a thread of an exploration.
func Explored() bool { return interleave.Active() }
