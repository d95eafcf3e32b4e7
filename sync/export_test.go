package sync

import "unsafe"

// Limits of a Backoff, in rounds.
const (
	SpinRounds  = spinRounds
	YieldRounds = yieldRounds
)

// Round returns how many rounds of b are done.
func Round(b *Backoff) int { return int(b.round) }

// ForgetProcessors makes the next Backoff look at GOMAXPROCS.
func ForgetProcessors() { processors.Store(0) }

// Quiet is the pre-check of NotifyFast.
func Quiet(w Word, limit int) bool { return w.quiet(limit) }

// SetWord stores a word that no sequence of calls need lead to.
func SetWord(s *Sync, w Word) { s.word.Store(uint32(w)) }

// SyncOffset and SyncSize say where the word of a Sync lies.
const (
	SyncOffset = unsafe.Offsetof(Sync{}.word)
	SyncSize   = unsafe.Sizeof(Sync{})
	SyncWord   = unsafe.Sizeof(Sync{}.word)
)

// SemaphoreOffset says where the count of a Semaphore lies.
const (
	SemaphoreOffset = unsafe.Offsetof(Semaphore{}.count)
	SemaphoreNext   = unsafe.Offsetof(Semaphore{}.owed)
)

// Waiting returns how many waiters of s wait for a release: 0 when there are
// free permits.
func Waiting(s *Semaphore) int { return int(max(0, -s.count.Load())) }

// Kept returns how many waiters s keeps in order, those that gave up included.
// Nobody else may use s meanwhile.
func Kept(s *Semaphore) int { return s.size.Get() }

// Settled reports whether nothing is left to do in s: no grant is owed, nobody
// is in line or in order, nobody is the server, and every permit is free.
func Settled(s *Semaphore) bool {
	return s.count.Load() == s.limit && s.owed.Load() == 0 && s.line.Load() == nil &&
		s.turn.Load() == turnFree && s.gone.Load() == 0 &&
		s.first.Get() == nil && s.last.Get() == nil && s.size.Get() == 0
}

// TokenCount returns the count of t: tokens, or waiters if negative.
func TokenCount(t *WakeTokens) int { return int(t.count.Load()) }

// InLine reports whether a waiter has got in line and was not seen by a server yet.
func InLine(s *Semaphore) bool { return s.line.Load() != nil }
