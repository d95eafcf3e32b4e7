package transport

import (
	"fmt"
	"math/bits"
	"runtime"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// AbortID is the index of one flag of an [AbortSet], from 0 on.
type AbortID uint16

// word returns the index of the word of the flag, and the bit of the flag in it.
func (id AbortID) word() (w int, bit uint32) { return int(id / 32), 1 << (id % 32) }

// AbortSet is a set of flags by which the calling side asks the other side to abort
// calls whose answers are no longer needed. Each call that can be aborted has an id.
// The worker side polls the flag of the id; nothing makes it poll. [NewAbortSet]
// makes an AbortSet.
//
// The calling side takes an id with [AbortSet.Acquire], sets its flag with
// [AbortSet.Abort], and gives the id back with [AbortSet.Release]. Two duties are the
// caller's:
//
//   - It calls Release when it has seen the answer or the end of the worker side, and
//     not when it gives up. Until then the worker side polls the flag.
//   - It ends every Abort of an id before it begins the Release of that id.
//
// An id says nothing about the last call that had it. An AbortSet is safe for
// concurrent use, and no method blocks.
type AbortSet struct {
	_        lfsync.NoCopy
	capacity int
	flags    []atomix.Uint32
	used     []atomix.Uint32
	keep     any // the owner of the memory of the flags, or nil
}

// Protocol of AbortSet.
//
// Roles:
//
//	owner   the side that calls: Acquire, Abort, Release
//	worker  the goroutine that runs the call: Aborted, from the arrival of the id
//	        until the answer
//
// State. The id n has bit n%32 of word n/32 of both:
//
//	flags  set in Abort, cleared in Release; the only part that the worker sees
//	used   1: acquired, or not an id: CAS in Acquire, And in Release
//
// Invariants:
//
//	I1  the flag of an id that is not acquired is clear
//	I2  for each n, the number of Acquires that have come to word n or a later
//	    one is at most the number of ids that are free from word n on. This holds
//	    while no more goroutines have an id, give one back or are in an Acquire
//	    than there are ids
//
// The two duties of the callers ensure one half of I1. Suppose one goroutine gives up
// while another one sees the answer. Then both mark a word of the call. The
// aborting goroutine marks it before its Abort, unless the answer was first, and again
// after the Abort. The other goroutine marks it once. If that goroutine finds only the
// first mark of the aborting one, it leaves the Release to that one.
//
// I2 holds at the start of an Acquire, which begins at word 0. When an Acquire moves
// past a word, that word is full, so all ids that were free from the word on are free
// after it. So an Acquire cannot reach the end while the condition of I2 holds: with as
// many ids as callers, Acquire never fails.
//
// Linearization points:
//
//	Acquire  the CAS of used
//	Abort    the Or
//	Aborted  the load
//	Release  the And of used
//
// Happens-before edges:
//
//	E1  And of used in Release  ->  CAS of used in Acquire   the flag is clear
//
// Progress: Acquire is lock-free. It retries a word when an Acquire or a Release has
// changed that word. The other methods are wait-free. An Acquire loads one word for
// each 32 ids in use.
//
// Source: the abort signals of knitting, a shared bitset and a private map of the ids
// in use. There an id becomes free when its call settles, and the worker of an aborted
// call may read the flag of the next call.

// NewAbortSet returns an AbortSet of capacity ids, 1 to [MaxAborts], all free. words
// holds the flags, one word for each 32 ids. The other side may read the words, and
// only this side writes them. NewAbortSet clears them. A caller passes a slice of Uint32
// of package sync/atomic: atomix.Uint32 is an alias of that type in every build without
// the tag interleave.
func NewAbortSet(capacity int, words []atomix.Uint32) (*AbortSet, error) {
	if capacity < 1 || capacity > MaxAborts {
		return nil, fmt.Errorf("transport: abort set: capacity is %d, want 1 to %d", capacity, MaxAborts)
	}
	n := (capacity + 31) / 32
	if len(words) < n {
		return nil, fmt.Errorf("transport: abort set: %d words for %d ids, want %d", len(words), capacity, n)
	}
	const line = lfsync.CacheLine / 4
	s := &AbortSet{
		capacity: capacity,
		flags:    words[:n],
		used:     make([]atomix.Uint32, line+n+line)[line:][:n], // away from words that other goroutines write
	}
	for i := range s.flags {
		s.flags[i].Store(0)
	}
	if rest := capacity % 32; rest != 0 {
		s.used[n-1].Store(^uint32(0) << rest)
	}
	return s, nil
}

// Acquire takes an id whose flag is clear. It returns false when all ids are in use. It
// never blocks.
func (s *AbortSet) Acquire() (AbortID, bool) {
	for w := range s.used {
		for {
			u := s.used[w].Load()
			bit := ^u & (u + 1) // the lowest free bit
			if bit == 0 {
				break // I2
			}
			if s.used[w].CompareAndSwap(u, u|bit) { // E1
				return AbortID(w*32 + bits.TrailingZeros32(bit)), true // I1
			}
		}
	}
	return 0, false
}

// Abort sets the flag of an id. Any number of goroutines may call it, any number of
// times. The id must be acquired until the last Abort has returned: no Abort may run
// during its Release or after it. Abort never blocks. It panics when the id is not
// acquired.
func (s *AbortSet) Abort(id AbortID) {
	w, bit := s.acquired(id)
	s.flags[w].Or(bit)
	runtime.KeepAlive(s)
}

// Aborted reports whether the flag of id is set. It is one load, and inlines. It
// returns false for a number that is not an id of the set.
func (s *AbortSet) Aborted(id AbortID) bool {
	w, bit := id.word()
	return w < len(s.flags) && s.flags[w].Load()&bit != 0
}

// Release clears the flag of an id and gives the id back. It is called once for each
// Acquire, when the worker no longer polls the flag, see [AbortSet]. It never blocks.
// It panics when the id is not acquired.
func (s *AbortSet) Release(id AbortID) {
	w, bit := s.acquired(id)
	if s.flags[w].Load()&bit != 0 { // most calls leave the shared line alone
		s.flags[w].And(^bit) // I1
	}
	s.used[w].And(^bit) // E1
}

// acquired returns the word and the bit of an acquired id. It panics when the id is not
// acquired.
func (s *AbortSet) acquired(id AbortID) (w int, bit uint32) {
	w, bit = id.word()
	if int(id) >= s.capacity || s.used[w].Load()&bit == 0 {
		panic("transport: AbortSet: the id is not acquired")
	}
	return w, bit
}
