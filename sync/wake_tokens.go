package sync

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
)

// WakeTokens is a counting semaphore that idle workers park on. Post adds a wake token,
// and Wait takes one or blocks until there is one. A poster need not know which waiter
// it wakes. Init comes before first use. After Init it is safe for concurrent use.
//
// At most n goroutines may wait at a time, and at most n wake tokens are kept, where n is
// the argument of Init. A Post beyond n tokens drops its token. That is harmless, because
// each current and later waiter finds one of the n tokens.
type WakeTokens struct {
	_     NoCopy
	count atomix.Int32
	max   int32
	sema  park.Sema
}

// Algorithm of WakeTokens: one count, and a semaphore for waiters that have to block.
//
// Roles:
//
//	poster  Post
//	waiter  Wait, WaitDone, TryWait; at most n of them at a time
//
// State:
//
//	count  > 0: tokens that no waiter has taken; < 0: waiters that no Post has found
//	sema   waiters block on it; posted once by each Post that found a waiter
//
// Invariants:
//
//	I1  waiters past their decrement = max(0, -count) + posts in sema or in flight to it
//	I2  count <= n. sema has space for n posts, so it is never full when it is posted to
//
// Linearization points: the CAS or Add on count. A WaitDone that gives up does so at its
// CAS.
//
// Happens-before edges:
//
//	E1  CAS of Post  ->  Add of the waiter that takes the token   the waiter sees all
//	    writes of the poster before its Post
//	E2  Add of a waiter that takes a token  ->  load of a Post that may drop its token
//	    the Post finds fewer than n tokens and does not drop. In the other order the
//	    waiter, which takes the last of n tokens, sees the change of the poster
//
// Progress: Post and TryWait are lock-free. Wait blocks until there is a token. A
// WaitDone that gives up may find that a token is in flight to it. It then yields until
// the poster has posted, and takes the token.
//
// Rejected: a buffered channel alone. A send that finds the buffer full has read its
// length without synchronization. On arm64 that read may pass the store that the poster
// made before it. A waiter that has not seen that store may take the last token at the
// same time. The dropped Post is then a lost wake-up.

// Init prepares t for at most n waiters at a time and at most n wake tokens. It panics
// unless n is 1 to MaxWorkers.
func (t *WakeTokens) Init(n int) {
	if n < 1 || n > MaxWorkers {
		panic("sync: WakeTokens.Init: n must be 1 to MaxWorkers")
	}
	t.max = int32(n)
	t.sema.Init(n)
}

// Post adds a wake token, wakes a waiter if there is one, and returns true. It drops the
// token and returns false when there are already n tokens. It never blocks.
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

// TryWait takes a wake token if there is one, and reports whether it did. It never
// blocks.
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

// Wait takes a wake token. It blocks until there is one.
func (t *WakeTokens) Wait() { t.WaitDone(nil) }

// WaitDone takes a wake token and returns true, or returns false when done is closed
// first. It takes an available token even if done is closed. A nil done never ends the
// wait.
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
		if t.sema.TryWait() { // I1: there is a post for each waiter, including the caller
			return true
		}
		park.Yield() // ends when the poster has posted, or when another waiter has taken the token and made count < 0
	}
}
