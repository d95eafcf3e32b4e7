package sync

import "unsafe"

// The limits of a Backoff, in rounds.
const (
	SpinRounds  = spinRounds
	YieldRounds = yieldRounds
)

// Round returns the number of rounds of b that are done.
func Round(b *Backoff) int { return int(b.round) }

// ForgetProcessors makes the next Backoff load GOMAXPROCS again.
func ForgetProcessors() { processors.Store(0) }

// NeedsNothing is the check of NotifyFast.
func NeedsNothing(w Word, limit int) bool { return w.needsNothing(limit) }

// SetWord stores any word, also one that no sequence of calls reaches.
func SetWord(s *Sync, w Word) { s.word.Store(uint32(w)) }

// LingeringBit is the bit of a Word that Lingering reports.
const LingeringBit = lingeringBit

// SyncOffset, SyncSize and SyncWord give the position of the word of a Sync.
const (
	SyncOffset = unsafe.Offsetof(Sync{}.word)
	SyncSize   = unsafe.Sizeof(Sync{})
	SyncWord   = unsafe.Sizeof(Sync{}.word)
)

// SemaphoreOffset and SemaphoreNext give the position of the count of a Semaphore.
const (
	SemaphoreOffset = unsafe.Offsetof(Semaphore{}.count)
	SemaphoreNext   = unsafe.Offsetof(Semaphore{}.pendingGrants)
)

// Waiting returns the number of waiters of s that wait for a release. It is 0 when there
// are free permits.
func Waiting(s *Semaphore) int { return int(max(0, -s.count.Load())) }

// Kept returns the number of waiters that s keeps in order. It includes those that gave up.
// No other goroutine may use s during the call.
func Kept(s *Semaphore) int { return s.size.Get() }

// AtRest reports whether every permit of s is free and no grant is pending. No waiter may
// be in arrivals or in order, and grantLock must be free.
func AtRest(s *Semaphore) bool {
	return s.count.Load() == s.limit && s.pendingGrants.Load() == 0 && s.arrivals.Load() == nil &&
		s.grantLock.Load() == grantLockFree && s.abandoned.Load() == 0 &&
		s.first.Get() == nil && s.last.Get() == nil && s.size.Get() == 0
}

// TokenCount returns the count of t: wake tokens, or waiters if negative.
func TokenCount(t *WakeTokens) int { return int(t.count.Load()) }

// HasArrivals reports whether a waiter has arrived that no granter has seen yet.
func HasArrivals(s *Semaphore) bool { return s.arrivals.Load() != nil }
