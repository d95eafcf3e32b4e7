package sync

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// WakeTokens is what idle workers park on: a counting semaphore without permits to
// give back. Whoever posts need not know whom it wakes. Init comes before first
// use; after that it is safe for concurrent use.
//
// Roles:
//
//	poster  Post
//	waiter  Wait, WaitDone, TryWait; at most n of them at a time
//
// State:
//
//	count  > 0: tokens nobody has taken; < 0: waiters nobody has posted for
//	sema   what waiters block on: gets one token for each post that found a waiter
//
// Invariants:
//
//	I1  waiters past their decrement = max(0, -count) + tokens in or on their way to sema
//	I2  count <= n, and so sema, which holds n, is never full when it is posted to
//
// Linearization points: the CAS or Add on count. A WaitDone that gives up does so
// at its CAS.
//
// Happens-before edges:
//
//	E1  CAS of Post  ->  Add of the waiter that takes the token   the waiter sees what the poster did
//	E2  Add of a taking waiter  ->  load of a Post that drops     the waiter that takes the last of n tokens looks at the world after the poster changed it, or the poster does not drop
//
// Progress: Post and TryWait are lock-free. Wait blocks until a token is there.
// A WaitDone that gives up may find that a token is on its way to it; it then
// yields until the poster comes through, and takes it.
//
// Rejected: a buffered channel alone. A send that finds the buffer full has read
// its length without synchronization: on arm64 the read may pass the store that
// the poster made before, while the last token is taken by a waiter that has not
// seen that store. A dropped post then is a lost wake-up.
type WakeTokens struct {
	_     NoCopy
	count atomix.Int32
	max   int32
	sema  park.Sema
}

// Init prepares t for at most n waiters at a time, and as many tokens. It panics
// unless n is 1 to MaxWorkers.
func (t *WakeTokens) Init(n int) {
	if n < 1 || n > MaxWorkers {
		panic("sync: WakeTokens.Init: n must be 1 to MaxWorkers")
	}
	t.max = int32(n)
	t.sema.Init(n)
}

// Post adds a token, and wakes a waiter if there is one. It reports false when n
// tokens are there already: whoever waits, or comes to wait, finds one of them,
// so the new one is dropped. It never blocks.
func (t *WakeTokens) Post() bool {
	for {
		c := t.count.Load()
		if c >= t.max { // E2: needs sequential consistency
			return false
		}
		if t.count.CompareAndSwap(c, c+1) { // E1
			if c < 0 && !t.sema.Post() { // I2
				panic("sync: WakeTokens.Post: more than n waiters")
			}
			return true
		}
	}
}

// TryWait takes a token if there is one. It never blocks.
func (t *WakeTokens) TryWait() bool {
	for {
		c := t.count.Load()
		if c <= 0 {
			return false
		}
		if t.count.CompareAndSwap(c, c-1) { // E1, E2
			return true
		}
	}
}

// Wait takes a token. It blocks until there is one.
func (t *WakeTokens) Wait() { t.WaitDone(nil) }

// WaitDone takes a token and returns true, or returns false when done is closed
// first. A token that is there is taken even if done is closed. nil is never
// closed.
func (t *WakeTokens) WaitDone(done <-chan struct{}) bool {
	if t.count.Add(-1) >= 0 { // E1, E2
		return true
	}
	if t.sema.WaitDone(done) {
		return true
	}
	for {
		c := t.count.Load()
		if c < 0 {
			if t.count.CompareAndSwap(c, c+1) {
				return false
			}
			continue
		}
		if t.sema.TryWait() { // I1: each waiter has been posted for, this one too
			return true
		}
		park.Yield() // ends when the poster comes through, or another waiter has taken the token and made count < 0
	}
}
