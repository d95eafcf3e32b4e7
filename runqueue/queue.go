package runqueue

import (
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Queue is the run queue of one place: a [Ring], and an unbounded overflow queue for
// the nodes that do not fit. The zero Queue is empty and ready to use. It must not be
// copied. No method blocks.
//
// One goroutine at a time is the owner. Only the owner calls the methods, with these
// exceptions: any goroutine may call PushOverflow, Available, Empty, Len and AtLeast. Any goroutine
// that is not the owner may call StealAll, and the owner of another queue may name this
// queue as the victim of its StealFrom.
//
// A method that returns pushed or spilled as true has made nodes visible, or has left
// nodes in a part of the queue that other goroutines may have found held. Its caller notifies a
// worker. When all callers do so, no node stays queued while a worker is parked.
type Queue struct {
	_        lfsync.NoCopy
	ring     Ring
	overflow mpsc.Queue
}

// Algorithm of Queue: the ring and the overflow queue have algorithms of their own.
// Queue moves nodes between them.
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
//	I1  a node is in the ring, in the overflow queue, or held by a caller that moves
//	    it. A caller that has moved nodes returns that as spilled, pushed or done
//
// Progress: Push, PushList and Pop are lock-free. The other methods skip an overflow
// queue that another consumer holds and a ring that another thief holds.

// Push adds n. When the ring is full, the older half of the ring and n move to the
// overflow queue, in order. When a thief holds the full ring, n alone moves. Push
// reports whether nodes moved to the overflow queue. Only the owner may call Push. It
// never blocks.
func (q *Queue) Push(n *mpsc.Node) (spilled bool) {
	if q.ring.Push(n) {
		return false
	}
	return q.pushSlow(n)
}

// pushSlow is separate from Push so that Push stays short.
func (q *Queue) pushSlow(n *mpsc.Node) (spilled bool) {
	var l mpsc.List
	l.Push(n)
	return q.PushList(&l)
}

// PushList adds the nodes of l in order and leaves l empty. The nodes that fit go to
// the ring and are published at once. The rest goes to the overflow queue behind the
// older half of the ring, as in Push. PushList reports whether nodes went to the
// overflow queue. Only the owner may call PushList. It never blocks.
func (q *Queue) PushList(l *mpsc.List) (spilled bool) {
	for {
		q.ring.PushList(l)
		if l.Empty() {
			return false
		}
		var out mpsc.List
		if !q.ring.popHalf(&out) {
			if q.ring.freeSlots(q.ring.tail.Load()) > 0 {
				invariant.Reached("runqueue: PushList: a thief freed slots")
				continue
			}
			invariant.Reached("runqueue: PushList: full and held")
		}
		out.Append(l)
		q.PushOverflow(&out)
		return true
	}
}

// PushOverflow adds the nodes of l to the overflow queue as one push, leaves l empty,
// and returns true. The push cannot fail, because the overflow queue is never sealed.
// Any goroutine may call PushOverflow. It never blocks.
func (q *Queue) PushOverflow(l *mpsc.List) bool {
	ok := q.overflow.PushList(l)
	invariant.Assert(ok, "runqueue: PushOverflow: the overflow queue is sealed")
	return ok
}

// Pop removes and returns the oldest node of the ring, or returns nil when the ring is
// empty. Only the owner may call Pop. It never blocks.
func (q *Queue) Pop() *mpsc.Node { return q.ring.Pop() }

// Refill takes up to Capacity/2 nodes from the overflow queue, limited by the free
// slots of the ring. It returns the first node as n and moves the others to the ring.
//
// pushed reports that more nodes are available now, in the ring or still in the
// overflow queue. Other goroutines may have found the overflow queue held, so the
// caller notifies a worker. n is nil when the overflow queue was empty or another
// consumer holds it; pushed is then false. Only the owner may call Refill. It never
// blocks.
func (q *Queue) Refill() (n *mpsc.Node, pushed bool) { return q.fill(&q.overflow, mpsc.LIFO) }

// RefillFrom is Refill from the queue inj, popped in the order o.
func (q *Queue) RefillFrom(inj *mpsc.Queue, o mpsc.Order) (n *mpsc.Node, pushed bool) {
	return q.fill(inj, o)
}

// fill is Refill from src, popped in the order o.
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
		// Nodes were pushed after Pop returned nil. The goroutine that was notified
		// of them may have found the token held.
		invariant.Reached("runqueue: Refill: pushed after Pop")
	}
	return nil, false
}

// TakeOverflow takes one node from the overflow queue and moves no other. n and more
// are as n and pushed of Refill. Only the owner may call it. It never blocks.
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

// StealFrom takes nodes from victim, the queue of another owner. It first takes from
// the overflow queue of victim, as Refill does. If it gets no node there, it takes the
// older half of the ring of victim, rounded up and limited by the free slots of q. It
// returns one node as n and moves the others to the ring of q.
//
// pushed reports that more nodes are available now, in the ring of q or in the part of
// victim that StealFrom took from. When n is nil, victim was empty, or other goroutines
// were taking from it. StealFrom panics when victim is q. Only the owner of q may call
// it. It never blocks.
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

// TakeNewest looks at the limit newest nodes of the ring, removes the newest node that
// match accepts, and returns it. It returns nil when match accepts none, or when a
// thief holds the ring. match must be quick and must not use the queue. Only the owner
// may call TakeNewest. It never blocks.
//
// Thieves find the ring held during the call. The caller therefore notifies a worker
// unless q is empty afterwards.
func (q *Queue) TakeNewest(match func(*mpsc.Node) bool, limit int) *mpsc.Node {
	return q.ring.TakeNewest(match, limit)
}

// Drain moves all nodes of the ring, oldest first, and then all nodes of the overflow
// queue to l. done reports whether the queue is drained. It is false when a thief held
// the overflow queue and may have left nodes in it. Nodes that thieves took before
// stay with the thieves. Only the owner may call Drain. It never blocks.
func (q *Queue) Drain(l *mpsc.List) (done bool) {
	for n := q.ring.Pop(); n != nil; n = q.ring.Pop() {
		l.Push(n)
	}
	return q.drainOverflow(l)
}

// StealAll is Drain for a goroutine that is not the owner. It takes the nodes that a
// thief can take. done is false when another thief, or the owner, held the ring or the
// overflow queue. Any goroutine may call StealAll. It never blocks.
func (q *Queue) StealAll(l *mpsc.List) (done bool) {
	s := q.ring.stealAll(l)
	return q.drainOverflow(l) && s == mpsc.Empty
}

// drainOverflow moves the nodes of the overflow queue to l. It returns false when
// another consumer holds the overflow queue.
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

// Empty reports whether the queue has no node to take. Any goroutine may call it. It
// only loads. The result is a hint: Empty may miss nodes that a goroutine is moving,
// and that goroutine reports them.
func (q *Queue) Empty() bool { return q.ring.Empty() && q.overflow.Empty() }

// Len returns the number of nodes in the ring, as [Ring.Len] does. It does not count
// the overflow queue.
func (q *Queue) Len() int { return q.ring.Len() }

// AtLeast returns a lower bound of the number of nodes to take: those of the ring, and one
// if the overflow queue is not empty. The overflow queue has no length. Any goroutine may call
// AtLeast. It only loads. The result is a hint, as that of Empty.
func (q *Queue) AtLeast() int {
	n := q.ring.Len()
	if !q.overflow.Empty() {
		n++
	}
	return n
}
