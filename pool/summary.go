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
//	          that lane again. It takes a lane that it finds available, because a returner that has found the
//	          bit set leaves the calls that wait to it
//	granter   looks for a lane to lease. It clears the bit of a lane that is not available, and comes to the
//	          lane as a returner afterwards, because it would not take the lane
//
// Invariant:
//
//	I1  while a lane is available, its bit is marked, or a goroutine is about to look. It is a returner before
//	    its look at the bit, a searcher before its second look, or a granter before it comes as a returner
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

// isMarked reports whether the bit of lane i is set.
func (s *summary) isMarked(i int) bool { return s.words[i/64].Load()&(1<<(i%64)) != 0 }

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
	first, mask := from/64, ^uint64(0)<<(from%64)
	for i := range s.words[first : (to+63)/64] {
		if word := s.words[first+i].Load() & mask; word != 0 {
			if at := (first+i)*64 + bits.TrailingZeros64(word); at < to {
				return at
			}
			return -1
		}
		mask = ^uint64(0)
	}
	return -1
}

// candidates finds lanes that have a property in a time that hardly depends on the number of lanes: those
// that are free as [View.Free] says, or those with permits that no call has. It has a bit for each lane. The
// bits are a lazy superset. They are apart from those of a summary: a lane that is available may have both,
// one or none of the properties, and the search for an available lane relies on its bits in other ways.
//
// Roles:
//
//	returner  has given a lane the property: it has made the number of occupants or of those that do not wait
//	          smaller (G3 of gate), ended a lease, or added permits. Afterwards it marks the bit if that is clear
//	walker    looks for lanes with the property. It clears bits of lanes without it, and looks at each of these
//	          lanes again
//
// State:
//
//	has           the property of a lane with that census, and nothing but loads
//	bits          one for each lane. All are set before the first walker clears one
//	kept          how many lanes without the property a walker passes before it clears bits
//	begun, ended  the clears that have begun, and those whose second look is over
//	marked        the bits that returners have set
//
// Invariants:
//
//	K1  while a lane that calls go to has the property, its bit is marked, or a goroutine is about to look. It
//	    is a returner before its look at the bit, or a walker before its second look
//	K2  a walker that has loaded ended before its walk and finds in begun its own clears and no others has
//	    missed no lane that had the property during the walk, but for those of returners before their look
//	K3  before a walker clears a bit, the walkers of the pool are counted once in Pool.waiters, and then
//	    Pool.walkers is set. So a returner that finds no waiter, or no walkers, has come before the clear
//	K4  a walker that has loaded marked before its walk, finds it unchanged after it, and has missed no lane by
//	    K2, knows a moment after the walk at which no lane had the property. That excepts lanes of returners
//	    before their look, and lanes that have it again since the walker has passed them: see laneWalk.isSteady
//
// Happens-before edges:
//
//	E2  step of the returner, then loads of Pool.waiters, Pool.walkers and the bit  against  clear by the
//	    walker, then look at the lane: the returner finds the bit clear, or the walker finds the property.
//	    needs: sequentially consistent
//
// Progress: wait-free.
//
// A pool whose walkers clear no bit pays one load in each look of a lane. A walker leaves the first bits
// that it might clear as they are, because the end of a short call would mark them again.
//
// Rejected: exact bits, as in summary. Rejected as well: the bits of the summary for both. A lane with several
// permits is available beside its calls, and a lane whose worker is about to return the permit is not.
type candidates struct {
	has          func(l *lane, n census) bool
	kept         int
	begun, ended atomix.Uint64
	marked       atomix.Uint64
	bits         summary
}

// keptBits is candidates.kept. It is chosen.
const keptBits = 4

// init makes the bits of lanes with that property. No lane has come yet.
func (s *candidates) init(has func(l *lane, n census) bool) { s.has, s.kept = has, keptBits }

// laneWalk is the walk of one goroutine over the lanes with a property.
type laneWalk struct {
	s       *candidates
	open    []*lane
	kept    [keptBits]counted // lanes without the property whose bits the walk has left as they are
	passed  int               // how many lanes had not the property
	ended   uint64            // of s before the walk
	marked  uint64            // of s before the walk
	cleared uint64            // by this walk
}

// walk begins a walk over such lanes of those that calls go to.
func (s *candidates) walk(open []*lane) laneWalk {
	return laneWalk{s: s, open: open, ended: s.ended.Load(), marked: s.marked.Load()} // K2, K4
}

// next returns the index of the first lane from that index on with the property, or -1.
func (w *laneWalk) next(from int) int {
	for i := w.s.bits.next(from, len(w.open)); i >= 0; i = w.s.bits.next(i+1, len(w.open)) {
		l := w.open[i]
		n := l.census()
		if w.s.has(l, n) {
			return i
		}
		if w.passed < w.s.kept {
			w.kept[w.passed] = counted{l: l, n: n}
		} else if w.clear(l) {
			return i
		}
		w.passed++
	}
	return -1
}

// clear clears the bit of the lane, and reports whether the lane has the property after all. The bit is
// set then.
func (w *laneWalk) clear(l *lane) (has bool) {
	w.cleared++
	l.p.countWalkers() // K3
	w.s.begun.Add(1)   // K2
	w.s.bits.clear(l.index)
	if has = w.s.has(l, l.census()); has { // K1, E2
		w.s.bits.mark(l.index)
	}
	w.s.ended.Add(1)
	return has
}

// isExact reports whether the walk has missed no lane: K2.
func (w *laneWalk) isExact() bool { return w.s.begun.Load()-w.ended == w.cleared }

// isSteady reports whether the lanes that the walk has passed had no property at its end: K4. The bits of those that
// it has cleared show that, and the counts of the others.
func (w *laneWalk) isSteady() bool {
	return areSteady(w.kept[:min(w.passed, w.s.kept)]) && w.s.marked.Load() == w.marked && w.isExact()
}

// countWalkers makes the goroutines that change the counts of a lane mark its bits.
func (p *Pool) countWalkers() {
	if p.walkers.Load() {
		return
	}
	p.waiters.Add(1) // before walkers is set: a later walker relies on it
	if !p.walkers.CompareAndSwap(false, true) {
		p.waiters.Add(-1)
	}
}

// markCandidates marks the bits of a lane that may have a property now. Walkers are counted.
func (l *lane) markCandidates() {
	for _, s := range [...]*candidates{&l.p.free, &l.p.unfilled} {
		if !s.bits.isMarked(l.index) && s.has(l, l.census()) && s.bits.mark(l.index) { // K1, E2
			s.marked.Add(1) // K4
		}
	}
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
