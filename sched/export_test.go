package sched

import (
	"fmt"
	"math"
	"strings"

	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

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

// Len returns the number of places on the list.
func (f freeWord) Len() int { return f.len() }

// Closed reports whether the list is closed.
func (f freeWord) Closed() bool { return f.closed() }

// Tag returns the tag, which every change of the list changes.
func (f freeWord) Tag() uint32 { return uint32(f / freeTag) }

// Pop returns the word after a take.
func (f freeWord) Pop(next uint32) FreeWord { return f.pop(next) }

// Push returns the word after a put.
func (f freeWord) Push(top uint32) FreeWord { return f.push(top) }

// Places is a set of places without a scheduler. Places are named by index.
type Places struct{ ps places }

// NewPlaces returns a set of at most n places. The tag of its free list starts at tag,
// so that tests can begin right before the wrap.
func NewPlaces(n int, tag uint32) *Places {
	p := new(Places)
	p.ps.init(n, 0)
	f := p.Word()
	p.ps.free.Store(uint64(MakeFreeWord(f.top(), f.len(), false, tag)))
	return p
}

// Word returns the word of the free list.
func (p *Places) Word() FreeWord { return freeWord(p.ps.free.Load()) }

// Made returns the number of places that were made.
func (p *Places) Made() int { return int(p.ps.made.Load()) }

// Take returns the index of a free place, or -1.
func (p *Places) Take() int {
	if pl := p.ps.take(); pl != nil {
		return pl.index
	}
	return -1
}

// Put puts a place back and reports whether the list is closed.
func (p *Places) Put(index int) (closed bool) {
	pl := p.ps.all[index].Load()
	if p.ps.put(pl, false) {
		return false
	}
	return p.ps.put(pl, true) // its queues are swept
}

// Close closes the list and returns the indices of its places.
func (p *Places) Close() (indices []int) {
	p.ps.close(func(pl *place) { indices = append(indices, pl.index) })
	return indices
}

// CloseAt closes the list if its word is still at.
func (p *Places) CloseAt(at FreeWord) bool { return p.ps.closeAt(at) }

// Held returns the number of held places and the word that it was computed from.
func (p *Places) Held() (int, FreeWord) { return p.ps.held() }

// Place is a place of a scheduler.
type Place = place

// NewPlace returns a place of no scheduler.
func NewPlace(index int) *Place { return &place{index: index} }

// MaxStripes is the number of places that may have a stripe of their own in a group.
// GrowAfter is the number of tasks in the shared stripe after which they get one.
const (
	MaxStripes = maxStripes
	GrowAfter  = growAfter
)

// AddScheduled counts n scheduled tasks for the holder of p, or for a caller without a place
// when p is nil.
func (g *Group) AddScheduled(p *Place, n uint64) { g.addScheduled(p, n) }

// AddFinished counts n finished tasks for the holder of p.
func (g *Group) AddFinished(p *Place, n uint64) { g.addFinished(p, n) }

// Done reports whether all tasks of g are finished.
func (g *Group) Done() bool { return g.isDone() }

// A Stripe is a snapshot of one pair of counters of a group.
type Stripe struct{ Scheduled, Finished uint64 }

func (s *stripe) snapshot() Stripe { return Stripe{s.scheduled.Load(), s.finished.Load()} }

// Stripes returns snapshots of all counters of g, and the index of its home place or -1.
func (g *Group) Stripes() (home int, own, shared Stripe, more []Stripe) {
	if m := g.more.Load(); m != nil {
		for i := range *m {
			more = append(more, (*m)[i].snapshot())
		}
	}
	return int(g.home.Load()) - 1, g.own.snapshot(), g.shared.snapshot(), more
}

// Infallible is embedded in a Spawner that never fails.
type Infallible struct{}

func (Infallible) infallible() {}

// Starved returns the number of waits of s that rely on a worker.
func (s *Scheduler) Starved() int {
	s.life.starved.mu.Lock()
	defer s.life.starved.mu.Unlock()
	return len(s.life.starved.waiting)
}

// Waiting returns the number of entries on the list of waiters of g.
func (g *Group) Waiting() (n int) {
	for w := g.waiters.head.Load(); w != nil; w = w.next {
		n++
	}
	return n
}

// AnyQueued reports whether a task is queued in s.
func (s *Scheduler) AnyQueued() bool { return s.anyQueued() }

// UnlistedPlaces returns the number of places that have tasks and are not listed.
func (s *Scheduler) UnlistedPlaces() (n int) {
	s.places.each(func(p *place) {
		if !p.queue.Empty() && !s.places.anyListed(func(listed *place) bool { return listed == p }) {
			n++
		}
	})
	return n
}

// ListedPlaces returns the number of places that searches visit.
func (s *Scheduler) ListedPlaces() (n int) {
	s.places.anyListed(func(*place) bool { n++; return false })
	return n
}

// PlaceSet is a set of places.
type PlaceSet struct{ set placeSet }

// NewPlaceSet returns an empty set of the places 0 to n-1.
func NewPlaceSet(n int) *PlaceSet {
	s := new(PlaceSet)
	s.set.init(n)
	return s
}

// Add adds place i.
func (s *PlaceSet) Add(i int) { s.set.add(i) }

// Remove removes place i.
func (s *PlaceSet) Remove(i int) { s.set.remove(i) }

// Any visits the members from place first on, until ok is true.
func (s *PlaceSet) Any(first, made int, ok func(i int) bool) bool { return s.set.any(first, made, ok) }

// HasRefused reports whether a worker has found no place, and no call of Do has yielded since.
func (s *Scheduler) HasRefused() bool { return s.refusedSince.Load() != 0 }

// NeverYieldByTime makes calls of Do yield by their number only.
func (s *Scheduler) NeverYieldByTime() { s.milli = math.MaxInt64 / 8 }

// HasSkipped reports whether g has skipped a task because its Context has ended.
func (g *Group) HasSkipped() bool { return g.opts.skipped.Load() != nil }

// HoldInjection takes the consumer token of the injection queue until release is called. The
// tasks that are queued now return then.
func (s *Scheduler) HoldInjection() (release func()) {
	var c mpsc.Consumer
	if s.injection.TryAcquire(&c, injectionOrder) != mpsc.Acquired {
		panic("sched: HoldInjection: the queue is empty or held")
	}
	return func() { c.Release() }
}

// NotifyAvailable notifies if a queue is available.
func (s *Scheduler) NotifyAvailable() { s.notifyAvailable() }

// Lingering reports whether a worker is parked with its place.
func (s *Scheduler) Lingering() bool { return s.sync.Load().Lingering() }

// IdleTimerRuns reports whether the timer of the IdleTimeout runs.
func (s *Scheduler) IdleTimerRuns() bool { return s.idleEnd.armed.Load() }

// EndIdle lets the parked workers end, as the timer of the IdleTimeout does.
func (s *Scheduler) EndIdle() { s.endIdle() }

// PostIdleEnd posts one wake token with which a worker may end.
func (s *Scheduler) PostIdleEnd() {
	s.idleEnd.ending.Store(1)
	s.idle.Post()
}

// Saturating reports whether the last look has found all places held and tasks queued.
func (s *Scheduler) Saturating() bool { return s.saturation.since.Load() != nil }

// WokenEntriesAreLinked reports whether an entry of a waitList refers to another one after both
// were woken.
func WokenEntriesAreLinked() bool {
	var l waitList
	a, b := &waiter{parker: lfsync.NewParker()}, &waiter{parker: lfsync.NewParker()}
	l.add(a)
	l.add(b)
	l.wakeAll()
	return a.next != nil || b.next != nil
}

// Full reports that a goroutine which needs a place finds none.
func (s *Scheduler) Full() bool { return s.full() }

// Attention returns the number of places that workers look at between two tasks.
func (s *Scheduler) Attention() int { return int(s.attention.Load()) }

// CallbacksIn returns the workers of the scheduler s in the text of stacks, with their goroutine,
// state, wait and functions.
func CallbacksIn(text, s string) (list []string) {
	for _, f := range callbacksIn(text, s, func(string) bool { return false }) {
		line := []string{fmt.Sprint(f.goroutine), f.state, f.waits.String()}
		list = append(list, strings.Join(append(line, f.functions...), " "))
	}
	return list
}

// ShowsInspector reports whether the text of stacks has the form that Inspect reads.
func ShowsInspector(text, s string) bool { return showsInspector(text, s) }
