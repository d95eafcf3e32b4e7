package mpsc

import (
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Queue is an unbounded queue of nodes with many producers and one consumer at a
// time. The zero Queue is empty and ready to use. Safe for concurrent use; it must
// not be copied. No method blocks.
//
// Any goroutine may push: [Queue.Push] adds one node, [Queue.PushList] adds a list.
// A goroutine that pops needs the consumer token of the queue. [Queue.TryAcquire]
// takes the token for a [Consumer], and [Consumer.Release] gives it back:
//
//	var c mpsc.Consumer
//	for q.TryAcquire(&c, mpsc.FIFO) == mpsc.Acquired {
//		for n := c.Pop(); n != nil; n = c.Pop() {
//			handle(n)
//		}
//		if !c.Release() {
//			break
//		}
//	}
//
// A Release that returns true has left nodes in the queue. Its caller notifies
// another consumer or comes back itself, as above. Otherwise these nodes may stay
// queued, because goroutines that found the token held do not come back.
type Queue struct {
	_    lfsync.NoCopy
	_    lfsync.Pad
	head atomix.Pointer[Node]
	_    lfsync.Pad

	consumerToken atomix.Uint32
	cache         atomix.Cell[*Node] // I1
	_             lfsync.Pad
}

// Algorithm of Queue: producers push to a stack. The holder of the consumer token
// takes the whole stack at once, which is a grab, and pops the grab from memory that
// is its own. The unpopped rest of a grab returns to cache together with the token.
//
// Roles:
//
//	producer  any goroutine in Push or PushList
//	consumer  the holder of the consumer token, from TryAcquire until Release. No
//	          goroutine waits for the token
//	sealer    the goroutine whose Seal closes the queue for producers
//
// State:
//
//	head           stack of the nodes pushed and not grabbed, linked from new to
//	               old: CAS by producers, CAS to nil by the consumer, swapped for
//	               the sentinel by the sealer
//	consumerToken  tokenFree, tokenHeld, or tokenCached: CAS to tokenHeld by the
//	               goroutine that takes the token, stored by the consumer
//	cache          rest of the grab of the last consumer: read and written by the
//	               consumer only
//
// Invariants:
//
//	I1  at most one consumer holds the token. Only that consumer accesses cache,
//	    takes from head, and reads or writes the links of the nodes that it took
//	I2  cache is not nil exactly when consumerToken is tokenCached
//	I3  once head is the sentinel, it stays the sentinel
//	I4  while the token is free and nodes are queued, one of three holds: a producer
//	    is still in Push, the Release after those pushes returned true, or no
//	    goroutine has found the token held since those pushes. No node is stranded
//	    when producers act after a push and consumers act on a Release that returns
//	    true
//
// Linearization points:
//
//	Push, PushList  the CAS of head; refused: the load of head that returns the
//	                sentinel
//	Pop             the CAS of head to nil, for the whole grab. A Pop from the grab
//	                is local. nil: the load of head
//	TryAcquire      the CAS of consumerToken. Contended: the load of consumerToken,
//	                or the CAS that failed. Empty has none: TryAcquire misses a node
//	                that is pushed between its loads of head and of consumerToken
//	                while other consumers pop the earlier nodes
//	Release         the store of consumerToken; its result: the load of head after
//	                that store
//	Seal            the swap of head
//
// Happens-before edges:
//
//	E1  CAS of head by a producer  ->  CAS of head to nil, swap   the taker sees
//	    the links and all writes to the nodes before the push
//	E2  store of consumerToken  ->  CAS of consumerToken   the next consumer sees
//	    cache and links
//	E3  store of consumerToken, then load of head, against CAS of head, then load
//	    of consumerToken: either Release sees the push, or the goroutine that was
//	    notified of the push finds the token free. needs: sequentially consistent
//
// Progress: Push and PushList are lock-free: a retry means that another push or a
// grab succeeded. TryAcquire, Release and Empty are wait-free. Seal is wait-free
// except for its walk over the nodes that it takes. Pop is lock-free: a retry of its
// grab means that a push succeeded. A consumer that stalls keeps the token and its
// grab. Producers continue, and other consumers find the token held.
//
// Limit: none. A head that has changed and changed back (ABA) is harmless. Producers
// compare head only with the node that they link to, and the consumer takes the
// whole stack.
//
// Source: Treiber's stack. The try-lock consumer is that of kprotty/zap (Queue in
// thread_pool.zig). Changed: the flags have a word of their own, because Go has no
// spare bits in pointers that may be nil. Release loads head again. The links mark
// the end of a pushed list, so a reversed grab keeps lists in order. Seal is new.
//
// Rejected: Vyukov's queue (swap the tail, then link), which is FIFO by itself. A
// visit for one node takes 42 ns there and 26 ns here. 256 nodes take 28 ns each
// there and 13 ns here, alone on one core of an AMD EPYC. A producer that is
// preempted between swap and link also hides all later pushes.

// The values of Queue.consumerToken.
const (
	tokenFree   = iota // the token is free, and cache is nil
	tokenHeld          // a consumer holds the token
	tokenCached        // the token is free, and cache is not nil
)

// sealed is the sentinel: the head of a sealed queue. It is never linked or read.
var sealed Node

// Push adds n and returns true. It returns false when the queue is sealed; n then
// still belongs to the caller. Any goroutine may call Push. It never blocks.
func (q *Queue) Push(n *Node) bool {
	for {
		h := q.head.Load()
		if h == &sealed {
			n.setLink(nil)
			return false
		}
		n.setLink(h)
		if q.head.CompareAndSwap(h, n) { // E1, E3: n belongs to the consumer from here on
			return true
		}
	}
}

// PushList adds the nodes of l as one push in the order of l, leaves l empty, and
// returns true. It returns false when the queue is sealed; l is then unchanged. Any
// goroutine may call PushList. It never blocks.
func (q *Queue) PushList(l *List) bool {
	first, last := l.head, l.tail
	if first == nil {
		return q.head.Load() != &sealed
	}
	for {
		h := q.head.Load()
		if h == &sealed {
			last.setLink(nil)
			return false
		}
		last.setLink(h)
		if q.head.CompareAndSwap(h, first) { // E1, E3
			l.clear()
			return true
		}
	}
}

// Empty reports whether the queue has no node to take. Any goroutine may call it. It
// only loads. A result of false may be out of date at once.
//
// A result of true covers the nodes whose push was complete when the call began. At
// some moment during the call, each of them had been popped or was held by a
// consumer. The Release of that consumer reports whether it puts nodes back.
func (q *Queue) Empty() bool {
	// This order makes the second load the moment of the result, because a node
	// moves from head to the consumer to cache and never back to head.
	return !q.pushed() && q.consumerToken.Load() != tokenCached // I2
}

// pushed reports whether there are nodes to grab.
func (q *Queue) pushed() bool {
	h := q.head.Load()
	return h != nil && h != &sealed
}

// Seal makes all later pushes fail and returns true. It moves the nodes that were
// pushed and not grabbed to the end of l, oldest push first. Grabbed nodes remain
// for consumers, whether a consumer holds them now or its Release has put them back.
// Seal returns false when the queue was already sealed; l is then unchanged. Any
// goroutine may call Seal. It never blocks.
func (q *Queue) Seal(l *List) bool {
	h := q.head.Swap(&sealed) // E1, I3
	if h == &sealed {
		return false
	}
	for n := reverse(h); n != nil; {
		next := n.take()
		l.Push(n)
		n = next
	}
	return true
}

// reverse turns a stack into the order of its pushes. The nodes of one pushed list
// keep their order.
func reverse(n *Node) *Node {
	var done *Node
	for first := n; first != nil; {
		last := first
		next, same := last.link()
		for same {
			last = next
			next, same = last.link()
		}
		last.setLink(done)
		done, first = first, next
	}
	return done
}

// TryAcquire takes the consumer token for c if the token is free. Any goroutine may
// call it. It never blocks. It panics when c already holds a token. The results:
//
//   - [Acquired]: c pops in the order o until its Release.
//   - [Empty]: all nodes whose push was complete when the call began have been
//     popped. The call has written nothing. The queue may have held other nodes at
//     every moment of the call, so a caller that counts nodes and expects one of
//     them tries again.
//   - [Contended]: another consumer held the token. The Release of that consumer
//     reports whether nodes were left, so the caller can look elsewhere.
func (q *Queue) TryAcquire(c *Consumer, o Order) Status {
	if c.q != nil {
		panic("mpsc: TryAcquire: the consumer holds a token already")
	}
	pushed := q.pushed() // before the token, as in Empty
	s := q.consumerToken.Load()
	if s == tokenHeld {
		return Contended
	}
	if s == tokenFree && !pushed { // I2
		return Empty
	}
	if !q.consumerToken.CompareAndSwap(s, tokenHeld) { // E2, I1
		invariant.Reached("mpsc: TryAcquire: lost the token")
		return Contended
	}
	c.q, c.order = q, o
	if s == tokenCached {
		c.next = q.cache.Get() // I1, I2
		q.cache.Set(nil)
		invariant.Assert(c.next != nil, "mpsc: TryAcquire: the cache is empty")
	}
	return Acquired
}

// Consumer holds the consumer token of a [Queue] from [Queue.TryAcquire] until
// [Consumer.Release]. The zero Consumer is ready to use and can be used again after
// each Release. It must not be copied and is not safe for concurrent use.
type Consumer struct {
	_     lfsync.NoCopy
	q     *Queue // nil while c holds no token
	next  *Node  // the rest of the grab
	order Order
}

// Pop removes and returns the next node, or returns nil when the queue has no node
// now. The returned node carries no link. Pop never blocks. It panics when c holds no
// token.
func (c *Consumer) Pop() *Node {
	n := c.next
	if n == nil {
		if n = c.grab(); n == nil {
			return nil
		}
	}
	c.next = n.take()
	return n
}

// grab takes all pushed nodes, in the order of c.
func (c *Consumer) grab() *Node {
	if c.q == nil {
		panic("mpsc: Pop: the consumer holds no token")
	}
	for {
		h := c.q.head.Load()
		if h == nil || h == &sealed {
			return nil
		}
		// Not a swap: a swap would open a queue that was sealed after the load.
		if c.q.head.CompareAndSwap(h, nil) { // E1, I3
			if c.order == FIFO {
				h = reverse(h)
			}
			return h
		}
		invariant.Reached("mpsc: Pop: grab retried")
	}
}

// More reports whether a Pop would return a node now. A result of true stays true
// until c pops or releases, unless the queue is sealed. It never blocks. It panics
// when c holds no token.
func (c *Consumer) More() bool {
	if c.q == nil {
		panic("mpsc: More: the consumer holds no token")
	}
	return c.next != nil || c.q.pushed()
}

// PutBack puts the nodes of l in front of those that c has not popped, in the order of l, and leaves l
// empty. The next Pop returns the first of them. It never blocks. It panics when c holds no token.
func (c *Consumer) PutBack(l *List) {
	if c.q == nil {
		panic("mpsc: PutBack: the consumer holds no token")
	}
	if l.head == nil {
		return
	}
	l.tail.setLink(c.next)
	c.next = l.head
	l.clear()
}

// Release gives the token back and reports whether nodes are left in the queue. They
// may be the rest of the grab, or nodes that were pushed while c held the token. A
// goroutine that was notified of such nodes may have found the token held. When
// Release returns true, the caller therefore notifies another consumer or comes back
// itself. It never blocks. It panics when c holds no token.
func (c *Consumer) Release() (more bool) {
	q, n := c.q, c.next
	if q == nil {
		panic("mpsc: Release: the consumer holds no token")
	}
	c.q, c.next = nil, nil
	if n != nil {
		q.cache.Set(n)                     // I1
		q.consumerToken.Store(tokenCached) // E2, I2
		return true                        // I4
	}
	q.consumerToken.Store(tokenFree) // E2, E3
	return q.pushed()                // E3, I4: the token was held until now
}
