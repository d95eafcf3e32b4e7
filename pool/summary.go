package pool

import (
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
)

// summary finds a lane that is available in a time that hardly depends on the number of lanes. A
// lane is available while its pick and a permit are free and it may take calls of the pool. The
// summary has a bit for each lane. The bits are a lazy superset. A goroutine that takes a lane
// leaves the bit as it is.
//
// Roles:
//
//	returner  has made a lane available. It marks the bit if that is clear. Then it looks again whether
//	          calls wait
//	searcher  looks for an available lane. It clears the bit of a lane that is not available, and looks at
//	          that lane again
//
// Invariant:
//
//	I1  while a lane is available, its bit is marked, or a goroutine is about to look. It is a returner before
//	    its look at the bit, or a searcher before its second look
//
// Happens-before edges:
//
//	E1  step of the returner, then load of the bit  against  clear by the searcher, then load of the lane
//	    the returner finds the bit clear, or the searcher finds the lane available. needs: sequentially
//	    consistent
//
// Progress: wait-free. A search loads one word for 64 lanes.
//
// Rejected: exact bits. They cost two read-modify-writes of a shared line for each call. Rejected
// as well: a second level of bits. 64 loads find all of 4,096 lanes taken, and the level would need
// the protocol again.
type summary struct {
	words [maxLanes / 64]atomix.Uint64
}

// mark sets the bit of lane i. It reports false if the bit was set.
func (s *summary) mark(i int) bool {
	word, bit := &s.words[i/64], uint64(1)<<(i%64)
	return word.Load()&bit == 0 && word.Or(bit)&bit == 0 // E1
}

// clear clears the bit of lane i.
func (s *summary) clear(i int) { s.words[i/64].And(^(uint64(1) << (i % 64))) }

// any reports whether the bit of one of the first n lanes may be set.
func (s *summary) any(n int) bool {
	for i := range (n + 63) / 64 {
		if s.words[i].Load() != 0 {
			return true
		}
	}
	return false
}

// next returns the first lane in [from, to) whose bit is set, or -1.
func (s *summary) next(from, to int) int {
	for from < to {
		if word := s.words[from/64].Load() >> (from % 64); word != 0 {
			if i := from + bits.TrailingZeros64(word); i < to {
				return i
			}
			return -1
		}
		from = from/64*64 + 64
	}
	return -1
}

// takesCalls reports whether the lane may take calls that come through no lease.
func (l *lane) takesCalls() bool { return l.isUnleased() && l.isOpenLane() }

// isOpenLane reports whether calls go to the lane: Resize has not taken it out.
func (l *lane) isOpenLane() bool { return l.index < len(l.p.roster.Load().open) }

// isAvailable reports whether takeFor would succeed.
func (l *lane) isAvailable() bool { return l.loadPermits().canTake() && l.takesCalls() }

// place accepts c, which names no lane, on an available lane, whose pick and permit it takes. It is
// at if that is available. The lane is nil if none is.
func (p *Pool) place(at *lane, c *call) (*lane, error) {
	if at.isAvailable() {
		if ok, err := at.takeFor(c); ok || err != nil {
			return at, err
		}
	}
	return p.search(at.index+1, c)
}

// takeFor takes the pick and a permit of the lane, if it may take calls of the pool. It accepts c
// before, so that a lease is seen, or sees the call. If c is nil, the drain does so.
func (l *lane) takeFor(c *call) (ok bool, err error) {
	if c == nil {
		return l.takesCalls() && l.take(), nil
	}
	switch err = l.accept(c.ctx, 0); {
	case err == errLeased: //nolint:errorlint // a sign, never wrapped
		return false, nil
	case err != nil:
		return false, err
	case l.isOpenLane() && l.take(): // after accept: Resize sees the call, or is seen
		return true, nil
	}
	l.unaccept()
	return false, nil
}

// search takes the pick and a permit of the next available lane from the one with that index on, in
// cyclic order. It returns nil if it finds none. c is as in takeFor.
func (p *Pool) search(from int, c *call) (*lane, error) {
	open := p.roster.Load().open
	from = min(from, len(open))
	l, err := p.searchIn(open, from, len(open), c)
	if l != nil || err != nil {
		return l, err
	}
	return p.searchIn(open, 0, from, c)
}

// isAvailable reports whether l, whose bit is marked, is available. Otherwise it clears the bit.
func (p *Pool) isAvailable(l *lane) bool {
	if l.isAvailable() {
		return true
	}
	p.available.clear(l.index)
	if !l.isAvailable() { // E1
		return false
	}
	p.available.mark(l.index)
	return true
}

func (p *Pool) searchIn(open []*lane, from, to int, c *call) (*lane, error) {
	for i := p.available.next(from, to); i >= 0; i = p.available.next(i+1, to) {
		l := open[i]
		if !p.isAvailable(l) {
			continue
		}
		ok, err := l.takeFor(c)
		if err != nil {
			p.notify(nil) // I1: a returner may have left its look to this search
		}
		if ok || err != nil {
			return l, err
		}
	}
	return nil, nil //nolint:nilnil // no lane
}
