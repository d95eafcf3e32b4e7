package transport

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

// What an [Arena] says of a value that it has no room for.
var (
	// ErrPayloadTooLarge means that the value is larger than one may be.
	ErrPayloadTooLarge = errors.New("transport: payload too large")
	// ErrArenaFull means that the value fits, but not now.
	ErrArenaFull = errors.New("transport: payload arena full")
)

const (
	blockBytes  = 64      // the unit of an arena
	arenaBlocks = 40      // that can be live: one a slot, and 8 that the peer has borrowed
	arenaMax    = 1 << 32 // bytes: offsets have 32 bits
)

// Arena gives out parts of one direction's payload memory. It knows offsets only
// and never touches the memory. It belongs to the side that writes there and lies
// in ordinary memory, where the peer cannot reach it.
//
// A block is a multiple of 64 bytes, lies at the lowest offset where it fits, and
// overlaps no other. At most 40 blocks are live: each takes one of 40 entries, and an
// Alloc or Free that is under way may have one too. Safe for concurrent use.
//
// Roles:
//
//	allocator  Alloc: any goroutine of the side
//	owner      who has got a block, or was handed it: Shrink, and Free once
//
// State. The extent of a block is where it starts and where it ends, in units:
//
//	word    CAS by allocators, And by owners
//	        63          40 39                                0
//	        +-------------+----------------------------------+
//	        |   allocs    |               live               |
//	        +-------------+----------------------------------+
//	        live    bit i: entry i holds the extent of a live block
//	        allocs  how often a bit was set; wraps
//	blocks  0, or the extent of a block: CAS from 0 by an allocator, which owns the entry from then on; stored by the owner
//	high    the highest end of any block since the last Reset: CAS by allocators
//
// Invariants:
//
//	I1  the extents of live entries do not overlap
//	I2  live bits are set only by an Alloc that has compared its extent with those of all live entries, and no bit was set since it loaded word
//	I3  an entry is 0, or has one owner; a live bit is set and cleared by the owner of its entry
//
// Linearization points: the CAS of word in Alloc, or its load of word before a look
// that finds no gap; the And in Free; the store in Shrink. An Alloc that finds a gap and
// no entry has none. What it has seen is that each entry had an owner at some time
// between its two loads of word: who has a live block, a Free between its And and its
// store, or an Alloc between its CAS of the entry and what follows, which may have had
// more than one entry in turn. So an Alloc can fail for want of an entry beside a Free
// that has taken effect. In an [End], where each Alloc and Free is one of a claimed
// slot, at most 32 entries have an owner at a time, and one more for each slot that
// asks a second time for a larger Reserve.
//
// Happens-before edges:
//
//	E1  CAS of word in Alloc  ->  load of word in another Alloc   it sees the extents of all live blocks
//	E2  And of word in Free   ->  load of word in Alloc           the bytes were used for the last time before they are used again
//	E3  store of 0 in Free    ->  CAS of the entry in Alloc       the live bit was cleared before the entry has another owner
//
// I1 follows from I2: what a look at the entries misses is a bit that was set
// since, and then the CAS fails. Bits that were cleared since, blocks that were
// shrunk, and entries that are being filled again make it see too much, never
// too little.
//
// Progress: lock-free. An Alloc tries again when another Alloc or a Free came
// between, a Free or Shrink when it finds the offset twice, which takes both. Who
// stops for ever in the middle of one of them keeps one block from the others.
//
// Limit: an Alloc that stalls between its look and its CAS while exactly 2^24
// others get a block, and the same bits are live, may be given theirs (ABA). They
// take a second at best.
//
// Source: the payload allocator of knitting, first fit over a table of the live
// regions. There one thread allocates and the peer frees.
//
// Rejected: a bitmap of the units (16,384 words for 64 MiB, and a block of 8 MiB
// takes 2,048 of them, one CAS each); a mutex (who is preempted in it stops every
// caller of the lane); a table whose entries count as soon as they are filled
// (entries of allocators that fail then look like a full arena); more entries than
// blocks (a bit less for allocs each, and they too run out when enough callers meet);
// to wait in Alloc for the entry of a Free (which may be preempted); the first free
// entry for a block (230 ns for an Alloc and a Free with 31 blocks of mixed sizes
// live, against 120: see vacant).
type Arena struct {
	_                 lfsync.NoCopy
	initial, perValue int
	units             uint64 // of the whole arena

	_         lfsync.Pad
	word      atomix.Uint64
	highWater atomix.Uint64 // in units; beside word, since an Alloc loads both
	blocks    [arenaBlocks]atomix.Uint64
	_         lfsync.Pad
}

// arenaWord is the word of an Arena.
type arenaWord uint64

func (w arenaWord) live() uint64            { return uint64(w) & (1<<arenaBlocks - 1) }
func (w arenaWord) set(entry int) arenaWord { return (w | 1<<entry) + 1<<arenaBlocks }
func (w arenaWord) has(entry int) bool      { return w>>entry&1 != 0 }

// extent is where a block lies, in units: [start, end). 0 is no block.
type extent uint64

func makeExtent(start, end uint64) extent { return extent(end<<32 | start) }
func (e extent) start() uint64            { return uint64(e) & (1<<32 - 1) }
func (e extent) end() uint64              { return uint64(e) >> 32 }

// unitsOf returns how many units n bytes take. Even nothing takes one, so that
// each block has an offset of its own.
func unitsOf(n int) uint64 { return (uint64(max(n, 1)) + blockBytes - 1) / blockBytes }

// NewArena returns an Arena over the offsets from 0 to maximum, where one value may
// have perValue bytes. It starts with a limit of initial bytes: see [Arena.Limit].
// maximum is from 64 bytes to 4 GiB, and what it has over a multiple of 64 is not
// used. The other two are at least 1 and at most that.
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

// Alloc takes a block of at least n bytes and returns its offset, a multiple of
// 64. It never blocks. It returns [ErrPayloadTooLarge] when n is more than one
// value may have, and [ErrArenaFull] when there is no gap of that size, or when none
// of the 40 entries was free: of those that are not of live blocks, each was in the
// hands of an Alloc or a Free that ran at the same time. It has then taken nothing. It
// panics when n is negative.
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
			if arenaWord(a.word.Load()) == w { // else the look may have mixed what was with what is
				return 0, ErrArenaFull
			}
			continue
		}
		e := makeExtent(start, start+size)
		if !a.blocks[i].CompareAndSwap(0, uint64(e)) { // E3, I3
			continue // another Alloc was faster
		}
		if a.word.CompareAndSwap(uint64(w), uint64(w.set(i))) { // E1, I2
			a.raiseHighWater(e.end())
			return uint32(start * blockBytes), nil
		}
		a.blocks[i].Store(0) // another Alloc or a Free came between: look again
	}
}

// fit returns the lowest place for size units among the live entries, and the entry
// of the block in front of it, or 0. The place may end outside the arena. Each
// round moves it behind a block that is in the way, and so the rounds end.
func (a *Arena) fit(live, size uint64) (at uint64, front int) {
	for moved := true; moved && at+size <= a.units; {
		moved = false
		for m := live; m != 0; m &= m - 1 {
			i := bits.TrailingZeros64(m)
			e := a.extent(i)
			if e.start() >= at+size {
				continue
			}
			live &^= m & -m // it is behind now, for good: at only growths
			if e.end() > at {
				at, front, moved = e.end(), i, true
			}
		}
	}
	return at, front
}

// vacant returns an entry that has no owner, or -1: behind front if there is one
// there. Most entries then are in the order of their blocks, and fit needs two or
// three rounds, not one for each time that the next block has a lower entry.
func (a *Arena) vacant(w arenaWord, front int) int {
	for i := range arenaBlocks {
		if i = (front + i) % arenaBlocks; !w.has(i) && a.extent(i) == 0 {
			return i
		}
	}
	return -1
}

func (a *Arena) extent(i int) extent { return extent(a.blocks[i].Load()) }

// raise makes high at least end.
func (a *Arena) raiseHighWater(end uint64) {
	for {
		h := a.highWater.Load()
		if h >= end || a.highWater.CompareAndSwap(h, end) {
			return
		}
	}
}

// find returns the entry of the live block at an offset, or -1. The caller owns
// that block, so its entry is among those that match. Another one matches when its
// block was freed since the load, and an Alloc with an old word has filled it.
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

// Shrink gives back what lies behind the first n bytes of the block at off, in
// whole units of 64 bytes; at least one stays. Only the owner of the block may
// call it. It never blocks. It panics when there is no block at off, or it is
// smaller.
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

// Free gives back the block at off. Only its owner may call it, and has no block
// then. It never blocks. It panics when there is no block at off.
func (a *Arena) Free(off uint32) {
	i := a.find(off)
	if i < 0 {
		panic("transport: Arena.Free: no block at this offset")
	}
	a.word.And(^(uint64(1) << i)) // E2, I3
	a.blocks[i].Store(0)          // E3
}

// Reset makes the arena as new. Nobody else may use it meanwhile, and no block of
// before may be used after.
func (a *Arena) Reset() {
	for i := range a.blocks {
		a.blocks[i].Store(0)
	}
	a.highWater.Store(0)
	a.word.Store(0)
}

// Limit returns how many bytes, from offset 0, the arena has used or may use
// before it growths: initial at first. When no gap below the limit is large enough
// the limit doubles, up to the maximum. It never comes down.
func (a *Arena) Limit() int {
	limit, _ := a.growth()
	return limit
}

// Growths returns how often the limit has doubled.
func (a *Arena) Growths() int {
	_, growths := a.growth()
	return growths
}

// growth follows from high alone: blocks lie as low as they can.
func (a *Arena) growth() (limit, growths int) {
	for limit = a.initial; limit < a.HighWater(); growths++ {
		limit += min(limit, int(a.units*blockBytes)-limit)
	}
	return limit, growths
}

// HighWater returns how many bytes, from offset 0, any block has reached.
func (a *Arena) HighWater() int { return int(a.highWater.Load() * blockBytes) }

// InUse returns how many bytes the live blocks have. While others use the arena it
// is a guess.
func (a *Arena) InUse() int {
	var n uint64
	for m := arenaWord(a.word.Load()).live(); m != 0; m &= m - 1 {
		e := a.extent(bits.TrailingZeros64(m))
		n += e.end() - e.start()
	}
	return int(n * blockBytes)
}
