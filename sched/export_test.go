package sched

// FreeWord is the word of the free list of places.
type FreeWord = freeWord

// MakeFreeWord packs the fields of a FreeWord.
func MakeFreeWord(top uint32, n int, closed bool, tag uint32) FreeWord {
	f := freeWord(top) | freeWord(n)*freeOne | freeWord(tag)*freeTag
	if closed {
		f |= freeClosed
	}
	return f
}

// Top returns index+1 of the place on top, or 0.
func (f freeWord) Top() uint32 { return f.top() }

// Len returns how many places are on the list.
func (f freeWord) Len() int { return f.len() }

// Closed reports whether the list is closed.
func (f freeWord) Closed() bool { return f.closed() }

// Tag returns what changes with each change of the list.
func (f freeWord) Tag() uint32 { return uint32(f / freeTag) }

// Pop and Push are the transitions of the word.
func (f freeWord) Pop(next uint32) FreeWord { return f.pop(next) }

// Push is the other one.
func (f freeWord) Push(top uint32) FreeWord { return f.push(top) }

// Places is a set of places without a scheduler. Places are named by index.
type Places struct{ ps places }

// NewPlaces returns a set of at most n places. The tag of its free list starts at
// tag, so that tests can begin right before the wrap.
func NewPlaces(n int, tag uint32) *Places {
	p := new(Places)
	p.ps.init(n, 0)
	f := p.Word()
	p.ps.free.Store(uint64(MakeFreeWord(f.top(), f.len(), false, tag)))
	return p
}

// Word returns the word of the free list.
func (p *Places) Word() FreeWord { return freeWord(p.ps.free.Load()) }

// Made returns how many places were made.
func (p *Places) Made() int { return int(p.ps.made.Load()) }

// Take returns the index of a place that nobody holds, or -1.
func (p *Places) Take() int {
	if pl := p.ps.take(); pl != nil {
		return pl.index
	}
	return -1
}

// Put gives a place back and reports whether the list is closed.
func (p *Places) Put(index int) (closed bool) {
	pl := p.ps.all[index].Load()
	if p.ps.put(pl, false) {
		return false
	}
	return p.ps.put(pl, true) // swept
}

// Close closes the list and returns what was on it.
func (p *Places) Close() (indexes []int) {
	p.ps.close(func(pl *place) { indexes = append(indexes, pl.index) })
	return indexes
}

// CloseAt closes the list if it has not changed.
func (p *Places) CloseAt(at FreeWord) bool { return p.ps.closeAt(at) }

// Held returns how many places are held, and the word that says so.
func (p *Places) Held() (int, FreeWord) { return p.ps.held() }

// Place is what a worker holds.
type Place = place

// NewPlace returns a place that belongs to nobody.
func NewPlace(index int) *Place { return &place{index: index} }

// MaxStripes is how many places may have a stripe of their own in a group, and
// GrowAfter how many tasks are counted in the shared one before they do.
const (
	MaxStripes = maxStripes
	GrowAfter  = growAfter
)

// AddScheduled counts n tasks as the holder of p does, or as a caller without a
// place when p is nil.
func (g *Group) AddScheduled(p *Place, n uint64) { g.addScheduled(p, n) }

// AddFinished counts n finished tasks.
func (g *Group) AddFinished(p *Place, n uint64) { g.addFinished(p, n) }

// Done reports whether all tasks of g are finished.
func (g *Group) Done() bool { return g.isDone() }

// A Stripe is a snapshot of one pair of counters of a group.
type Stripe struct{ Scheduled, Finished uint64 }

func (s *stripe) snapshot() Stripe { return Stripe{s.scheduled.Load(), s.finished.Load()} }

// Stripes returns snapshots of all counters of g, and the index of the place that
// has the first, or -1.
func (g *Group) Stripes() (home int, own, shared Stripe, more []Stripe) {
	if m := g.more.Load(); m != nil {
		for i := range *m {
			more = append(more, (*m)[i].snapshot())
		}
	}
	return int(g.home.Load()) - 1, g.own.snapshot(), g.shared.snapshot(), more
}

// NeverFails is embedded in a Spawner that is known to start each worker.
type Infallible struct{}

func (Infallible) infallible() {}

// Starved returns how many waits of s rely on a worker, and Waiting how many entries
// the list of those who wait for g has.
func (s *Scheduler) Starved() int {
	s.life.starved.mu.Lock()
	defer s.life.starved.mu.Unlock()
	return len(s.life.starved.waiting)
}

// Waiting is described there.
func (g *Group) Waiting() (n int) {
	for w := g.waiters.head.Load(); w != nil; w = w.next {
		n++
	}
	return n
}

// AnyQueued reports whether a task waits in some queue of s.
func (s *Scheduler) AnyQueued() bool { return s.anyQueued() }
