//go:build !interleave

// This file is the build without models: a channel, a lock of package sync, and the
// scheduler of the Go runtime.
// In models, model.go replaces it.

package park

import (
	"runtime"
	"sync"
	"time"
)

// Sema is a counting semaphore. Post adds a token. Wait takes a token, and blocks while
// there is none. No token is lost while the semaphore has at most as many as its
// capacity.
//
// A Sema is a buffered channel that is never closed. The Post of a token therefore
// happens before the end of the Wait that takes it, goroutines get tokens in the order
// in which they began to wait, and package testing/synctest treats a waiting goroutine
// as durably blocked.
//
// Safe for concurrent use after Init. A Sema must not be copied before Init.
type Sema struct {
	tokens chan struct{}
}

// Init sets the capacity in tokens and removes all tokens. It must be called before the
// first use, by one goroutine. It panics when capacity is less than 1.
func (s *Sema) Init(capacity int) {
	if capacity < 1 {
		panic("park: Sema.Init: capacity is less than 1")
	}
	s.tokens = make(chan struct{}, capacity)
}

// Post adds a token, wakes one waiter if there is one, and returns true. When the
// semaphore is full, it drops the token and returns false. It never blocks.
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

// TryWait takes a token and returns true, or returns false when there is none. It never
// blocks.
func (s *Sema) TryWait() bool {
	select {
	case <-s.tokens:
		return true
	default:
		return false
	}
}

// Wait takes a token. It blocks while there is none.
func (s *Sema) Wait() {
	if s.tokens == nil {
		panic("park: Sema.Wait before Init")
	}
	<-s.tokens
}

// WaitDone takes a token and returns true, or returns false when done is closed. It
// blocks while neither is possible, and does either when both are. With a nil channel
// it is Wait.
func (s *Sema) WaitDone(done <-chan struct{}) bool {
	if s.tokens == nil {
		panic("park: Sema.WaitDone before Init")
	}
	if done == nil { // a select takes longer than a receive
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

// WaitFor takes a token and returns true, or returns false after d. It blocks while
// neither is possible. With a d of zero or less it is TryWait.
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

// Mutex is the lock of package sync. Packages with models lock only this type, because
// Lock and Unlock are steps of a model then.
type Mutex = sync.Mutex

// Yield lets other goroutines run. A loop that waits for another goroutine without
// parking calls it in each round. A loop that ends by itself calls [Pause].
func Yield() { runtime.Gosched() }

// Pause lets other goroutines run. A loop that ends by itself, such as one that spins a
// few rounds and then parks, calls it in its rounds. A loop that waits calls [Yield].
func Pause() { runtime.Gosched() }

// Explored reports whether the caller is a thread of an exploration. It can be one in
// models only.
func Explored() bool { return false }
