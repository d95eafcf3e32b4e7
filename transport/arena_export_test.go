package transport

// ArenaBlocks is the number of blocks that an Arena holds.
const ArenaBlocks = arenaBlocks

// ArenaWrap is the number of Allocs after which the count in the word wraps.
const ArenaWrap = 1 << (64 - arenaBlocks)

// StartArena sets the count of Allocs of a new arena.
func StartArena(a *Arena, allocs uint64) { a.word.Store(allocs << arenaBlocks) }

// ArenaOwned returns the number of entries of a that have an owner.
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

// FailAlloc performs the steps of an Alloc whose scan is stale. It fills the entry if
// that has no owner now. Then its CAS of word fails.
func FailAlloc(a *Arena, entry int, start, end uint64) {
	if a.blocks[entry].CompareAndSwap(0, uint64(makeExtent(start, end))) {
		if a.word.CompareAndSwap(^uint64(0), 0) {
			panic("all blocks are live")
		}
		a.blocks[entry].Store(0)
	}
}
