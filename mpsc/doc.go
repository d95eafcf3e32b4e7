// Package mpsc provides intrusive queues of nodes with many producers and one
// consumer at a time.
//
// A [Node] is the link that makes a value queueable. A type embeds a Node, so the
// queues own no memory and allocate nothing. A [List] is a chain of nodes for one
// goroutine; a whole list is pushed at once. A [Queue] is shared by goroutines. It
// is unbounded, any goroutine pushes to it with one compare-and-swap, and no method
// blocks.
//
// # Consuming
//
// Only the holder of the consumer token of a queue pops. One [Consumer] holds the
// token at a time. [Queue.TryAcquire] takes the token or returns the reason at
// once. [Empty] means that there is nothing to pop. [Contended] means that another
// consumer holds the token.
//
// A goroutine that found the token held does not come back by itself. The holder
// therefore answers for the nodes that such goroutines could not take:
// [Consumer.Release] returns true when nodes are left in the queue. Either the
// holder stopped before its Pop returned nil, or the nodes were pushed after its
// last Pop. A releaser that gets true notifies another consumer or comes back
// itself:
//
//	func serve(q *mpsc.Queue) {
//		var c mpsc.Consumer
//		for q.TryAcquire(&c, mpsc.LIFO) == mpsc.Acquired {
//			for n := c.Pop(); n != nil; n = c.Pop() {
//				handle(n)
//			}
//			if !c.Release() {
//				return
//			}
//		}
//	}
//
// When every producer calls serve after its push, the queue is empty once all
// calls have returned.
//
// # Order
//
// A consumer takes all pushed nodes with one compare-and-swap. These nodes are a
// grab. The consumer pops from the grab, in memory of its own, until the grab is
// empty. [LIFO] pops the latest push of the grab first, which costs nothing and
// finds warm caches. [FIFO] pops the oldest push first and reverses each grab for
// it. When all consumers ask for FIFO, all pushes are popped in the order in which
// they were made. The nodes of one list keep their order either way.
//
// # Closing
//
// [Queue.Seal] makes every later push fail and hands over the pushed nodes that no
// consumer has grabbed. Each push has exactly one of three outcomes: it is refused,
// Seal returns its nodes, or its nodes remain for consumers to pop.
//
// # What it is not for
//
// A consumer that stops for ever keeps its grab. There is no blocking Pop. A
// consumer that parks combines Empty, Release and a parker, as package sched does.
// There is no length, because a length would cost every producer a second atomic
// operation.
//
// Terms are defined in docs/GLOSSARY.md.
package mpsc
