//go:build interleave

package park

import "github.com/lanewright/lanewright/interleave"

// Sema is a counting semaphore: Post adds a token, Wait takes one or blocks
// until there is one. In an exploration each operation is a step.
type Sema = interleave.Sema

// Yield says that the caller waits for another goroutine: in an exploration it
// is not scheduled again before another thread has taken a step.
func Yield() { interleave.Yield() }

// Explored reports whether the caller is a thread of an exploration.
func Explored() bool { return interleave.Active() }
