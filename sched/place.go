package sched

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/runqueue"
	lfsync "github.com/lanewright/lanewright/sync"
)

// place is the right and the means to run tasks: an index, a run queue, counters, and fork
// slots. Only the holder of a place runs tasks and pops from its ring. Holders of other places
// steal from its queue, also while the place is free.
//
// The first place is made with the scheduler and the others on demand, MaxWorkers at most.
// A free place is on the free list. Its tasks stay in its queue for thieves and for the next
// holder. There is one place more for each stalled place (see stall.go).
type place struct {
	queue runqueue.Queue
	index int

	// Only the holder uses the fields below.
	rng           uint32
	tick          uint32   // tasks until the next call of fair
	injectionNext bool     // the next call of fair reads the injection queue, not the overflow queue
	fairCalls     uint32   // calls of fair that read the injection queue
	pace          callPace // of the calls of Do, TryDo and ForkJoin
	listed        bool     // the set places.queued has this place
	refillSpin    uint32   // rounds to spin before the next refill from the injection queue
	callerWorker  *Worker  // the worker that a Do on this place uses
	counts        counts

	_ lfsync.Pad

	// holder is the address of the worker that holds the place, or 0. Only the holder stores
	// it, and the claimant of a lingering worker. It is a number, because the store of a
	// pointer is a call.
	holder atomix.Uintptr

	forks forkSlots

	occupancy atomix.Uint32 // the flags of the occupancy: see stall.go
	stalled   bool          // the last occupancy was stalled: the place becomes a spare one

	nextFree  atomix.Uint32 // index+1 of the next free place, or 0
	inspected atomix.Bool   // an Inspect has found a holder, and no task has ended since: see inspect.go
	published published

	_ lfsync.Pad
}

// Every fairEvery tasks a worker looks at the injection queue before its own queue, so that
// tasks of external callers never starve. One look in stealEvery tries another place first.
// 61 is the figure of the Go runtime and of Tokio. After overflowOffset of these tasks, the
// worker looks at its own overflow queue before its ring.
//
// A worker with tasks of its own steals once every stealEvery*fairEvery tasks, about a
// thousand. Without a bound, a task behind a callback of two seconds waited these two
// seconds, while the other worker ran a task that reschedules itself 97 million times.
const (
	fairEvery      = 61
	overflowOffset = 31
	stealEvery     = 16
)

// places is the set of places with the list of the free ones.
//
// Roles:
//
//	taker   takes a place off the free list, or makes one, and is its holder
//	holder  puts its place back. It learns then whether the list is closed
//	closer  closes the list, so that no place is taken any more
//
// State:
//
//	all   the places that were made, by index; an entry is stored once
//	made  the number of indices that were given out; it only grows
//	free  one freeWord: the top of the free list, its length, closed, and a tag
//
// Invariants:
//
//	I1  a place has one holder, or is on the free list once, or is a spare one, or
//	    belongs to the closer
//	I2  each take and put changes the tag, so an unchanged word means that no place
//	    changed hands
//
// Linearization points:
//
//	take, put, close  the CAS on free
//
// Happens-before edges:
//
//	E1  CAS of put  ->  CAS of take   the next holder sees all that the last one did
//
// Progress: lock-free. A CAS fails only if another goroutine has changed the list.
//
// Limit: a taker that stalls between its load and its CAS while exactly 2^31 takes and puts
// pass may corrupt the list (ABA).
//
// Source: Treiber's stack, of indices with a tag.
type places struct {
	_    lfsync.Pad
	free atomix.Uint64
	_    lfsync.Pad
	made atomix.Uint32
	max  int // places that are made on demand; the stall monitor may make more
	all  []atomix.Pointer[place]

	queued   placeSet // places that may hold tasks
	computed placeSet // places that have run a fork-join computation
}

// freeWord packs the free list. The length includes the spare places, because they are not
// held. Bits:
//
//	 0..15  index+1 of the top place, or 0
//	16..31  length
//	    32  closed
//	33..63  tag, which each change of the list increments
type freeWord uint64

const (
	freeOne    = 1 << 16
	freeClosed = 1 << 32
	freeTag    = 1 << 33
)

// top, len and closed return the fields of the word except the tag.
func (f freeWord) top() uint32  { return uint32(f & 0xffff) }
func (f freeWord) len() int     { return int(f >> 16 & 0xffff) }
func (f freeWord) closed() bool { return f&freeClosed != 0 }

// pop returns the word without its top place; next is the new top.
func (f freeWord) pop(next uint32) freeWord {
	return f&^0xffff | freeWord(next) - freeOne + freeTag
}

// push returns the word with one place more, the new top.
func (f freeWord) push(top uint32) freeWord {
	return f&^0xffff | freeWord(top) + freeOne + freeTag
}

// pushSpare returns the word with a new top that the length counts already.
func (f freeWord) pushSpare(top uint32) freeWord { return f&^0xffff | freeWord(top) + freeTag }

// take returns a place for the caller to hold. It returns nil when no place is free and
// none can be made, or when the list is closed.
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

// init prepares for n places and for extra ones of the stall monitor. It makes the first
// place, because a push to the overflow queue of some place must always be possible.
func (ps *places) init(n, extra int) {
	ps.max = n
	ps.all = make([]atomix.Pointer[place], n+extra)
	ps.queued.init(n + extra)
	ps.computed.init(n + extra)
	ps.put(ps.make(n, freeTag), false)
}

// make adds a place and returns it, or returns nil when n places exist or the list is
// closed. It adds change to the word. With freeTag the place is held. With freeOne in
// addition it is a spare place that the caller has taken.
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
				ps.put(p, true) // swept: a new place has no tasks
				return nil
			}
			if ps.free.CompareAndSwap(uint64(f), uint64(f+change)) { // I2
				return p
			}
		}
	}
}

// put puts p on the free list and reports true. If the list is closed and p was not swept,
// put does nothing and reports false: no goroutine would look at the tasks of p again.
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

// close closes the list and calls fn for each place on it. These places belong to the
// closer from here on. close does nothing when the list is already closed.
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

// closeAt closes the list if the word is still at, and reports whether it closed the list.
func (ps *places) closeAt(at freeWord) bool {
	return !at.closed() && ps.free.CompareAndSwap(uint64(at), uint64(at|freeClosed)+freeTag) // E1
}

// changeTag changes the word of an open free list, and nothing else. A goroutine that has
// loaded the word before cannot close the list any more.
func (ps *places) changeTag() {
	for {
		f := freeWord(ps.free.Load())
		if f.closed() || ps.free.CompareAndSwap(uint64(f), uint64(f+freeTag)) {
			return
		}
	}
}

// held returns the word of the free list and the number of places that were held at that moment.
// A place that was made since the load of the word counts as well, because made is loaded last. The
// number may therefore be too high and never too low. A goroutine that waits for 0 is woken in that
// case: by takePlace if the list is closed, by the monitor, or by the return of the place. In the
// other order, a place that was made and put back in between would hide one that is held.
func (ps *places) held() (n int, at freeWord) {
	at = freeWord(ps.free.Load())
	return int(ps.made.Load()) - at.len(), at
}

// each calls fn for each place that was made.
func (ps *places) each(fn func(*place)) {
	ps.any(func(p *place) bool { fn(p); return false })
}

// any reports whether ok is true for a place. It stops at the first such place.
func (ps *places) any(ok func(*place) bool) bool {
	for i := range ps.made.Load() {
		if p := ps.all[i].Load(); p != nil && ok(p) {
			return true
		}
	}
	return false
}

// anyListed reports whether ok is true for a place that may hold tasks.
func (ps *places) anyListed(ok func(*place) bool) bool {
	return ps.anyListedFrom(0, ps.made.Load(), ok)
}

// anyListedFrom is anyListed for the places below made. It visits them from index first on,
// and stops at the first one for which ok is true.
func (ps *places) anyListedFrom(first, made uint32, ok func(*place) bool) bool {
	return ps.queued.any(int(first), int(made), func(i int) bool { return ok(ps.all[i].Load()) })
}

// anyComputed reports whether ok is true for a place that has run a computation. It stops at
// the first one.
func (ps *places) anyComputed(ok func(*place) bool) bool {
	return ps.computed.any(0, int(ps.made.Load()), func(i int) bool { return ok(ps.all[i].Load()) })
}

// random returns the next number of the xorshift generator of p.
func (p *place) random() uint32 {
	x := p.rng
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	p.rng = x
	return x
}

// push queues claimed tasks at p. Only the holder of p calls it.
func (p *place) push(s *Scheduler, tasks []*Task) error {
	if s.closing.Load() {
		unclaimAll(tasks)
		return ErrClosed
	}
	p.list(s)
	var spilled bool
	if len(tasks) == 1 {
		spilled = p.queue.Push(&tasks[0].node)
	} else {
		spilled = p.queue.PushAll(nodesOf(tasks))
	}
	if spilled {
		p.counts.spilled++
	}
	return s.pushed()
}

// pushBatch queues a marked batch as push does.
func (p *place) pushBatch(s *Scheduler, b *Batch) error {
	if s.closing.Load() {
		b.mark(batched)
		return ErrClosed
	}
	p.list(s)
	if p.queue.PushList(&b.list) {
		p.counts.spilled++
	}
	return s.pushed()
}
