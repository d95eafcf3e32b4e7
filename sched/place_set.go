package sched

import (
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// placeSet is a set of places, with one bit for each index. A search visits the members of a
// set. It loads one word for each 64 places that were made, and no place that has nothing to
// find.
//
// A scheduler has two sets. A place is a member of queued while its run queue may hold
// tasks. The holder adds it before it pushes the first task, or before it notifies of tasks
// that it has moved there. When the holder returns the place, it removes a place that it has
// added if the run queue is quiet: no task is there, and no consumer holds the overflow
// queue. A place is a member of computed when it has run a fork-join computation, and
// remains one.
//
// Roles:
//
//	holder   of a place: adds and removes it
//	drainer  pushes to the overflow queue of any place, and then adds that place
//	searcher visits the members
//
// State:
//
//	words   bit i%64 of word i/64 states that place i is a member: Or and And by the roles above
//	listed  of a place: the holder has added it to queued and has not removed it. Only the
//	        holder accesses it
//
// Invariants:
//
//	I1  a place whose queue holds a task is a member of queued, with two exceptions. The
//	    goroutine that has pushed or moved the task, or holds the queue, has not notified
//	    yet. Or the holder that returns the place has not looked at the queue yet
//	I2  a place with an open computation is a member of computed
//
// I1 when a holder removes its place: the queue was quiet, so the place has no older task.
// A drainer may push at the same time, and a thief may take some of its tasks and leave the
// others. The holder removes the place and then looks whether the queue is quiet. The
// drainer pushes and then adds the place. Either the holder sees a task or a consumer, adds
// the place again, and looks at all queues after that, or the drainer adds the place after
// the holder has removed it. A thief that still holds the queue then notifies of the tasks
// that it leaves.
//
// Happens-before edges:
//
//	E1  Or of a notifier  ->  load by a searcher that has taken the notification   the
//	    searcher visits the place (needs sequential consistency, as the push does)
//
// Progress: wait-free where Or and And are one instruction, and lock-free elsewhere.
//
// Rejected: a visit of each place that was made. A Go and the wait for it took 534 µs with
// 16,383 places.
type placeSet struct {
	words []atomix.Uint64
}

// init prepares for the places 0 to n-1. The words have cache lines of their own.
func (s *placeSet) init(n int) {
	const pad = int(lfsync.CacheLine / 8)
	k := (n + 63) / 64
	s.words = make([]atomix.Uint64, pad+k+pad)[pad : pad+k]
}

// add adds place i.
func (s *placeSet) add(i int) { s.words[i/64].Or(1 << (i % 64)) } // E1

// remove removes place i.
func (s *placeSet) remove(i int) { s.words[i/64].And(^(uint64(1) << (i % 64))) }

// any reports whether ok is true for a member below made. It visits the members from place
// first on and then those before it, and stops at the first one for which ok is true. first is
// below made, or 0.
func (s *placeSet) any(first, made int, ok func(i int) bool) bool {
	words := s.words[:(made+63)/64]
	if len(words) == 0 {
		return false
	}
	at := first / 64
	word := words[at].Load() // E1
	rest := word & (1<<(first%64) - 1)
	word &^= rest
	for left := len(words); ; left-- {
		for ; word != 0; word &= word - 1 {
			if ok(at*64 + bits.TrailingZeros64(word)) {
				return true
			}
		}
		if at++; at == len(words) {
			at = 0
		}
		switch {
		case left > 1:
			word = words[at].Load() // E1
		case left == 1:
			word = rest // of the first word
		default:
			return false
		}
	}
}

// list adds p to the places that may hold tasks. Only the holder of p calls it.
func (p *place) list(s *Scheduler) {
	if !p.listed {
		p.listSlow(s)
	}
}

//go:noinline
func (p *place) listSlow(s *Scheduler) {
	p.listed = true
	s.places.queued.add(p.index)
}

// unlist removes p from the places that may hold tasks if its queue is quiet. Only the holder
// of p calls it, when it returns p.
func (p *place) unlist(s *Scheduler) {
	if !p.listed || !p.queue.Quiet() {
		return
	}
	p.listed = false
	s.places.queued.remove(p.index)
	if !p.queue.Quiet() { // pushed by a drainer; a searcher may have missed the place
		p.list(s)
		s.placeAwaited.Store(true) // returnPlace looks at all queues
	}
}
