package sync

import (
	"context"
	"fmt"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
)

// Semaphore bounds how many goroutines do something at once: it has a fixed
// number of permits, Acquire takes one and waits for it if need be, and Release
// gives one back. Waiters get permits in the order in which they came. It comes
// from [NewSemaphore]. Safe for concurrent use.
//
// Roles:
//
//	acquirer   Acquire, TryAcquire
//	waiter     an acquirer that found no permit, until it is granted one or gives up
//	releaser   Release
//	server     the one goroutine at a time that grants permits to waiters: any
//	           waiter or releaser becomes it that finds none (serve)
//
// State:
//
//	count  > 0: free permits; < 0: waiters for which nobody has released yet
//	owed   grants that the server is to make: one for each release that found a waiter
//	line   waiters that the server has not seen: a stack that any waiter pushes on
//	turn   turnFree, turnTaken, turnAgain: who finds it free is the server
//	first  the waiters in order, first to last, linked by next: the server's
//	last   the server's
//	gone   waiters in line or in order that gave up and were not dropped yet
//
// A waiter is waiting, granted, or gone. The server makes it granted, itself
// makes it gone, by a CAS from waiting.
//
// Invariants:
//
//	I1  waiters that have not given up their place in count = max(0, -count) + grants that are owed, or will be by a goroutine that is past its CAS on count
//	I2  free permits + held permits + grants owed or on their way = limit
//	I3  one server at a time, and when it ends, what was pushed, owed or given up before is done
//
// Linearization points: the Add or CAS on count. A grant belongs to some waiter
// from the CAS of the Release on, and an Acquire that gives up has done so at
// its own CAS; which waiter gets which grant is decided by the server.
//
// Happens-before edges:
//
//	E1  CAS on count of Release  ->  Add or CAS on count of an acquirer that finds a free permit
//	E2  CAS on count and Add to owed of Release  ->  load of owed by the server  ->  post of the waiter's sema  ->  its wait
//	E3  CAS on line by the waiter  ->  swap of line by the server   the server sees the waiter's next; it owns next from there on
//	E4  CAS of turn to free  ->  swap of turn by the next server    the next server sees the waiters in order
//
// Progress: TryAcquire is lock-free, and so are an Acquire that finds a permit
// and every Release as to what the caller must do for itself; no call waits for
// the turn. A releaser or waiter that is the server may be kept at it while
// others bring work. While a server is stalled, grants are late: a permit that
// was released to a waiter waits with it; free permits are not affected.
//
// Source: the count that goes below zero is Dijkstra's; that an Acquire which
// gives up settles the count before its place in the queue follows Koval,
// Khalanskiy and Alistarh, "CQS: A Formally-Verified Framework for Fair and
// Abortable Synchronization" (PLDI 2023). Changed: a list with one server at a
// time instead of an array of cells, so that waiters that gave up can be dropped
// wherever they stand.
//
// Rejected: to leave waiters that gave up in the queue until their turn comes.
// It is simpler, but a caller that tries with a short timeout again and again
// while a permit is held for long fills the memory.
type Semaphore struct {
	_     NoCopy
	limit int64
	_     Pad
	count atomix.Int64
	_     Pad
	owed  atomix.Int64
	line  atomix.Pointer[waiter]
	turn  atomix.Uint32
	gone  atomix.Int64
	first atomix.Cell[*waiter] // the server's
	last  atomix.Cell[*waiter] // the server's
	size  atomix.Cell[int]     // the server's: waiters from first to last
}

// waiter is one blocked Acquire.
type waiter struct {
	state atomix.Uint32
	next  atomix.Cell[*waiter] // in line: the waiter's, then the server's; below in the stack, behind in the order
	sema  park.Sema            // gets its one token from the server that granted
}

// The states of a waiter.
const (
	waiterWaiting = iota
	waiterGranted
	waiterGone
)

// The states of turn.
const (
	turnFree  = iota
	turnTaken // by a server that has seen all there was
	turnAgain // by a server that has to look again
)

// NewSemaphore returns a semaphore with n permits, all of them free. It returns
// an error that wraps [ErrPermits] when n is not positive.
func NewSemaphore(n int) (*Semaphore, error) {
	if n <= 0 {
		return nil, fmt.Errorf("sync: NewSemaphore(%d): %w", n, ErrPermits)
	}
	s := &Semaphore{limit: int64(n)}
	s.count.Store(int64(n))
	return s, nil
}

// TryAcquire takes a permit if one is free, and reports whether it did. It
// never blocks, and never takes a permit that a waiter is to get.
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

// Acquire takes a permit. It blocks until there is one and everybody who came
// before has been served, or until ctx is done; then it returns ctx.Err() and
// has taken nothing. A ctx that is done from the start is refused, even if a
// permit is free. A ctx that is done when the permit is already on its way
// changes nothing: Acquire returns nil.
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

// wait gets the caller in line, which count knows of already.
func (s *Semaphore) wait(ctx context.Context, done <-chan struct{}) error {
	w := new(waiter)
	w.sema.Init(1)
	for {
		below := s.line.Load()
		w.next.Set(below)
		if s.line.CompareAndSwap(below, w) { // E3
			break
		}
	}
	s.serve()
	if w.sema.WaitDone(done) { // E2
		return nil
	}

	// Leave the count first: from then on there are as many grants to come as
	// other waiters.
	for {
		c := s.count.Load()
		if c >= 0 { // I1: there is a grant for each waiter, this one too
			invariant.Reached("sync: Semaphore: permit came after the context was done")
			w.sema.Wait() // E2
			return nil
		}
		if s.count.CompareAndSwap(c, c+1) {
			break
		}
	}
	if w.state.CompareAndSwap(waiterWaiting, waiterGone) {
		s.gone.Add(1)
	} else {
		// The server was faster, and this grant is another waiter's.
		invariant.Reached("sync: Semaphore: grant passed on")
		s.owed.Add(1)
	}
	s.serve() // I3
	return ctx.Err()
}

// Release gives a permit back: to the waiter that came first if there is one. It
// panics when all permits are free already. It never blocks.
func (s *Semaphore) Release() {
	for {
		c := s.count.Load()
		if c >= s.limit {
			panic("sync: Semaphore.Release: all permits are free already")
		}
		if s.count.CompareAndSwap(c, c+1) { // E1, E2
			if c < 0 {
				s.owed.Add(1) // E2
				s.serve()
			}
			return
		}
	}
}

// serve does what is to be done in the order of waiters: now, or by the server
// that is at it and will look again.
func (s *Semaphore) serve() {
	if s.turn.Swap(turnAgain) != turnFree { // E4
		return // I3: that server cannot end before it has seen turnAgain
	}
	for {
		s.turn.Store(turnTaken) // before the look: what comes after it is seen, or sets turnAgain
		s.admit()
		s.grant()
		s.drop()
		if s.turn.CompareAndSwap(turnTaken, turnFree) { // E4
			return // ends at the latest when no other goroutine brings work
		}
	}
}

// admit puts the waiters in line at the end of the order. Server only.
func (s *Semaphore) admit() {
	w := s.line.Swap(nil) // E3
	if w == nil {
		return
	}
	newest, n := w, 1
	var behind *waiter
	for { // reverse: the stack has the newest on top
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

// grant makes the grants that are owed. One that finds nobody in order is for a
// waiter that is not in line yet, and will serve. Server only.
func (s *Semaphore) grant() {
	for s.first.Get() != nil && s.owed.Load() > 0 { // E2
		w := s.first.Get()
		s.first.Set(w.next.Get())
		if s.first.Get() == nil {
			s.last.Set(nil)
		}
		w.next.Set(nil)
		s.size.Set(s.size.Get() - 1)
		if w.state.CompareAndSwap(waiterWaiting, waiterGranted) {
			s.owed.Add(-1)
			w.sema.Post() // E2
		} else {
			invariant.Reached("sync: Semaphore: turn of a waiter that gave up")
			s.gone.Add(-1)
		}
	}
}

// drop unlinks the waiters that gave up once they are the half of all: each
// waiter is looked at twice on average, and never are more kept than have use.
// Server only.
func (s *Semaphore) drop() {
	if gone := s.gone.Load(); gone <= 0 || 2*gone < int64(s.size.Get()) {
		return
	}
	var last *waiter
	n := 0
	for w := s.first.Get(); w != nil; {
		next := w.next.Get()
		switch {
		case w.state.Load() != waiterGone:
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
	s.gone.Add(int64(n - s.size.Get()))
	s.size.Set(n)
}
