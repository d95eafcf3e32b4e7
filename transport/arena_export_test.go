package transport

// ArenaBlocks is how many blocks an Arena holds.
const ArenaBlocks = arenaBlocks

// ArenaWrap is how many Allocs it takes for the count in the word to wrap.
const ArenaWrap = 1 << (64 - arenaBlocks)

// StartArena makes a new arena count on from allocs.
func StartArena(a *Arena, allocs uint64) { a.word.Store(allocs << arenaBlocks) }

// ArenaOwned returns how many entries of a have an owner.
func ArenaOwned(a *Arena) (n int) {
	for i := range a.blocks {
		if a.extent(i) != 0 {
			n++
		}
	}
	return n
}

// PutBlock makes a live block of the units from start to end-1 in an entry that has
// no owner, and returns its offset.
func PutBlock(a *Arena, entry int, start, end uint64) (off uint32) {
	a.blocks[entry].Store(uint64(makeExtent(start, end)))
	a.word.Store(uint64(arenaWord(a.word.Load()).set(entry)))
	return uint32(start * blockBytes)
}

// FailAlloc does what an Alloc does that found an entry and a place before others got
// both: it fills the entry if that has no owner now, and then its CAS of word fails.
func FailAlloc(a *Arena, entry int, start, end uint64) {
	if a.blocks[entry].CompareAndSwap(0, uint64(makeExtent(start, end))) {
		if a.word.CompareAndSwap(^uint64(0), 0) {
			panic("all blocks are live")
		}
		a.blocks[entry].Store(0)
	}
}
