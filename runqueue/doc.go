// Package runqueue holds the queues that a worker runs tasks from.
//
// A [Ring] is a bounded queue with one owner, who pushes and pops for about ten
// nanoseconds together, and any number of thieves, who take the older half at one
// go. A [Queue] is a ring and, for what does not fit, an overflow queue without
// bounds. Both hold nodes of package mpsc, know nothing of tasks, and allocate
// nothing.
//
// # The owner
//
// At any time one goroutine is the owner of a Queue: it alone calls Push, PushAll,
// PushList, Pop, Refill, RefillFrom, TakeNewest, TakeOverflow and Drain, and
// StealFrom with its queue as the receiver. The role may pass to another goroutine
// by anything that orders the two. Everybody may look ([Queue.Empty],
// [Queue.Available], [Queue.Len]) and push to the overflow queue
// ([Queue.PushOverflow]), and everybody else may steal: [Queue.StealFrom] with the
// queue as the victim, [Queue.StealAll].
//
// Tasks are run in the order of their pushes, as long as they stay in the ring. A
// push to a full ring moves its older half and the new node to the overflow queue,
// so that the pushes that follow find room again; Refill brings up to half a ring
// back. A worker looks for work in this order:
//
//	n := q.Pop()
//	if n == nil {
//		n, pushed = q.Refill()
//	}
//	if n == nil {
//		n, pushed = q.RefillFrom(&injection, mpsc.FIFO)
//	}
//	for i := 0; n == nil && i < len(victims); i++ {
//		n, pushed = q.StealFrom(victims[i])
//	}
//
// # Who has to tell
//
// Nothing in this package waits. An overflow queue that another consumes and a
// ring that another steals from count as empty, so that a worker may find nothing,
// and park, while there is something. The one it met makes up for that: when a
// method returns spilled or pushed as true, there are nodes to be had that others
// may not have seen, and the caller notifies a worker. After [Queue.TakeNewest] the
// caller does so unless the queue is empty. If everybody does, no node lies in a
// queue while a worker is parked.
//
// # Stalls
//
// An owner is never held up: with a thief stopped in the middle of a steal it goes
// on popping, and what it pushes goes to the overflow queue once the ring is full.
// Others cannot steal from that ring meanwhile; from the overflow queue they can.
// A thief that never goes on takes at most half a ring of nodes with it.
package runqueue
