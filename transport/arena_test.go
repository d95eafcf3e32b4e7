package transport_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

const (
	unit = 64
	mib  = 1 << 20
)

// newArena returns an arena of that many units. One value may have all of them.
func newArena(tb testing.TB, units int) *transport.Arena {
	tb.Helper()
	a, err := transport.NewArena(unit, units*unit, units*unit)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// wantAlloc fails unless Alloc places a block of n units at unit at.
func wantAlloc(tb testing.TB, a *transport.Arena, n, at int) (off uint32) {
	tb.Helper()
	off, err := a.Alloc(n * unit)
	if err != nil || off != uint32(at*unit) {
		tb.Fatalf("Alloc(%d units) = %d, %v, want %d", n, off, err, at*unit)
	}
	return off
}

// wantFull fails unless the arena has no gap of n units.
func wantFull(tb testing.TB, a *transport.Arena, n int) {
	tb.Helper()
	if off, err := a.Alloc(n * unit); err != transport.ErrArenaFull {
		tb.Fatalf("Alloc(%d units) = %d, %v, want %v", n, off, err, transport.ErrArenaFull)
	}
}

// wantUse fails unless the counters of a have these values, in bytes.
func wantUse(tb testing.TB, a *transport.Arena, inUse, high, limit, growths int) {
	tb.Helper()
	if a.InUse() != inUse || a.HighWater() != high || a.Limit() != limit || a.Growths() != growths {
		tb.Fatalf("InUse, HighWater, Limit, Growths = %d, %d, %d, %d, want %d, %d, %d, %d",
			a.InUse(), a.HighWater(), a.Limit(), a.Growths(), inUse, high, limit, growths)
	}
}

// TestArenaConfig checks that NewArena refuses sizes that are not valid. K-139.
func TestArenaConfig(t *testing.T) {
	for _, tc := range []struct {
		name                       string
		initial, maximum, perValue int
		ok                         bool
	}{
		{"default", 4 * mib, 64 * mib, 8 * mib, true},
		{"smallest", 1, unit, 1, true},
		{"one value may have all", unit, 1024, 1024, true},
		{"max is no multiple of 64", 128, 191, 128, true},
		{"no max", 64, 0, 64, false},
		{"max below a unit", 1, 63, 1, false},
		{"negative max", 64, -64, 64, false},
		{"no initial", 0, 1024, 64, false},
		{"negative initial", -1, 1024, 64, false},
		{"initial above max", 1088, 1024, 64, false},
		{"no value", 64, 1024, 0, false},
		{"negative value", 64, 1024, math.MinInt, false},
		{"value above max", 64, 1024, 1025, false},
		{"value in the part that is not used", 64, 127, 65, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, err := transport.NewArena(tc.initial, tc.maximum, tc.perValue)
			if (err == nil) != tc.ok || (a != nil) != tc.ok {
				t.Errorf("NewArena = %v, %v, want ok = %v", a, err, tc.ok)
			}
		})
	}
	if math.MaxInt > math.MaxInt32 {
		huge := int64(1) << 32 // a constant would not build for 32 bits
		if _, err := transport.NewArena(64, int(huge), 64); err != nil {
			t.Errorf("4 GiB: %v", err)
		}
		if _, err := transport.NewArena(64, int(huge+1), 64); err == nil {
			t.Error("more than 4 GiB is no error")
		}
	}
}

// TestArenaPayloadTooLarge checks that a value of the longest length is accepted. One
// byte more is refused before any block is taken, and the arena works as before. K-139.
// V-08.
func TestArenaPayloadTooLarge(t *testing.T) {
	for _, longest := range []int{1, 63, 64, 65, 1000, 8 * mib} {
		a, err := transport.NewArena(4*mib, 64*mib, longest)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{longest + 1, longest + 64, math.MaxInt} {
			if _, err := a.Alloc(n); err != transport.ErrPayloadTooLarge {
				t.Errorf("Alloc(%d) with a limit of %d: %v", n, longest, err)
			}
			wantUse(t, a, 0, 0, 4*mib, 0)
		}
		for _, n := range []int{longest, longest - 1} {
			off, err := a.Alloc(n)
			if off != 0 || err != nil {
				t.Errorf("Alloc(%d) with a limit of %d = %d, %v", n, longest, off, err)
			}
			a.Free(off)
		}
	}
}

// TestArenaUnits checks that a block consists of one or more whole units of 64 bytes.
// K-140.
func TestArenaUnits(t *testing.T) {
	for _, tc := range []struct{ n, bytes int }{
		{0, 64}, {1, 64}, {63, 64}, {64, 64}, {65, 128}, {128, 128}, {129, 192}, {1024, 1024},
	} {
		a := newArena(t, 100)
		if _, err := a.Alloc(tc.n); err != nil {
			t.Fatal(err)
		}
		if got := a.InUse(); got != tc.bytes {
			t.Errorf("a block of %d bytes takes %d, want %d", tc.n, got, tc.bytes)
		}
		wantAlloc(t, a, 1, tc.bytes/unit)
	}
}

// TestArenaGaps checks that a block goes into a gap before it goes behind the last
// block. The gap is at the front, in the middle or at the end, or there are several
// gaps. An arena that has become empty begins at 0. K-140.
func TestArenaGaps(t *testing.T) {
	for _, tc := range []struct {
		name  string
		free  []int // of five blocks of 2 units
		alloc [][2]int
	}{
		{"front", []int{0}, [][2]int{{2, 0}, {2, 10}}},
		{"middle", []int{2}, [][2]int{{3, 10}, {1, 4}, {1, 5}}},
		{"end", []int{4}, [][2]int{{2, 8}, {1, 10}}},
		{"several", []int{3, 1}, [][2]int{{2, 2}, {2, 6}, {2, 10}}},
		{"two that touch", []int{1, 2}, [][2]int{{4, 2}, {1, 10}}},
		{"two that touch, the other way", []int{2, 1}, [][2]int{{3, 2}, {2, 10}, {1, 5}}},
		{"the first that is large enough", []int{0, 2, 3}, [][2]int{{3, 4}, {1, 0}, {1, 1}, {1, 7}}},
		{"all", []int{4, 1, 0, 3, 2}, [][2]int{{7, 0}, {1, 7}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newArena(t, 100)
			for i := range 5 {
				wantAlloc(t, a, 2, 2*i)
			}
			for _, i := range tc.free {
				a.Free(uint32(2 * i * unit))
			}
			for _, block := range tc.alloc {
				wantAlloc(t, a, block[0], block[1])
			}
		})
	}
}

// TestArenaShrink checks that the units that a block gives back serve the next block.
// K-140.
func TestArenaShrink(t *testing.T) {
	a := newArena(t, 8)
	off := wantAlloc(t, a, 8, 0)
	wantFull(t, a, 1)
	a.Shrink(off, 8*unit) // all of it
	wantFull(t, a, 1)
	a.Shrink(off, 7*unit+1)
	wantFull(t, a, 1)
	a.Shrink(off, 7*unit)
	wantAlloc(t, a, 1, 7)
	a.Shrink(off, 65)
	wantUse(t, a, 3*unit, 8*unit, 8*unit, 3)
	wantAlloc(t, a, 5, 2)
	wantFull(t, a, 1)
	a.Shrink(off, 0) // a unit stays
	wantAlloc(t, a, 1, 1)
	wantFull(t, a, 1)
}

// TestArenaHighOffsets checks that offsets beyond 2^31 work like lower ones. K-140.
func TestArenaHighOffsets(t *testing.T) {
	size := int64(1) << 32
	if int64(int(size)) != size {
		t.Skip("sizes have 32 bits")
	}
	value := int(size / 8)
	a, err := transport.NewArena(4*mib, int(size), value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		if off, err := a.Alloc(value); off != uint32(i*value) || err != nil {
			t.Fatalf("Alloc = %d, %v, want %d", off, err, i*value)
		}
	}
	last := uint32(size - 64)
	if off, err := a.Alloc(value - 64); off != uint32(7*value) || err != nil {
		t.Fatalf("Alloc = %d, %v", off, err)
	}
	if off, err := a.Alloc(1); off != last || err != nil {
		t.Fatalf("the last unit: Alloc = %d, %v, want %d", off, err, last)
	}
	wantUse(t, a, int(size), int(size), int(size), 10)
	if _, err := a.Alloc(1); err != transport.ErrArenaFull {
		t.Fatalf("Alloc in a full arena: %v", err)
	}
	a.Shrink(uint32(5*value), 64)
	if off, err := a.Alloc(1); off != uint32(5*value+64) || err != nil {
		t.Fatalf("behind a block that was shrunk: Alloc = %d, %v", off, err)
	}
	a.Free(last)
	if off, err := a.Alloc(2 * 64); off != uint32(5*value+128) || err != nil {
		t.Fatalf("Alloc = %d, %v", off, err)
	}
}

// TestArenaGrowth checks that the limit begins at 4 MiB. It doubles up to 64 MiB when
// no gap below it is large enough, and it does not decrease. K-055, K-056, K-057,
// K-112, K-115.
func TestArenaGrowth(t *testing.T) {
	a, err := transport.NewArena(4*mib, 64*mib, 8*mib)
	if err != nil {
		t.Fatal(err)
	}
	alloc := func(n int, want error) (off uint32) {
		t.Helper()
		off, err := a.Alloc(n)
		if err != want {
			t.Fatalf("Alloc(%d) = %d, %v, want %v", n, off, err, want)
		}
		return off
	}
	wantUse(t, a, 0, 0, 4*mib, 0)
	alloc(3*mib, nil)
	first := alloc(1*mib, nil)
	wantUse(t, a, 4*mib, 4*mib, 4*mib, 0)
	a.Free(first)
	alloc(1*mib, nil) // a gap is used before the arena grows
	wantUse(t, a, 4*mib, 4*mib, 4*mib, 0)
	last := alloc(1, nil)
	wantUse(t, a, 4*mib+64, 4*mib+64, 8*mib, 1)
	a.Free(last)
	wantUse(t, a, 4*mib, 4*mib+64, 8*mib, 1)
	for range 7 {
		alloc(8*mib, nil)
	}
	wantUse(t, a, 60*mib, 60*mib, 64*mib, 4)
	alloc(8*mib, transport.ErrArenaFull)
	alloc(4*mib+1, transport.ErrArenaFull)
	alloc(4*mib, nil)
	alloc(1, transport.ErrArenaFull)
	wantUse(t, a, 64*mib, 64*mib, 64*mib, 4)
	a.Free(0)
	alloc(3*mib, nil)
	a.Reset()
	wantUse(t, a, 0, 0, 4*mib, 0)
	if off := alloc(1, nil); off != 0 {
		t.Errorf("the first block after Reset is at %d", off)
	}

	odd, err := transport.NewArena(100, 1000, 960)
	if err != nil {
		t.Fatal(err)
	}
	wantUse(t, odd, 0, 0, 100, 0)
	wantAlloc(t, odd, 2, 0)
	wantUse(t, odd, 128, 128, 200, 1)
	wantAlloc(t, odd, 13, 2)
	wantUse(t, odd, 960, 960, 960, 4) // the rest after the last multiple of 64 is not used
	wantFull(t, odd, 1)
}

// TestArenaBlocks checks that at most 40 blocks are live and that an entry is reused.
// K-140.
func TestArenaBlocks(t *testing.T) {
	a := newArena(t, 100)
	for i := range transport.ArenaBlocks {
		wantAlloc(t, a, 1, i)
	}
	wantFull(t, a, 1)
	for _, i := range []int{transport.ArenaBlocks - 1, 0, 17} {
		a.Free(uint32(i * unit))
		wantAlloc(t, a, 1, i)
		wantFull(t, a, 1)
	}
	for i := range transport.ArenaBlocks {
		a.Free(uint32(i * unit))
	}
	wantAlloc(t, a, 100, 0)
}

// TestArenaMisuse checks that a call panics and changes nothing if the owner of a block
// may not make it.
func TestArenaMisuse(t *testing.T) {
	const none = "transport: Arena.Free: no block at this offset"
	a := newArena(t, 100)
	wantPanic(t, none, func() { a.Free(0) })
	wantPanic(t, "transport: Arena.Alloc: negative size", func() { a.Alloc(-1) })
	wantAlloc(t, a, 1, 0)
	off := wantAlloc(t, a, 3, 1)
	for _, off := range []uint32{off + 1, off + unit, off + 3*unit, math.MaxUint32} {
		wantPanic(t, none, func() { a.Free(off) })
		wantPanic(t, "transport: Arena.Shrink: no block at this offset", func() { a.Shrink(off, 1) })
	}
	for _, n := range []int{-1, math.MinInt, 3*unit + 1, math.MaxInt} {
		wantPanic(t, "transport: Arena.Shrink: the block is smaller", func() { a.Shrink(off, n) })
	}
	wantUse(t, a, 4*unit, 4*unit, 4*unit, 2)
	a.Free(off)
	wantPanic(t, none, func() { a.Free(off) })
	wantAlloc(t, a, 3, 1)
}

// arenaModel is an arena as a list of units. Each unit holds the number of its block or
// 0.
type arenaModel struct {
	units  []int
	blocks int // live
	made   int
	high   int
}

// fit returns the lowest unit at which n free units begin, or -1.
func (m *arenaModel) fit(n int) int {
	for at := 0; at+n <= len(m.units); at++ {
		if !slices.ContainsFunc(m.units[at:at+n], func(id int) bool { return id != 0 }) {
			return at
		}
	}
	return -1
}

// alloc takes n units from unit at on. It returns the number of the block.
func (m *arenaModel) alloc(at, n int) int {
	m.made++
	m.blocks++
	for i := at; i < at+n; i++ {
		m.units[i] = m.made
	}
	m.high = max(m.high, at+n)
	return m.made
}

// cut frees the units of a block from unit at on.
func (m *arenaModel) cut(id, at int) {
	for i := range m.units {
		if m.units[i] == id && i >= at {
			m.units[i] = 0
		}
	}
}

func (m *arenaModel) inUse() (n int) {
	for _, id := range m.units {
		if id != 0 {
			n++
		}
	}
	return n
}

// TestArenaMachine compares an arena with a list of its units. Each block is at the
// lowest offset where it fits, and it overlaps no other block. K-140.
func TestArenaMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 5, 32, 200}).Draw(t, "units")
		perValue := rapid.IntRange(1, size*unit).Draw(t, "perValue")
		a, err := transport.NewArena(unit, size*unit, perValue)
		if err != nil {
			t.Fatal(err)
		}
		transport.StartArena(a, transport.ArenaWrap-rapid.Uint64Range(1, 5).Draw(t, "allocs before the wrap"))
		m := arenaModel{units: make([]int, size)}
		type block struct{ id, at, units int }
		var live []block
		pick := func(t *rapid.T) int {
			if len(live) == 0 {
				t.Skip("nothing is live")
			}
			return rapid.IntRange(0, len(live)-1).Draw(t, "block")
		}
		alloc := func(t *rapid.T, n int) {
			units := max(1, (n+unit-1)/unit)
			at := m.fit(units)
			off, err := a.Alloc(n)
			switch {
			case n > perValue:
				if err != transport.ErrPayloadTooLarge {
					t.Fatalf("Alloc(%d) with a limit of %d: %v", n, perValue, err)
				}
			case at < 0 || m.blocks == transport.ArenaBlocks:
				if err != transport.ErrArenaFull {
					t.Fatalf("Alloc(%d) with %d blocks in %v: %d, %v", n, m.blocks, m.units, off, err)
				}
			default:
				if err != nil || off != uint32(at*unit) {
					t.Fatalf("Alloc(%d) = %d, %v, want %d", n, off, err, at*unit)
				}
				live = append(live, block{m.alloc(at, units), at, units})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc":       func(t *rapid.T) { alloc(t, rapid.IntRange(0, perValue+unit).Draw(t, "n")) },
			"alloc a bit": func(t *rapid.T) { alloc(t, rapid.IntRange(0, 3*unit).Draw(t, "n")) },
			"free": func(t *rapid.T) {
				i := pick(t)
				a.Free(uint32(live[i].at * unit))
				m.cut(live[i].id, 0)
				m.blocks--
				live = slices.Delete(live, i, i+1)
			},
			"shrink": func(t *rapid.T) {
				b := &live[pick(t)]
				n := rapid.IntRange(0, b.units*unit).Draw(t, "n")
				a.Shrink(uint32(b.at*unit), n)
				b.units = max(1, (n+unit-1)/unit)
				m.cut(b.id, b.at+b.units)
			},
			"reset": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") != 0 {
					t.Skip()
				}
				a.Reset()
				m, live = arenaModel{units: make([]int, size)}, nil
			},
			"": func(t *rapid.T) {
				limit, growths := unit, 0
				for ; limit < m.high*unit; growths++ {
					limit = min(2*limit, size*unit)
				}
				if a.InUse() != m.inUse()*unit || a.HighWater() != m.high*unit || a.Limit() != limit || a.Growths() != growths {
					t.Fatalf("InUse, HighWater, Limit, Growths = %d, %d, %d, %d, want %d, %d, %d, %d units",
						a.InUse(), a.HighWater(), a.Limit(), a.Growths(), m.inUse(), m.high, limit, growths)
				}
			},
		})
	})
}

// TestArenaPressure checks that a small arena serves any number of blocks in the order
// in which a mailbox allocates and frees them. K-140.
func TestArenaPressure(t *testing.T) {
	rng := newRand(t)(0)
	a := newArena(t, 64)
	var queued []uint32
	full := 0
	for range rounds(100_000) {
		off, err := a.Alloc(rng.IntN(12 * unit))
		if err == nil {
			queued = append(queued, off)
			continue
		}
		full++
		k := 1 + rng.IntN(len(queued)) // no block is larger than an empty arena
		for _, off := range queued[:k] {
			a.Free(off)
		}
		queued = queued[k:]
	}
	for _, off := range queued {
		a.Free(off)
	}
	if full == 0 {
		t.Error("it was never full")
	}
	wantAlloc(t, a, 64, 0)
}
