package fuzz_test

import (
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// arenaPair is an arena and its model. The model has the blocks as intervals of units.
type arenaPair struct {
	a        *transport.Arena
	units    int
	perValue int // bytes
	live     []interval
	high     int
}

// interval is a block: the units from start to end-1.
type interval struct{ start, end int }

const (
	arenaUnit   = 64
	arenaBlocks = 40 // the most live blocks
)

// fit returns the lowest start from which n units overlap no block.
func (p *arenaPair) fit(n int) int {
	at := 0
	for again := true; again; {
		again = false
		for _, b := range p.live {
			if b.start < at+n && at < b.end {
				at, again = b.end, true
			}
		}
	}
	return at
}

func (p *arenaPair) alloc(t *testing.T, n int) {
	t.Helper()
	size := max(1, (n+arenaUnit-1)/arenaUnit)
	at := p.fit(size)
	off, err := p.a.Alloc(n)
	switch {
	case n > p.perValue:
		want(t, "Alloc: too large", err, transport.ErrPayloadTooLarge)
	case at+size > p.units || len(p.live) == arenaBlocks:
		want(t, "Alloc: full", err, transport.ErrArenaFull)
	default:
		want(t, "Alloc: error", err, nil)
		want(t, "Alloc: offset", int(off), at*arenaUnit)
		p.live = append(p.live, interval{at, at + size})
		p.high = max(p.high, at+size)
	}
}

func (p *arenaPair) free(i int) {
	p.a.Free(uint32(p.live[i].start * arenaUnit))
	p.live[i] = p.live[len(p.live)-1]
	p.live = p.live[:len(p.live)-1]
}

// shrink keeps n bytes of a block.
func (p *arenaPair) shrink(i, n int) {
	b := &p.live[i]
	p.a.Shrink(uint32(b.start*arenaUnit), n)
	b.end = b.start + max(1, (n+arenaUnit-1)/arenaUnit)
}

// FuzzArena runs traces that allocate, shrink and free blocks of an arena. Each block
// is at the lowest start where it fits, and no block overlaps another. A refused
// allocation leaves the arena unchanged. K-139, K-140.
func FuzzArena(f *testing.F) {
	f.Add(uint16(0), uint16(0), []byte{0, 1, 0, 2, 0})
	f.Add(uint16(9), uint16(300), []byte{0, 64, 0, 65, 0, 1, 1, 0, 0, 130, 3, 1, 40, 1, 0, 0, 255})                   // gaps, and a block that shrinks
	f.Add(uint16(63), uint16(4000), []byte{2, 255, 2, 255, 2, 255, 2, 255, 1, 1, 2, 100, 1, 0, 1, 0, 1, 0, 2, 255})   // full, and empty again
	f.Add(uint16(99), uint16(64), []byte{4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 1, 17, 0, 1, 0, 1, 5, 1, 7, 0, 9, 0, 0}) // more blocks than the arena holds
	f.Add(uint16(1023), uint16(65_535), []byte{0, 200, 0, 0, 3, 0, 7, 1, 1, 2, 255, 6, 0, 0, 0})                      // a reset
	f.Fuzz(func(t *testing.T, units, perValue uint16, input []byte) {
		p := arenaPair{units: 1 + int(units)%1024}
		p.perValue = 1 + int(perValue)%(p.units*arenaUnit)
		a, err := transport.NewArena(arenaUnit, p.units*arenaUnit, p.perValue)
		if err != nil {
			t.Fatal(err)
		}
		p.a = a
		tr := trace(input)
		tr.steps(func() {
			switch op := tr.below(8); op {
			case 0: // a block of some bytes
				p.alloc(t, int(tr.uint16())%(p.perValue+arenaUnit))
			case 1, 5:
				if len(p.live) > 0 {
					p.free(tr.below(len(p.live)))
				}
			case 2: // a fraction of the largest value
				p.alloc(t, p.perValue*(1+int(tr.byte()))/256)
			case 3:
				if len(p.live) > 0 {
					i := tr.below(len(p.live))
					p.shrink(i, tr.below(1+(p.live[i].end-p.live[i].start)*arenaUnit))
				}
			case 4: // several small blocks
				n := 1 + tr.below(4*arenaUnit)
				for range 7 {
					p.alloc(t, n)
				}
			case 6:
				if tr.byte() == 0 {
					p.a.Reset()
					p.live, p.high = nil, 0
				}
			case 7: // too large
				p.alloc(t, p.perValue+1+tr.below(256))
			}
			inUse, limit, grows := 0, arenaUnit, 0
			for _, b := range p.live {
				inUse += b.end - b.start
			}
			for ; limit < p.high*arenaUnit; grows++ {
				limit = min(2*limit, p.units*arenaUnit)
			}
			want(t, "InUse", p.a.InUse(), inUse*arenaUnit)
			want(t, "HighWater", p.a.HighWater(), p.high*arenaUnit)
			want(t, "Limit", p.a.Limit(), limit)
			want(t, "Growths", p.a.Growths(), grows)
		})
		for len(p.live) > 0 {
			p.free(0)
		}
		want(t, "InUse at the end", p.a.InUse(), 0)
		p.alloc(t, 1)
	})
}
