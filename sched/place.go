package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/runqueue"
	lfsync "github.com/lanewright/lanewright/sync"
)

// place is what it takes to run tasks: an index, a run queue, counters.
//
// Whoever holds a place takes tasks and runs them; nobody else does. There are
// at most MaxWorkers places, the first made with the scheduler and the others on
// first need, and kept in a free list while
// nobody holds one; and one more for each whose holder stalls (see stall.go). A place in the free list keeps its tasks: thieves steal
// them, and the next holder goes on with them.
type place struct {
	queue runqueue.Queue
	index int

	// The fields below are the holder's.
	rng              uint32
	tick             uint32  // tasks until the next fair turn
	injectionNext    bool    // on the next fair turn; else the own overflow queue
	doCalls          uint32  // calls of Do since one gave way
	injectionDrained bool    // with those who push to the injection queue
	callerWorker     *Worker // the worker that a Do on this place uses
	counts           counts

	_ lfsync.Pad

	// holder is the identity of the goroutine that holds the place, else 0; it
	// is stored by the holder. current is its worker: only the goroutine that
	// finds itself in holder may read it.
	holder  atomix.Uintptr
	current *Worker

	forks forkSlots

	occupancy atomix.Uint32 // of the holder: see stall.go
	stalled   bool          // the holder was counted out: becomes a spare place

	nextFree  atomix.Uint32 // index+1 of the next free place, else 0
	published published

	_ lfsync.Pad
}

// fairEvery is how many tasks a worker runs between two looks at the injection
// queue before its own, so that outside callers never starve. 61 is the figure
// of the Go runtime and of Tokio.
const (
	fairEvery      = 61
	overflowOffset = 31 // of these, to the look at the own overflow queue
)

// places is the set of places and the free list of those that nobody holds.
//
// Roles:
//
//	taker  takes a place off the free list, or makes one, and is its holder
//	holder puts its place back
//	closer closes the list: no place is taken any more; who puts a place back
//	       later learns of it
//
// State:
//
//	all   the places made, by index; an entry is stored once
//	made  how many indexes were given out; grows
//	free  one freeWord: top of the free list, its length, closed, a tag
//
// Invariants:
//
//	I1  a place has one holder, or is on the free list once, or is a spare one, or belongs to the closer
//	I2  the tag changes with each take and put, so an unchanged word means that
//	    no place changed hands
//
// Linearization points: take, put, and close are the CAS on free.
//
// Happens-before edges:
//
//	E1  CAS of put  ->  CAS of take   the next holder sees all that the last one did
//
// Progress: lock-free. Limit: a taker that stalls between its load and its CAS
// while exactly 2^31 takes and puts pass may corrupt the list (ABA).
// Source: Treiber's stack, of indexes with a tag.
type places struct {
	_    lfsync.Pad
	free atomix.Uint64
	_    lfsync.Pad
	made atomix.Uint32
	max  int // places that are made on need; the watch may make more
	all  []atomix.Pointer[place]
}

// freeWord packs the free list, from low to high bits: index+1 of the top 16,
// length 16, closed 1, tag 31. Spare places count in the length, as they are not held.
type freeWord uint64

const (
	freeOne    = 1 << 16
	freeClosed = 1 << 32
	freeTag    = 1 << 33
)

func (f freeWord) top() uint32  { return uint32(f & 0xffff) }
func (f freeWord) len() int     { return int(f >> 16 & 0xffff) }
func (f freeWord) closed() bool { return f&freeClosed != 0 }

// pop returns the word after the top gave way to next.
func (f freeWord) pop(next uint32) freeWord {
	return f&^0xffff | freeWord(next) - freeOne + freeTag
}

// push returns the word with a new top.
func (f freeWord) push(top uint32) freeWord {
	return f&^0xffff | freeWord(top) + freeOne + freeTag
}

// revive returns the word with a new top that was a spare place.
func (f freeWord) pushSpare(top uint32) freeWord { return f&^0xffff | freeWord(top) + freeTag }

// take returns a place that nobody else holds, or nil when all are held or the
// list is closed.
func (ps *places) take() *place {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() {
			return nil
		}
		if f.top() == 0 {
			return ps.make(ps.max, freeTag)
		}
		p := ps.all[f.top()-1].Load()
		next := p.nextFree.Load()
		if ps.free.CompareAndSwap(uint64(f), uint64(f.pop(next))) { // E1, I1
			return p
		}
	}
}

// init prepares for n places, and extra ones for the watch. The first is made at once,
// so that there always is an overflow queue to push to.
func (ps *places) init(n, extra int) {
	ps.max = n
	ps.all = make([]atomix.Pointer[place], n+extra)
	ps.put(ps.make(n, freeTag), false)
}

// make adds a place and returns it, or returns nil when n exist. It changes the word by
// change: the place is held, or with freeOne a spare one that the caller has taken.
func (ps *places) make(n int, change freeWord) *place {
	for {
		made := ps.made.Load()
		if int(made) >= n {
			return nil
		}
		if !ps.made.CompareAndSwap(made, made+1) {
			continue
		}
		p := &place{index: int(made), rng: made*2654435761 + 1, tick: overflowOffset}
		ps.all[made].Store(p)
		for {
			f := freeWord(ps.free.Load())
			if f.closed() {
				ps.put(p, true) // it is new, and empty
				return nil
			}
			if ps.free.CompareAndSwap(uint64(f), uint64(f+change)) { // I2
				return p
			}
		}
	}
}

// put gives p back and reports true. On a closed list it reports false and does
// nothing, unless p was swept: nobody would look at the place again.
func (ps *places) put(p *place, swept bool) bool {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() && !swept {
			return false
		}
		p.nextFree.Store(f.top())
		if ps.free.CompareAndSwap(uint64(f), uint64(f.push(uint32(p.index)+1))) { // E1
			return true
		}
	}
}

// close closes the list and calls fn for each place on it: they belong to the
// closer from here on. It does nothing when the list is closed.
func (ps *places) close(fn func(*place)) {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() {
			return
		}
		if ps.closeAt(f) {
			for i := f.top(); i != 0; {
				p := ps.all[i-1].Load()
				i = p.nextFree.Load()
				fn(p)
			}
			return
		}
	}
}

// closeAt closes the list when it has not changed since at, and reports whether
// it did.
func (ps *places) closeAt(at freeWord) bool {
	return !at.closed() && ps.free.CompareAndSwap(uint64(at), uint64(at|freeClosed)+freeTag) // E1
}

// held returns how many places are held, and a word that changes when that does.
func (ps *places) held() (n int, at freeWord) {
	for {
		at = freeWord(ps.free.Load())
		n = int(ps.made.Load()) - at.len()
		if freeWord(ps.free.Load()) == at {
			return n, at
		}
	}
}

// each calls fn for each place made.
func (ps *places) each(fn func(*place)) {
	ps.any(func(p *place) bool { fn(p); return false })
}

// any reports whether ok holds for some place.
func (ps *places) any(ok func(*place) bool) bool {
	for i := range ps.made.Load() {
		if p := ps.all[i].Load(); p != nil && ok(p) {
			return true
		}
	}
	return false
}

// random returns a number from the holder's xorshift.
func (p *place) random() uint32 {
	x := p.rng
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	p.rng = x
	return x
}

// attach makes w the worker of p, and p the place of w.
func (w *Worker) attach(p *place) {
	w.place = p
	w.beginOccupancy() // while nobody can be counted out there
	p.holder.Store(park.Self())
	p.current = w
	if w.forks != nil {
		w.showForks()
	}
}

// detach takes the place off w, so that it can be put back.
func (w *Worker) detach() *place {
	p := w.place
	if w.forks != nil {
		w.hideForks()
	}
	p.counts.publish(&p.published)
	p.current = nil
	p.holder.Store(0)
	w.place = nil
	return p
}
