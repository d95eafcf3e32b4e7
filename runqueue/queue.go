package runqueue

import (
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Queue is the run queue of one worker: a [Ring], and an overflow queue without
// bounds for what does not fit. The zero Queue is empty and ready to use. It must
// not be copied.
//
// Roles:
//
//	owner  the one goroutine at a time that calls Push, PushAll, PushList, Pop,
//	       Refill, RefillFrom, StealFrom, TakeNewest, TakeOverflow and Drain
//	thief  any goroutine that names this queue as the victim of its StealFrom, or
//	       calls StealAll
//
// Invariants:
//
//	I1  a node is in the ring, in the overflow queue, or in the hands of a caller
//	    that moves it; who moved nodes says so by spilled, pushed or done
//
// A method that returns pushed or spilled = true has made nodes visible, or has
// left some that others were turned away from. Who parks workers has to notify
// one then; if everybody does, no node is left while a worker sleeps.
//
// Progress: Push, PushList and Pop are lock-free. The others turn away when
// another consumer has the overflow queue or another thief has the ring.
type Queue struct {
	_        lfsync.NoCopy
	ring     Ring
	overflow mpsc.Queue
}

// Push adds n. When the ring is full, the older half of it and n move to the
// overflow queue, in order; when a thief holds the full ring, n alone. It reports
// whether that was the case. Only the owner may call Push. It never blocks.
func (q *Queue) Push(n *mpsc.Node) (spilled bool) {
	if q.ring.Push(n) {
		return false
	}
	return q.pushSlow(n)
}

// pushSlow is apart so that Push is short.
func (q *Queue) pushSlow(n *mpsc.Node) (spilled bool) {
	var l mpsc.List
	l.Push(n)
	return q.PushList(&l)
}

// PushList adds the nodes of l in order and leaves l empty. What fits goes to the
// ring and is published at once; the rest as in Push, after the older half of the
// ring. It reports whether nodes went to the overflow queue. Only the owner may
// call PushList. It never blocks.
func (q *Queue) PushList(l *mpsc.List) (spilled bool) {
	for {
		q.ring.PushList(l)
		if l.Empty() {
			return false
		}
		var out mpsc.List
		if !q.ring.popHalf(&out) {
			if q.ring.room(q.ring.tail.Load()) > 0 {
				invariant.Reached("runqueue: PushList: a thief made room")
				continue
			}
			invariant.Reached("runqueue: PushList: full and held")
		}
		out.Append(l)
		q.PushOverflow(&out)
		return true
	}
}

// PushOverflow adds the nodes of l to the overflow queue, as one push, and leaves
// l empty. It reports whether l was empty or the push succeeded, which it does.
// Any goroutine may call it. It never blocks.
func (q *Queue) PushOverflow(l *mpsc.List) bool {
	ok := q.overflow.PushList(l)
	invariant.Assert(ok, "runqueue: PushOverflow: the overflow queue is sealed")
	return ok
}

// Pop takes the oldest node of the ring, or returns nil when the ring is empty.
// Only the owner may call Pop. It never blocks.
func (q *Queue) Pop() *mpsc.Node { return q.ring.Pop() }

// Refill takes up to Capacity/2 nodes from the overflow queue, as far as there is
// room for them: the first is returned, the others go to the ring. pushed says
// that more nodes can be taken now, in the ring or still in the overflow queue,
// which others may have found closed to them. It is false when n is nil: then
// there was nothing, or another consumer has the overflow queue. Only the owner
// may call Refill. It never blocks.
func (q *Queue) Refill() (n *mpsc.Node, pushed bool) { return q.fill(&q.overflow, mpsc.LIFO) }

// RefillFrom is Refill from another queue, read in the order o.
func (q *Queue) RefillFrom(inj *mpsc.Queue, o mpsc.Order) (n *mpsc.Node, pushed bool) {
	return q.fill(inj, o)
}

// fill is Refill from src.
func (q *Queue) fill(src *mpsc.Queue, o mpsc.Order) (n *mpsc.Node, pushed bool) {
	var c mpsc.Consumer
	for src.TryAcquire(&c, o) == mpsc.Acquired {
		n = c.Pop()
		if n != nil {
			pushed = q.ring.fill(&c)
		}
		more := c.Release()
		if n != nil {
			return n, pushed || more
		}
		if !more {
			break
		}
		// Nodes came when Pop had found none, and who was told of them may have
		// been turned away.
		invariant.Reached("runqueue: Refill: pushed after Pop")
	}
	return nil, false
}

// TakeOverflow takes one node from the overflow queue and moves nothing. more and
// n are as pushed and n of Refill. Only the owner may call it. It never blocks.
func (q *Queue) TakeOverflow() (n *mpsc.Node, more bool) {
	var c mpsc.Consumer
	for q.overflow.TryAcquire(&c, mpsc.LIFO) == mpsc.Acquired {
		n = c.Pop()
		if more = c.Release(); n != nil || !more {
			return n, more
		}
	}
	return nil, false
}

// StealFrom takes nodes from victim, whose owner another is: from its overflow
// queue as in Refill; else the older half of its ring, rounded up, or what fits.
// One is returned, the others go to the own ring. pushed is as in Refill: more
// nodes can be taken now, from the own ring or from what it left of the victim's.
// When n is nil, victim was empty, or others were taking from it. It panics when
// victim is q. Only the owner of q may call it. It never blocks.
func (q *Queue) StealFrom(victim *Queue) (n *mpsc.Node, pushed bool) {
	if victim == q {
		panic("runqueue: StealFrom: a queue cannot steal from itself")
	}
	if n, pushed = q.fill(&victim.overflow, mpsc.LIFO); n != nil {
		return n, pushed
	}
	n, moved, _ := victim.ring.StealInto(&q.ring)
	return n, n != nil && (moved > 1 || !victim.ring.Empty())
}

// TakeNewest removes the newest node that match accepts among the limit newest of
// the ring, and returns it; nil when there is none, or when a thief is at work.
// match must be quick and must not use the queue. Only the owner may call it. It
// never blocks. Thieves that come meanwhile are turned away: unless q is empty
// afterwards, the caller has to notify.
func (q *Queue) TakeNewest(match func(*mpsc.Node) bool, limit int) *mpsc.Node {
	return q.ring.TakeNewest(match, limit)
}

// Drain moves all nodes of the ring, oldest first, and then of the overflow queue
// to l. It reports whether that was all: false means that a thief had the overflow
// queue and may have left something in it. What thieves had taken before is
// theirs. Only the owner may call Drain. It never blocks.
func (q *Queue) Drain(l *mpsc.List) (done bool) {
	for n := q.ring.Pop(); n != nil; n = q.ring.Pop() {
		l.Push(n)
	}
	return q.drainOverflow(l)
}

// StealAll is Drain for anybody who is not the owner. It takes what a thief can:
// false means that another thief, or the owner, had the ring or the overflow
// queue. Any goroutine may call it. It never blocks.
func (q *Queue) StealAll(l *mpsc.List) (done bool) {
	s := q.ring.stealAll(l)
	return q.drainOverflow(l) && s == mpsc.Empty
}

// drainOverflow moves what is in the overflow queue to l.
func (q *Queue) drainOverflow(l *mpsc.List) (done bool) {
	var c mpsc.Consumer
	for {
		switch q.overflow.TryAcquire(&c, mpsc.LIFO) {
		case mpsc.Empty:
			return true
		case mpsc.Contended:
			return false
		}
		for n := c.Pop(); n != nil; n = c.Pop() {
			l.Push(n)
		}
		if !c.Release() {
			return true
		}
	}
}

// Empty reports whether there is nothing to take. Anybody may call it. It only
// loads. It is a hint: nodes that are moved at the time may be missed, and who
// moves them will tell.
func (q *Queue) Empty() bool { return q.ring.Empty() && q.overflow.Empty() }

// Len returns how many nodes are in the ring, as [Ring.Len] does; the overflow
// queue is not counted.
func (q *Queue) Len() int { return q.ring.Len() }
