//go:build interleave

package transport_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/transport"
)

// memoryModel bounds the models of the memory of a Link to n preemptions. With -short
// the bound is one less.
func memoryModel(n int) interleave.Options {
	if testing.Short() {
		n--
	}
	return interleave.Options{Preemptions: n, Budget: 2 * time.Minute}
}

// arenaState is an arena and its memory, with a cell for each unit. The explorer checks
// that accesses to a unit are ordered. This finds an overlap of two blocks.
type arenaState struct {
	m     *interleave.M
	a     *transport.Arena
	units []atomix.Cell[int]
}

func newArenaState(m *interleave.M, units int) *arenaState {
	a, err := transport.NewArena(unit, units*unit, units*unit)
	if err != nil {
		m.Fatalf("%v", err)
	}
	return &arenaState{m, a, make([]atomix.Cell[int], units)}
}

// alloc takes n units and stamps them.
func (s *arenaState) alloc(n, stamp int) (off uint32, ok bool) {
	off, err := s.a.Alloc(n * unit)
	if err != nil {
		return 0, false
	}
	for i := range n {
		s.units[int(off)/unit+i].Set(stamp)
	}
	return off, true
}

// must is alloc for an arena with enough space.
func (s *arenaState) must(n, stamp int) uint32 {
	off, ok := s.alloc(n, stamp)
	if !ok {
		s.m.Fatalf("no block of %d units, with %d bytes in use", n, s.a.InUse())
	}
	return off
}

// free checks the stamps and frees the block.
func (s *arenaState) free(off uint32, n, stamp int) {
	for i := range n {
		if got := s.units[int(off)/unit+i].Get(); got != stamp {
			s.m.Fatalf("unit %d of the block at %d has the stamp %d, want %d", i, off, got, stamp)
		}
	}
	s.a.Free(off)
}

// empty checks that the whole arena and every entry are free.
func (s *arenaState) empty() {
	if n := transport.ArenaOwned(s.a); n != 0 {
		s.m.Fatalf("%d entries have an owner at the end", n)
	}
	if off, err := s.a.Alloc(len(s.units) * unit); err != nil || off != 0 {
		s.m.Fatalf("the arena is not empty at the end: %d, %v, %d bytes in use", off, err, s.a.InUse())
	}
}

// TestModelArena runs two allocators with a goroutine that frees the block of a third
// one. No two blocks overlap, and each block is free before it is used again. No Alloc
// fails while there is a gap. K-140.
func TestModelArena(t *testing.T) {
	interleave.Check(t, "arena", memoryModel(3), func(m *interleave.M) {
		s := newArenaState(m, 3)
		old := s.must(1, 1)
		for stamp := 2; stamp <= 3; stamp++ {
			m.Go("allocator", func() { s.free(s.must(1, stamp), 1, stamp) })
		}
		m.Go("free", func() { s.free(old, 1, 1) })
		m.Final(s.empty)
	})
	interleave.Check(t, "arena-sizes", memoryModel(3), func(m *interleave.M) {
		s := newArenaState(m, 4)
		old := s.must(2, 1)
		for stamp := 2; stamp <= 3; stamp++ {
			m.Go("allocator", func() {
				if off, ok := s.alloc(stamp, stamp); ok { // 2, 2 and 3 do not fit together
					s.a.Shrink(off, unit)
					s.free(off, 1, stamp)
				}
			})
		}
		m.Go("free", func() { s.free(old, 2, 1) })
		m.Final(s.empty)
	})
	interleave.Check(t, "arena-aba", memoryModel(3), func(m *interleave.M) {
		s := newArenaState(m, 3)
		old := s.must(1, 1)
		m.Go("allocator", func() { s.free(s.must(1, 2), 1, 2) })
		m.Go("longer", func() { // has the entry and the live bit of the old block
			s.free(old, 1, 1)
			if off, ok := s.alloc(2, 3); ok {
				s.free(off, 2, 3)
			}
		})
		m.Final(s.empty)
	})
}

// TestModelArenaFull checks that Alloc reports a full arena only if there was a moment
// without a gap. Here there always is a gap. It is next to a block that moves from one
// end to the other, or next to an entry that another Alloc fills with an extent that it
// does not get. K-140.
func TestModelArenaFull(t *testing.T) {
	interleave.Check(t, "arena-full", memoryModel(3), func(m *interleave.M) {
		s := newArenaState(m, 4)
		var blocks [4]uint32
		for i := range blocks {
			blocks[i] = s.must(1, 1)
		}
		s.free(blocks[3], 1, 1)
		m.Go("mover", func() {
			s.free(blocks[0], 1, 1)
			s.free(s.must(1, 2), 1, 2)
		})
		m.Go("allocator", func() { s.free(s.must(1, 3), 1, 3) })
		m.Final(func() {
			s.free(blocks[1], 1, 1)
			s.free(blocks[2], 1, 1)
			s.empty()
		})
	})
	o := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "arena-full-stale-scan", o, func(m *interleave.M) {
		s := newArenaState(m, 3)
		first := transport.PutBlock(s.a, 0, 0, 1)
		second := transport.PutBlock(s.a, 1, 1, 2)
		m.Go("old", func() { transport.FailAlloc(s.a, 1, 1, 3) })
		m.Go("second", func() { s.a.Free(second) })
		m.Go("allocator", func() { s.free(s.must(1, 1), 1, 1) })
		m.Final(func() {
			s.a.Free(first)
			s.empty()
		})
	})
}

// TestModelArenaEntries checks that an Alloc finds an entry unless all of them are in
// use. A live block has one entry, and so has a concurrent Alloc or Free. A Free that
// has returned has no entry. A Free in progress may have the last one. K-140.
func TestModelArenaEntries(t *testing.T) {
	model := func(live int, refusable bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			s := newArenaState(m, 64)
			for i := range live {
				transport.PutBlock(s.a, i, uint64(i), uint64(i+1))
			}
			var returned atomix.Uint32
			m.Go("free", func() {
				s.a.Free(0)
				returned.Store(1)
			})
			m.Go("allocator", func() {
				for range 2 {
					freed := returned.Load() != 0
					if _, err := s.a.Alloc(1); err != nil && (freed || !refusable) {
						m.Fatalf("%v, with %d of %d blocks live, freed = %v", err, s.a.InUse()/unit, transport.ArenaBlocks, freed)
					}
				}
			})
			m.Final(func() { // no operation is in progress: only live blocks count
				for range transport.ArenaBlocks - s.a.InUse()/unit {
					s.must(1, 1)
				}
				if _, err := s.a.Alloc(1); err != transport.ErrArenaFull {
					m.Fatalf("one block more than %d: %v", transport.ArenaBlocks, err)
				}
			})
		}
	}
	interleave.Check(t, "arena-entries", memoryModel(3), model(transport.ArenaBlocks-2, false))
	interleave.Check(t, "arena-entries-last", memoryModel(3), model(transport.ArenaBlocks-1, true))
}

// TestModelArenaStaleScan lets an Alloc with a stale scan fill an entry with the extent
// that another block has now. That entry belonged to a third block when the owner of
// the other block began its search. Each Free and each Shrink finds its own entry.
// K-140.
func TestModelArenaStaleScan(t *testing.T) {
	model := func(use func(a *transport.Arena, off uint32), inUse int) func(m *interleave.M) {
		return func(m *interleave.M) {
			s := newArenaState(m, 5)
			third := transport.PutBlock(s.a, 1, 2, 5)
			other := transport.PutBlock(s.a, 2, 0, 2)
			m.Go("old", func() { transport.FailAlloc(s.a, 1, 0, 1) })
			m.Go("third", func() { s.a.Free(third) })
			m.Go("other", func() { use(s.a, other) })
			m.Final(func() {
				if n := s.a.InUse(); n != inUse {
					m.Fatalf("%d bytes are in use, want %d", n, inUse)
				}
				if inUse > 0 {
					s.a.Free(other)
				}
				s.empty()
			})
		}
	}
	o := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "arena-stale-scan-free", o, model((*transport.Arena).Free, 0))
	interleave.Check(t, "arena-stale-scan-shrink", o, model(func(a *transport.Arena, off uint32) { a.Shrink(off, unit) }, unit))
	const mark = "transport: Arena: two entries with one offset"
	if invariant.Enabled && invariant.Count(mark) == 0 {
		t.Errorf("the model never reached %q", mark)
	}
}

// TestModelArenaCrash checks that a goroutine that stops for ever at any step of an
// Alloc or Free makes at most that block unavailable. No other goroutine waits for it.
// K-140.
func TestModelArenaCrash(t *testing.T) {
	o := memoryModel(3)
	o.Crash = "crasher"
	interleave.Check(t, "arena-crash", o, func(m *interleave.M) {
		s := newArenaState(m, 2)
		m.Go("crasher", func() { s.free(s.must(1, 1), 1, 1) })
		m.Go("allocator", func() {
			for stamp := 2; stamp <= 3; stamp++ {
				s.free(s.must(1, stamp), 1, stamp)
			}
		})
	})
}
