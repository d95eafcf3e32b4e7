package transport

import (
	"fmt"
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// AbortID names one flag of an [AbortSet], from 0 on.
type AbortID uint16

// word returns the word that the flag lies in, and its bit there.
func (id AbortID) word() (w int, bit uint32) { return int(id / 32), 1 << (id % 32) }

// AbortSet is how one side tells the other that the answer to a call is no longer
// wanted. Each call that can be aborted has an id; the flag of the id is a bit
// that the worker polls. Nothing makes the worker poll it. [NewAbortSet] makes an
// AbortSet; it is safe for concurrent use.
//
// Roles:
//
//	owner   the side that calls: Acquire, Abort, Release
//	worker  who runs the call: Aborted, from when it has got the id until it answers
//
// State. The id n has bit n%32 of word n/32 of both:
//
//	flags  set in Abort, cleared in Release; the only part that the worker sees
//	used   1: acquired, or not an id: CAS in Acquire, And in Release
//
// Invariants:
//
//	I1  the flag of an id that is not acquired is clear
//	I2  for each n, no more Acquires have come to word n or behind it than there are free ids from there on, as long as no more goroutines have an id, give one back or are in an Acquire than there are ids
//
// I1 is half the caller's work. It calls Release when it has seen the response, or
// the end of the worker, not when it gives up: until then the worker polls the
// flag. And it ends an Abort before it begins the Release of the same id. Where
// one goroutine gives up while another sees the response, both mark a word of the
// call: the one that aborts before its Abort, unless the response was first, and
// again after it; the other one once, and when it finds the first mark of the
// other alone, it leaves the Release to it. An id says nothing of the call that
// had it before.
//
// I2 holds at the start of an Acquire, which is at word 0. When it goes on from a
// word, which then is full, as many are free behind the word as were from it on.
// So it cannot come to the end while the promise is kept: with as many ids as
// callers, Acquire never fails.
//
// Linearization points: the CAS of used in Acquire; the Or in Abort; the load in
// Aborted; the And of used in Release.
//
// Happens-before edges:
//
//	E1  And of used in Release  ->  CAS of used in Acquire   the flag is clear
//
// Progress: Acquire is lock-free: it tries a word again when an Acquire or a
// Release has changed it. The others are wait-free. An Acquire looks at one word
// for each 32 ids in use.
//
// Source: the abort signals of knitting: a bitset that is shared, and a map of the
// ids in use that is not. There an id comes free when its call settles, and the
// worker of an aborted call may read the flag of the next one.
type AbortSet struct {
	_        lfsync.NoCopy
	capacity int
	flags    []atomix.Uint32
	used     []atomix.Uint32
}

// NewAbortSet returns an AbortSet of capacity ids, 1 to [MaxAborts], all free. Its
// flags are in words, one for each 32 ids, which the other side may see and only
// this one writes. It clears them. The words are of the type Uint32 of package
// sync/atomic: atomix.Uint32 is an alias of it in every build but those for models.
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
		used:     make([]atomix.Uint32, line+n+line)[line:][:n], // apart from what others write
	}
	for i := range s.flags {
		s.flags[i].Store(0)
	}
	if rest := capacity % 32; rest != 0 {
		s.used[n-1].Store(^uint32(0) << rest)
	}
	return s, nil
}

// Acquire takes an id whose flag is clear. It never blocks. It returns false when
// all are in use.
func (s *AbortSet) Acquire() (AbortID, bool) {
	for w := range s.used {
		for {
			u := s.used[w].Load()
			bit := ^u & (u + 1) // the lowest that is free
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

// Abort sets the flag of an id. It may be called often, and by several goroutines,
// but only while the id is acquired: not during its Release, nor after. It never
// blocks. It panics when the id is not acquired.
func (s *AbortSet) Abort(id AbortID) {
	w, bit := s.acquired(id)
	s.flags[w].Or(bit)
}

// Aborted reports whether the flag of id is set. It is one load, and inlines. What
// is no id of the set is not aborted.
func (s *AbortSet) Aborted(id AbortID) bool {
	w, bit := id.word()
	return w < len(s.flags) && s.flags[w].Load()&bit != 0
}

// Release clears the flag of an id and gives the id back. It comes once for each
// Acquire, when the worker no longer polls the flag: see [AbortSet]. It never
// blocks. It panics when the id is not acquired.
func (s *AbortSet) Release(id AbortID) {
	w, bit := s.acquired(id)
	if s.flags[w].Load()&bit != 0 { // most calls leave the shared line alone
		s.flags[w].And(^bit) // I1
	}
	s.used[w].And(^bit) // E1
}

// acquired returns where the flag of an id lies that is acquired.
func (s *AbortSet) acquired(id AbortID) (w int, bit uint32) {
	w, bit = id.word()
	if int(id) >= s.capacity || s.used[w].Load()&bit == 0 {
		panic("transport: AbortSet: the id is not acquired")
	}
	return w, bit
}
