package sync

import (
	"context"
	"fmt"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
)

// Semaphore limits how many goroutines do something at once. It has a fixed number of
// permits. Acquire takes a permit, or blocks until one is available. TryAcquire takes a
// permit without blocking. Release gives a permit back. Waiters get permits in the order
// in which they arrived. A Semaphore comes from [NewSemaphore]. Safe for concurrent use.
//
//	if err := sem.Acquire(ctx); err != nil {
//		return err // ctx is done
//	}
//	defer sem.Release()
type Semaphore struct {
	_             NoCopy
	limit         int64
	_             Pad
	count         atomix.Int64
	_             Pad
	pendingGrants atomix.Int64
	arrivals      atomix.Pointer[waiter]
	grantLock     atomix.Uint32
	abandoned     atomix.Int64
	first         atomix.Cell[*waiter] // accessed by the granter only
	last          atomix.Cell[*waiter] // accessed by the granter only
	size          atomix.Cell[int]     // accessed by the granter only: waiters from first to last
}

// Algorithm of Semaphore: a count decides whether an Acquire gets a permit at once. All
// other Acquires become waiters on a list. The holder of grantLock hands permits to the
// waiters in order.
//
// Roles:
//
//	acquirer   Acquire, TryAcquire
//	waiter     an acquirer that found no permit, until it is granted one or gives up
//	releaser   Release
//	granter    the holder of grantLock, which grants permits to waiters: a waiter or
//	           releaser that found grantLock free (grantAll)
//
// State:
//
//	count          > 0: free permits; < 0: waiters that no Release has found yet
//	pendingGrants  grants that the granter has to make: one for each Release that found
//	               a waiter
//	arrivals       waiters that the granter has not seen: a stack that any waiter pushes
//	               to
//	grantLock      grantLockFree, grantLockHeld, grantLockAgain. The goroutine that finds
//	               it free is the granter
//	first, last    the waiters in order, linked by next: accessed by the granter only
//	abandoned      waiters in arrivals or in order that gave up and are still linked
//
// A waiter is waiting, granted, or abandoned. The granter makes it granted, and the waiter
// itself makes it abandoned, each by a CAS from waiting.
//
// A waiter whose context is done takes its permit without the granter when count is not
// negative. By I1 each waiter then has a grant. No later waiter gets that grant, because a
// later waiter leaves the count below zero until a Release finds it, and the granter
// grants in order. The record of the waiter stays in the order until the granter grants
// it. The post reaches no goroutine.
//
// Invariants:
//
//	I1  waiters that count still contains = max(0, -count) + pendingGrants + grants of
//	    goroutines between their CAS on count and their Add to pendingGrants
//	I2  free permits + held permits + pending grants + grants in flight = limit
//	I3  there is one granter at a time. When it frees grantLock, all arrivals, pending
//	    grants and abandonments before that are handled
//
// Linearization points: the Add or CAS on count. A grant belongs to some waiter from the
// CAS of Release on. An Acquire that gives up has done so at its own CAS. The granter
// decides which waiter gets which grant.
//
// Happens-before edges:
//
//	E1  CAS on count of Release  ->  Add or CAS on count of an acquirer that finds a free
//	    permit, or load of count by a waiter that gives up and finds a grant for itself
//	E2  CAS on count and Add to pendingGrants of Release  ->  load of pendingGrants by the
//	    granter  ->  post of the waiter's sema  ->  its wait
//	E3  CAS on arrivals by the waiter  ->  swap of arrivals by the granter   the granter
//	    sees the waiter's next, and owns next from then on
//	E4  CAS of grantLock to free  ->  swap of grantLock by the next granter   the next
//	    granter sees the waiters in order
//
// Progress: TryAcquire is lock-free. An Acquire that finds a permit is lock-free. Every
// Release is lock-free in its own work. No call waits for grantLock. A releaser or waiter
// that is the granter may remain the granter for as long as other goroutines bring work.
// While a granter is descheduled, grants are late: a permit that was released to a waiter
// waits with the granter. Free permits are not affected, and an Acquire whose context is
// done does not wait for the granter.
//
// Source: the count below zero is Dijkstra's. An Acquire that gives up corrects the count
// before its place in the queue. That order is from Koval, Khalanskiy and Alistarh, "CQS: A
// Formally-Verified Framework for Fair and Abortable Synchronization" (PLDI 2023).
// Changed: a list with one granter at a time replaces the array of cells. Waiters that
// gave up can therefore be unlinked at any position.
//
// Rejected: to leave waiters that gave up in the queue until they are first. That is
// simpler. However, a caller that retries with a short timeout while a permit is held for
// long fills the memory.

// waiter is one blocked Acquire.
type waiter struct {
	state atomix.Uint32
	next  atomix.Cell[*waiter] // the next older arrival, then the next waiter in order; owned by the waiter, then by the granter
	sema  park.Sema            // posted once by the granter that grants
}

// The states of a waiter.
const (
	waiterWaiting = iota
	waiterGranted
	waiterAbandoned
)

// The states of grantLock.
const (
	grantLockFree  = iota
	grantLockHeld  // by a granter that handles all work up to its store of this state
	grantLockAgain // by a granter that has to repeat, because work arrived since then
)

// NewSemaphore returns a semaphore with n permits, all of them free. It returns an error
// that wraps [ErrPermits] when n is not positive.
func NewSemaphore(n int) (*Semaphore, error) {
	if n <= 0 {
		return nil, fmt.Errorf("sync: NewSemaphore(%d): %w", n, ErrPermits)
	}
	s := &Semaphore{limit: int64(n)}
	s.count.Store(int64(n))
	return s, nil
}

// TryAcquire takes a permit if one is free, and reports whether it did. It never blocks
// and never takes a permit that a waiter is to get.
func (s *Semaphore) TryAcquire() bool {
	for {
		c := s.count.Load()
		if c <= 0 {
			return false
		}
		if s.count.CompareAndSwap(c, c-1) { // E1
			return true
		}
	}
}

// Acquire takes a permit and returns nil. It blocks until a permit is available and all
// earlier waiters have got theirs. When ctx is done first, Acquire returns ctx.Err() and
// has taken no permit. A ctx that is done at the start is refused, even if a permit is
// free. When ctx ends while a permit is already in flight to the caller, Acquire takes
// the permit and returns nil.
//
// Only a call that has to wait allocates.
func (s *Semaphore) Acquire(ctx context.Context) error {
	done := ctx.Done()
	if done != nil {
		select {
		case <-done:
			return ctx.Err()
		default:
		}
	}
	if s.count.Add(-1) >= 0 { // E1
		return nil
	}
	return s.wait(ctx, done)
}

// wait makes the caller, which count already contains, a waiter, and blocks.
func (s *Semaphore) wait(ctx context.Context, done <-chan struct{}) error {
	w := new(waiter)
	w.sema.Init(1)
	for {
		below := s.arrivals.Load()
		w.next.Set(below)
		if s.arrivals.CompareAndSwap(below, w) { // E3
			break
		}
	}
	s.grantAll()
	if w.sema.WaitDone(done) { // E2
		return nil
	}

	// Leave the count first. From then on the number of grants to come is the number of
	// the other waiters.
	for {
		c := s.count.Load()
		if c >= 0 { // I1: there is a grant for each waiter, including the caller
			invariant.Reached("sync: Semaphore: permit came after the context was done")
			return nil // E1: the permit belongs to the caller already; w stays linked
		}
		if s.count.CompareAndSwap(c, c+1) {
			break
		}
	}
	if w.state.CompareAndSwap(waiterWaiting, waiterAbandoned) {
		s.abandoned.Add(1)
	} else {
		// The granter was faster. The grant belongs to another waiter.
		invariant.Reached("sync: Semaphore: grant passed on")
		s.pendingGrants.Add(1)
	}
	s.grantAll() // I3
	return ctx.Err()
}

// Release gives a permit back. The waiter that arrived first gets it, if there is a
// waiter. Release panics when all permits are already free. It never blocks.
func (s *Semaphore) Release() {
	for {
		c := s.count.Load()
		if c >= s.limit {
			panic("sync: Semaphore.Release: all permits are free already")
		}
		if s.count.CompareAndSwap(c, c+1) { // E1, E2
			if c < 0 {
				s.pendingGrants.Add(1) // E2
				s.grantAll()
			}
			return
		}
	}
}

// grantAll handles all arrivals, pending grants and abandonments. When another goroutine
// is the granter, grantAll sets grantLockAgain and that granter handles them.
func (s *Semaphore) grantAll() {
	if s.grantLock.Swap(grantLockAgain) != grantLockFree { // E4
		return // I3: that granter cannot free grantLock before it has seen grantLockAgain
	}
	for {
		s.grantLock.Store(grantLockHeld) // before the loads: later work is seen by them, or sets grantLockAgain
		s.admitArrivals()
		s.grantPending()
		s.dropAbandoned()
		if s.grantLock.CompareAndSwap(grantLockHeld, grantLockFree) { // E4
			return // the loop ends at the latest when no other goroutine brings work
		}
	}
}

// admitArrivals appends the waiters in arrivals to the order. Granter only.
func (s *Semaphore) admitArrivals() {
	w := s.arrivals.Swap(nil) // E3
	if w == nil {
		return
	}
	newest, n := w, 1
	var behind *waiter
	for { // reverse, because the newest waiter is on top of the stack
		below := w.next.Get()
		w.next.Set(behind)
		if below == nil {
			break
		}
		behind, w = w, below
		n++
	}
	if l := s.last.Get(); l != nil {
		l.next.Set(w)
	} else {
		s.first.Set(w)
	}
	s.last.Set(newest)
	s.size.Set(s.size.Get() + n)
}

// grantPending makes the pending grants. A grant that finds no waiter in order is for a
// waiter that has not arrived yet. That waiter calls grantAll after it arrives. Granter
// only.
func (s *Semaphore) grantPending() {
	for s.first.Get() != nil && s.pendingGrants.Load() > 0 { // E2
		w := s.first.Get()
		s.first.Set(w.next.Get())
		if s.first.Get() == nil {
			s.last.Set(nil)
		}
		w.next.Set(nil)
		s.size.Set(s.size.Get() - 1)
		if w.state.CompareAndSwap(waiterWaiting, waiterGranted) {
			s.pendingGrants.Add(-1)
			w.sema.Post() // E2
		} else {
			invariant.Reached("sync: Semaphore: skipped a waiter that gave up")
			s.abandoned.Add(-1)
		}
	}
}

// dropAbandoned unlinks the waiters that gave up, once they are half of all waiters. Each
// waiter is therefore visited twice on average, and the list never keeps more abandoned
// waiters than live ones. Granter only.
func (s *Semaphore) dropAbandoned() {
	if abandoned := s.abandoned.Load(); abandoned <= 0 || 2*abandoned < int64(s.size.Get()) {
		return
	}
	var last *waiter
	n := 0
	for w := s.first.Get(); w != nil; {
		next := w.next.Get()
		switch {
		case w.state.Load() != waiterAbandoned:
			last = w
			n++
		case last == nil:
			s.first.Set(next)
		default:
			last.next.Set(next)
		}
		w = next
	}
	s.last.Set(last)
	s.abandoned.Add(int64(n - s.size.Get()))
	s.size.Set(n)
}
