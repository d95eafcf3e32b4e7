package transport

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

// The errors of [Arena.Alloc].
var (
	// ErrPayloadTooLarge reports a value that is longer than one value may be.
	ErrPayloadTooLarge = errors.New("transport: payload too large")
	// ErrArenaFull reports a value for which the arena has no space now.
	ErrArenaFull = errors.New("transport: payload arena full")
)

const (
	blockBytes  = 64      // the unit of an arena
	arenaBlocks = 40      // that can be live: one for each slot, and 8 that the peer has borrowed
	arenaMax    = 1 << 32 // bytes: offsets have 32 bits
)

// Arena allocates the payload memory of one direction. It works with offsets and never
// touches the memory itself. It belongs to the side that writes the payloads, and is
// ordinary memory that the peer cannot reach.
//
// [Arena.Alloc] returns the offset of a block, and [Arena.Free] gives the block back.
// [Arena.Shrink] gives back its end. The caller of Alloc owns the block and may pass it
// to another goroutine.
//
// A block is a multiple of 64 bytes, begins at the lowest offset where it fits, and
// overlaps no other block. At most 40 blocks are live. An Alloc or Free in progress may
// occupy one of these 40 entries too. [NewArena] makes an Arena. It is safe for
// concurrent use, and no method blocks. It must not be copied.
type Arena struct {
	_                 lfsync.NoCopy
	initial, perValue int
	units             uint64 // of the whole arena

	_         lfsync.Pad
	word      atomix.Uint64
	highWater atomix.Uint64 // in units; next to word, since an Alloc loads both
	blocks    [arenaBlocks]atomix.Uint64
	_         lfsync.Pad
}

// Algorithm of Arena: first fit over a table of the live blocks. An Alloc chooses a gap
// from a scan of the table and commits it with a CAS that fails when any block was
// allocated since the scan.
//
// Roles:
//
//	allocator  Alloc: any goroutine of the side
//	owner      the goroutine that got a block from Alloc or from its last owner:
//	           Shrink, and Free once
//
// State. The extent of a block is its start and its end, in units of 64 bytes:
//
//	word       CAS by allocators, And by owners
//	           63          40 39                                0
//	           +-------------+----------------------------------+
//	           |   allocs    |               live               |
//	           +-------------+----------------------------------+
//	           live    bit i: entry i holds the extent of a live block
//	           allocs  number of times that a bit was set; wraps
//	blocks     0, or the extent of a block: CAS from 0 by an allocator, which owns
//	           the entry from then on; stored by the owner
//	highWater  the highest end of any block since the last Reset: CAS by allocators
//
// Invariants:
//
//	I1  the extents of live entries do not overlap
//	I2  only an Alloc sets a live bit: it has compared its extent with those of all
//	    live entries, and no bit was set since it loaded word
//	I3  an entry is 0, or has one owner; the owner of the entry sets and clears its
//	    live bit
//
// Linearization points:
//
//	Alloc   the CAS of word. No gap: the load of word before the scan
//	Free    the And of word
//	Shrink  the store of the extent
//
// An Alloc that finds a gap and no free entry has no linearization point. It has seen
// that each entry had an owner at some time between its two loads of word. That owner
// is one of three: the owner of a live block, a Free between its And and its store, or
// an Alloc between its CAS of the entry and the next step. One such Alloc may have had
// several entries in turn. So an Alloc can fail for lack of an entry while a Free that
// has taken effect is still in progress. In an [End] each Alloc and Free belongs to a
// claimed slot. There at most 32 entries have an owner at a time, and one more for each
// slot that calls Reserve a second time for more bytes.
//
// Happens-before edges:
//
//	E1  CAS of word in Alloc  ->  load of word in another Alloc   the later Alloc
//	    sees the extents of all live blocks
//	E2  And of word in Free   ->  load of word in Alloc           the last use of
//	    the bytes comes before their next use
//	E3  store of 0 in Free    ->  CAS of the entry in Alloc       the live bit was
//	    cleared before the entry has another owner
//
// I1 follows from I2. A scan misses only bits that were set since it began, and then
// the CAS fails. Bits that were cleared since, blocks that were shrunk, and entries
// that are filled again make the scan see too much, and never too little.
//
// Progress: lock-free. An Alloc retries when another Alloc or a Free came in between. A
// Free or Shrink retries when it finds its offset twice, and only an Alloc and a Free
// together cause that. A goroutine that stops for ever within an operation makes at
// most one block unavailable.
//
// Limit: an Alloc that stalls between its scan and its CAS can get a block that
// overlaps another one (ABA). That requires that exactly 2^24 other Allocs succeed in
// between and that the same bits are live again. These Allocs take a second at least.
//
// Source: the payload allocator of knitting, first fit over a table of the live
// regions. There one thread allocates and the peer frees.
//
// Rejected:
//
//   - A bitmap of the units: 16,384 words for 64 MiB, and a block of 8 MiB takes 2,048
//     of them, one CAS each.
//   - A mutex: a holder that is preempted stops every caller of the lane.
//   - A table whose entries count as soon as they are filled: entries of allocators
//     that fail then look like a full arena.
//   - More entries than blocks: allocs loses a bit for each, and enough concurrent
//     callers exhaust these entries too.
//   - To wait in Alloc for the entry of a Free: the Free may be preempted.
//   - The first free entry for a block: an Alloc and a Free then take 230 ns instead of
//     120 with 31 live blocks of mixed sizes. See vacant.

// arenaWord is the word of an Arena.
type arenaWord uint64

func (w arenaWord) live() uint64            { return uint64(w) & (1<<arenaBlocks - 1) }
func (w arenaWord) set(entry int) arenaWord { return (w | 1<<entry) + 1<<arenaBlocks }
func (w arenaWord) has(entry int) bool      { return w>>entry&1 != 0 }

// extent is the position of a block in units: [start, end). 0 is no block.
type extent uint64

func makeExtent(start, end uint64) extent { return extent(end<<32 | start) }
func (e extent) start() uint64            { return uint64(e) & (1<<32 - 1) }
func (e extent) end() uint64              { return uint64(e) >> 32 }

// unitsOf returns the number of units that n bytes take. A block of 0 bytes takes one
// unit, so that each block has an offset of its own.
func unitsOf(n int) uint64 { return (uint64(max(n, 1)) + blockBytes - 1) / blockBytes }

// NewArena returns an Arena over the offsets from 0 to maximum. One value may have up
// to perValue bytes. initial is the first value of [Arena.Limit]. maximum is from 64
// bytes to 4 GiB and is rounded down to a multiple of 64. The other two are at least 1
// and at most the rounded maximum.
func NewArena(initial, maximum, perValue int) (*Arena, error) {
	usable := maximum &^ (blockBytes - 1)
	for _, f := range []struct {
		name           string
		n, least, most int64
	}{
		{"max", int64(maximum), blockBytes, arenaMax},
		{"initial", int64(initial), 1, int64(usable)},
		{"the size of one value", int64(perValue), 1, int64(usable)},
	} {
		if f.n < f.least || f.n > f.most {
			return nil, fmt.Errorf("transport: arena: %s is %d, want %d to %d", f.name, f.n, f.least, f.most)
		}
	}
	return &Arena{initial: initial, perValue: perValue, units: unitsOf(usable)}, nil
}

// Alloc takes a block of at least n bytes and returns its offset, a multiple of 64. It
// never blocks. It returns [ErrPayloadTooLarge] when n is more than one value may have.
// It returns [ErrArenaFull] when there is no gap of that size, and when none of the 40
// entries is free: an entry without a live block is in use by a concurrent Alloc or
// Free. On an error it has taken nothing. It panics when n is negative.
func (a *Arena) Alloc(n int) (off uint32, err error) {
	if n < 0 {
		panic("transport: Arena.Alloc: negative size")
	}
	if n > a.perValue {
		return 0, ErrPayloadTooLarge
	}
	size := unitsOf(n)
	for {
		w := arenaWord(a.word.Load()) // E1, E2, I2
		start, front := a.fit(w.live(), size)
		i := a.vacant(w, front)
		if start+size > a.units || i < 0 {
			if arenaWord(a.word.Load()) == w { // otherwise the scan may have mixed old and new extents
				return 0, ErrArenaFull
			}
			continue
		}
		e := makeExtent(start, start+size)
		if !a.blocks[i].CompareAndSwap(0, uint64(e)) { // E3, I3
			continue // another Alloc has taken the entry
		}
		if a.word.CompareAndSwap(uint64(w), uint64(w.set(i))) { // E1, I2
			a.raiseHighWater(e.end())
			return uint32(start * blockBytes), nil
		}
		a.blocks[i].Store(0) // another Alloc or a Free came in between: scan again
	}
}

// fit returns the lowest offset, in units, at which size units fit among the live
// entries. front is the entry of the block that ends there, or 0. The result may end
// outside the arena. The loop ends because each round moves at behind a block that was
// in the way.
func (a *Arena) fit(live, size uint64) (at uint64, front int) {
	for moved := true; moved && at+size <= a.units; {
		moved = false
		for m := live; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			e := a.extent(i)
			if e.start() >= at+size {
				continue
			}
			live &^= m & -m // at is behind this block from now on: at only grows
			if e.end() > at {
				at, front, moved = e.end(), i, true
			}
		}
	}
	return at, front
}

// vacant returns an entry that has no owner, or -1. It prefers the entries after front.
// The entries then are in the order of their blocks in the common case, and fit needs
// two or three rounds. Otherwise fit needs one round for each block whose successor has
// a lower entry.
func (a *Arena) vacant(w arenaWord, front int) int {
	for i := range arenaBlocks {
		if i = (front + i) % arenaBlocks; !w.has(i) && a.extent(i) == 0 {
			return i
		}
	}
	return -1
}

func (a *Arena) extent(i int) extent { return extent(a.blocks[i].Load()) }

// raiseHighWater makes highWater at least end.
func (a *Arena) raiseHighWater(end uint64) {
	for {
		h := a.highWater.Load()
		if h >= end || a.highWater.CompareAndSwap(h, end) {
			return
		}
	}
}

// find returns the entry of the live block at an offset, or -1. The caller owns that
// block, so its entry is one of the matches. There is a second match when the block of
// another entry was freed since the load and an Alloc with an old word has filled that
// entry.
func (a *Arena) find(off uint32) int {
	for {
		entry, matches := -1, 0
		for m := arenaWord(a.word.Load()).live(); m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			if e := a.extent(i); e.start()*blockBytes == uint64(off) && e != 0 {
				entry = i
				matches++
			}
		}
		if matches < 2 {
			return entry // I1
		}
		invariant.Reached("transport: Arena: two entries with one offset")
	}
}

// Shrink keeps the first n bytes of the block at off and gives the rest back, in whole
// units of 64 bytes. At least one unit stays. Only the owner of the block may call it.
// It never blocks. It panics when there is no block at off, or when the block is
// smaller than n bytes.
func (a *Arena) Shrink(off uint32, n int) {
	i := a.find(off)
	if i < 0 {
		panic("transport: Arena.Shrink: no block at this offset")
	}
	e := a.extent(i)
	end := e.start() + unitsOf(n)
	if n < 0 || end > e.end() {
		panic("transport: Arena.Shrink: the block is smaller")
	}
	a.blocks[i].Store(uint64(makeExtent(e.start(), end))) // I1: it only becomes smaller
}

// Free gives back the block at off. Only the owner of the block may call it, once. It
// never blocks. It panics when there is no block at off.
func (a *Arena) Free(off uint32) {
	i := a.find(off)
	if i < 0 {
		panic("transport: Arena.Free: no block at this offset")
	}
	a.word.And(^(uint64(1) << i)) // E2, I3
	a.blocks[i].Store(0)          // E3
}

// Reset frees all blocks and makes the arena as new. No other goroutine may use the
// arena during Reset, and no earlier block may be used after it.
func (a *Arena) Reset() {
	for i := range a.blocks {
		a.blocks[i].Store(0)
	}
	a.highWater.Store(0)
	a.word.Store(0)
}

// Limit returns the size of the part of the arena, from offset 0, that is in use or may
// be used before the arena grows. It begins with initial. When no gap below the limit
// is large enough, the limit doubles, up to the maximum. It never decreases until
// Reset.
func (a *Arena) Limit() int {
	limit, _ := a.growth()
	return limit
}

// Growths returns the number of times that the limit has doubled.
func (a *Arena) Growths() int {
	_, growths := a.growth()
	return growths
}

// growth computes both results from highWater alone, because blocks lie as low as
// possible.
func (a *Arena) growth() (limit, growths int) {
	for limit = a.initial; limit < a.HighWater(); growths++ {
		limit += min(limit, int(a.units*blockBytes)-limit)
	}
	return limit, growths
}

// HighWater returns the highest end of any block since the last Reset, in bytes from
// offset 0.
func (a *Arena) HighWater() int { return int(a.highWater.Load() * blockBytes) }

// InUse returns the number of bytes of the live blocks. The result is an estimate while
// other goroutines use the arena.
func (a *Arena) InUse() int {
	var n uint64
	for m := arenaWord(a.word.Load()).live(); m != 0; m &= m - 1 {
		e := a.extent(bits.TrailingZeros64(m))
		n += e.end() - e.start()
	}
	return int(n * blockBytes)
}
