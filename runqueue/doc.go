// Package runqueue provides the queue of a place, from which a worker takes its tasks.
//
// A [Ring] is a bounded queue with one owner and any number of thieves. A push and a pop
// by the owner take 16 to 19 ns together on a virtual machine with two Xeon processors
// (docs/design/0002-places.md). A thief takes the older half of the ring at once. A
// [Queue] is a ring and an unbounded overflow queue for the nodes that do not fit. The
// elements of both are nodes of package mpsc, which any type can embed. Both allocate
// nothing.
//
// # The owner
//
// At any time one goroutine is the owner of a Queue. Any event that orders two
// goroutines may pass the role from one to the other. Only the owner calls the methods
// of its queue, with three exceptions:
//
//   - Any goroutine may call [Queue.Empty], [Queue.Available] and [Queue.Len].
//   - Any goroutine may call [Queue.PushOverflow].
//   - Any goroutine that is not the owner may steal. It calls [Queue.StealAll], or
//     [Queue.StealFrom] of a queue of its own with this queue as the victim.
//
// Nodes are popped in the order of their pushes while they stay in the ring. A push to
// a full ring moves the older half of the ring and the new node to the overflow queue,
// so the next pushes find free slots. Refill brings up to half a ring back. A worker
// looks for work in this order:
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
// # Notifications
//
// No method of this package waits. An overflow queue whose consumer token is held counts
// as empty, and so does a ring that a thief holds. A worker that finds them held may
// therefore park while nodes are queued. The holder makes up for that: it notifies.
//
// When a method returns spilled or pushed as true, nodes are available that other workers
// may not have seen, and the caller notifies a worker. After [Queue.TakeNewest] the caller
// notifies a worker unless the queue is empty. When all callers do so, no node stays queued
// while a worker is parked.
//
// # Descheduled thieves
//
// The owner never waits for a thief. While a thief is descheduled in the middle of a
// steal, the owner continues to pop, and its pushes go to the overflow queue once the
// ring is full. Other thieves cannot steal from that ring in this state, but they can
// steal from the overflow queue. A thief that never continues takes at most half a
// ring of nodes with it.
//
// Terms are defined in docs/GLOSSARY.md.
package runqueue
