//go:build !interleave

package park

import (
	"runtime"
	"time"
)

// Sema is a counting semaphore: Post adds a token, Wait takes one or blocks
// until there is one. No token is lost as long as at most the capacity of them
// is there at once.
//
// It is a buffered channel that nobody ever closes, so a Post and the Wait that
// takes its token are ordered in memory, waiting goroutines are served in the
// order in which they came, and package testing/synctest sees them as durably
// blocked.
//
// Safe for concurrent use after Init. A Sema must not be copied before Init.
type Sema struct {
	tokens chan struct{}
}

// Init sets how many tokens the semaphore can hold, at least 1, and empties it.
// It must be called before first use, by one goroutine.
func (s *Sema) Init(capacity int) {
	if capacity < 1 {
		panic("park: Sema.Init: capacity is less than 1")
	}
	s.tokens = make(chan struct{}, capacity)
}

// Post adds a token and wakes one waiter if there is one. It never blocks. It
// returns false, and drops the token, when the semaphore is full.
func (s *Sema) Post() bool {
	if s.tokens == nil {
		panic("park: Sema.Post before Init")
	}
	select {
	case s.tokens <- struct{}{}:
		return true
	default:
		return false
	}
}

// TryWait takes a token if there is one. It never blocks.
func (s *Sema) TryWait() bool {
	select {
	case <-s.tokens:
		return true
	default:
		return false
	}
}

// Wait takes a token. It blocks until there is one.
func (s *Sema) Wait() {
	if s.tokens == nil {
		panic("park: Sema.Wait before Init")
	}
	<-s.tokens
}

// WaitDone takes a token and returns true, or returns false once done is
// closed. When both are possible it does either. It blocks until one is. With
// a nil channel it is Wait.
func (s *Sema) WaitDone(done <-chan struct{}) bool {
	if s.tokens == nil {
		panic("park: Sema.WaitDone before Init")
	}
	if done == nil { // a select of the two takes longer
		<-s.tokens
		return true
	}
	select {
	case <-s.tokens:
		return true
	case <-done:
		return false
	}
}

// WaitFor takes a token and returns true, or returns false when d has passed.
// It blocks until then; with a d of zero or less it is TryWait.
func (s *Sema) WaitFor(d time.Duration) bool {
	if s.tokens == nil {
		panic("park: Sema.WaitFor before Init")
	}
	if s.TryWait() {
		return true
	}
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.tokens:
		return true
	case <-timer.C:
		return false
	}
}

// Yield lets other goroutines run. A loop that waits for another goroutine
// without parking calls it in each round.
func Yield() { runtime.Gosched() }

// Explored reports whether the caller is a thread of an exploration, which is for
// models only.
func Explored() bool { return false }
