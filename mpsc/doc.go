// Package mpsc holds the intrusive queues that tasks wait in: many push, and one
// at a time pops.
//
// A [Node] is the link that makes a value of yours queueable: embed one, and the
// queues own no memory and allocate nothing. A [List] is a chain of nodes for one
// goroutine, to push many at once. A [Queue] is what goroutines share: it is
// unbounded, anybody pushes with one compare-and-swap, and nobody ever waits.
//
// # Consuming
//
// To pop takes the consumer token of the queue, which one [Consumer] holds at a
// time. [Queue.TryAcquire] gets it or says at once why not: there is nothing to
// pop ([Empty]), or another holds the token ([Contended]) and will deal with what
// is there. That second answer puts a duty on the holder. [Consumer.Release]
// returns true when nodes are left, be it that the holder had enough or that they
// came too late for its last Pop: whoever was told of them may have tried, been
// turned away, and gone to sleep. So the one who releases wakes somebody, or
// comes back:
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
// If every producer calls serve after its push, no node is ever left in the
// queue when all calls have returned.
//
// # Order
//
// A consumer grabs everything that was pushed with one compare-and-swap and pops
// from that, in memory of its own, until it is used up. [LIFO] pops the latest
// push of the grab first, which costs nothing and finds warm caches; [FIFO] pops
// the oldest first and reverses each grab for it, so that all pushes come out in
// the order in which they went in, as long as all consumers ask for FIFO. The
// nodes of one list keep their order either way.
//
// # Closing
//
// [Queue.Seal] makes every later push fail and hands over what nobody has
// grabbed: a push is refused, or its nodes are popped, or they are in what Seal
// returned or what consumers still find, exactly one of these.
//
// # What it is not for
//
// A consumer that stops for good keeps what it grabbed. There is no blocking Pop:
// who wants to sleep builds it from Empty, Release and a parking place, as package
// sched does. There is no length either: it would cost every producer a second
// atomic operation.
package mpsc
