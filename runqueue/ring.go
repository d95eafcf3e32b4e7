package runqueue

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Ring is a bounded queue of nodes with one owner and any number of thieves. It holds
// up to [Capacity] nodes. The zero Ring is empty and ready to use. It must not be
// copied. No method blocks.
//
// One goroutine at a time is the owner. Only the owner calls Push, PushList, Pop and
// TakeNewest of a ring, and StealInto of another ring with its own ring as dst. Any
// goroutine may call Len and Empty. The role may pass to another goroutine by any
// event that orders the two.
//
// A thief takes the older half of the ring at once:
//
//	n, moved, status := victim.StealInto(&own)
//
// A thief holds the ring during its steal. Another thief then gets [mpsc.Contended] and
// goes to another victim. The owner of a held ring pushes and pops without waiting, but
// the nodes that the thief takes occupy their slots until the thief gives the hold back.
type Ring struct {
	_    lfsync.NoCopy
	_    lfsync.Pad
	head atomix.Uint64
	_    lfsync.Pad
	tail atomix.Uint32
	_    lfsync.Pad

	slots [Capacity]atomix.Cell[*mpsc.Node] // I2, I3
	_     lfsync.Pad
}

// Algorithm of Ring: the owner pops one node by a CAS of head. A thief takes several
// nodes in two steps. It first takes the hold, which keeps out other thieves and
// TakeNewest and freezes steal. Only then it decides how many nodes to take: it loads
// tail and moves real by a CAS, which fails only when the owner has popped in between.
// The thief then empties the slots that it has claimed and gives the hold back by
// steal = real. The owner may fill those slots from then on.
//
// Roles:
//
//	owner   the one goroutine at a time that calls Push, PushList, Pop and
//	        TakeNewest on this ring, and StealInto with this ring as dst
//	thief   any goroutine that calls StealInto on this ring
//	holder  the thief, or the owner in TakeNewest, that has the hold
//
// State. Indices only grow, except that TakeNewest lowers tail. They wrap at 2^32 and
// are compared by subtraction:
//
//	head   steal:32 | real:32. real is the next index to take. steal == real means
//	       that the hold is free. steal == real-1 at the moment that the hold is
//	       taken, and steal stays constant until the hold is given back. CAS by all
//	tail   next index to fill: stored by the owner only
//	slots  index i is in slot i%Capacity: plain memory. The owner stores a node before
//	       tail passes the index. The goroutine whose CAS moved real past the index
//	       reads the slot and clears it, once
//
// Invariants:
//
//	I1  tail-real <= Capacity. While the ring is held 0 < real-steal <= Capacity+1, so
//	    a held ring does not look free
//	I2  slots [real, tail) hold nodes that were pushed and not taken
//	I3  indices [steal, real) are free or in use by the goroutine that took them. No
//	    slot is in use for a lower index. The owner therefore fills index i only if
//	    i-steal < Capacity
//	I4  while the ring is held, steal is constant and real only grows. Only the owner
//	    lowers tail, and only while it has the hold
//
// I3 is conservative by one, because index steal itself is free while the ring is
// held. The owner may have loaded head before the hold was taken. That is harmless:
// steal then moves from real to real-1, and that slot was already free.
//
// Linearization points:
//
//	Push, PushList  the store of tail; full: the load of head
//	Pop             the CAS of head; nil: the load of tail
//	StealInto       the load of tail before the CAS of head that succeeds. No node was
//	                taken until that CAS, so ceil(n/2) is exact at the load. Empty:
//	                the load of tail. Contended: the load of head
//	TakeNewest      the store of tail
//
// Happens-before edges:
//
//	E1  store of tail  ->  holder's load of tail   the holder sees the slots and all
//	    writes to the nodes before the push
//	E2  CAS of head that gives the hold back  ->  owner's load of head   the slots
//	    were emptied before they are filled again
//	E3  CAS of head that gives the hold back  ->  CAS that takes it   a thief sees
//	    the tail that TakeNewest lowered and the slots that it moved
//
// Progress: Push and PushList are wait-free. Pop is lock-free: a retry means that a
// thief took the hold, took nodes, or gave the hold back. A thief never waits: when it
// finds the ring held, it goes to another victim. Once it has the hold, each retry
// means that the owner popped, at most Capacity times. StealInto as a whole is
// lock-free.
//
// Stealing from one ring is not lock-free. A thief that stalls while it has the hold
// keeps all other thieves out, for at most Capacity/2 slots of work. A thief that never
// continues costs the nodes that it took, and the ring is then lost to thieves. The
// owner pops the nodes that are left, and then has no more free slots in the ring.
//
// Limit: none. The CAS of a thief that takes the hold may be arbitrarily stale, because
// it claims no nodes. From then on steal is frozen, so tail and real move by less than
// 2*Capacity and no index recurs. 2^32 nodes cannot pass during the CAS of the owner,
// because only the owner pushes. Only Len and Empty, which are hints, are wrong when
// exactly 2^32 pushes lie between their two loads.
//
// Source: the packed head is that of Tokio's local run queue (queue.rs), which decides
// how much to steal before its CAS. Capacity and the half are those of the Go runtime
// (runqgrab) and of kprotty/zap. Changed: the hold precedes the decision. The decision
// therefore needs no guess about tail, the owner can also take from the tail, and no
// index has to be wide.
//
// Rejected, with the time of a push and a pop of one node by the owner, alone, on one
// core of an AMD EPYC. This ring takes 10.6 ns there:
//
//	copy, then CAS  15.4 ns. Thieves copy slots that they may not get, as in the Go
//	                runtime and in zap. Any number of thieves steals at once, but slots
//	                must be atomic and a thief cannot clear them, so the ring retains
//	                garbage
//	separate hold   10.1 ns. A word of its own for the hold saves Pop a branch. The
//	                gain does not justify an argument about two words that change
//	                separately
//	half words      the same. Indices of 16 bits in a head of 32 bits are possible and
//	                help only machines of 32 bits
//	copy of tail    the same. The owner would keep a plain copy of tail, but it is the
//	                only writer of tail and so finds tail in its cache
//	one line        the same alone, for head and tail on one line. With thieves, each
//	                load of tail by a thief takes the line of head from the owner

// The compiler rejects a Ring whose hot words share a cache line, and a Capacity that
// is not a power of two or is less than 2.
var (
	_ [unsafe.Offsetof(Ring{}.tail) - unsafe.Offsetof(Ring{}.head) - lfsync.CacheLine]struct{}
	_ [unsafe.Offsetof(Ring{}.slots) - unsafe.Offsetof(Ring{}.tail) - lfsync.CacheLine]struct{}
	_ [0]struct{} = [Capacity & (Capacity - 1)]struct{}{}
	_ [Capacity - 2]struct{}
)

// Push adds n at the tail and returns true, or returns false when no slot is free.
// While a thief holds the ring, Push may return false at Capacity-1 nodes, and the nodes
// that the thief takes count until it gives the hold back. Only the owner may call Push. It
// never blocks.
func (r *Ring) Push(n *mpsc.Node) bool {
	invariant.Assert(n != nil, "runqueue: Ring.Push: nil node")
	t := r.tail.Load()
	if t-head(r.head.Load()).steal() >= Capacity { // E2, I3
		return false
	}
	r.slots[t%Capacity].Set(n)
	r.tail.Store(t + 1) // E1: publishes the slot
	return true
}

// PushList moves nodes from the front of l to the tail until l is empty or no slot is
// free. One store publishes all of them. It returns the number of nodes moved. Only the
// owner may call PushList. It never blocks.
func (r *Ring) PushList(l *mpsc.List) int {
	t := r.tail.Load()
	n := min(r.freeSlots(t), l.Len()) // E2, I3
	if n == 0 {
		return 0
	}
	for i := range uint32(n) {
		r.slots[(t+i)%Capacity].Set(l.Pop())
	}
	r.tail.Store(t + uint32(n)) // E1: publishes all
	return n
}

// freeSlots returns the number of free slots from index t on, for the owner. The number
// does not fall until the owner fills slots.
func (r *Ring) freeSlots(t uint32) int {
	used := t - head(r.head.Load()).steal() // E2
	return Capacity - int(min(used, Capacity))
}

// fill moves nodes from c to the tail while slots are free, but fewer than Capacity/2
// nodes. One store publishes all of them. It reports whether it moved any.
func (r *Ring) fill(c *mpsc.Consumer) bool {
	t := r.tail.Load()
	end := t + uint32(min(r.freeSlots(t), Capacity/2-1)) // E2, I3
	i := t
	for ; i != end; i++ {
		n := c.Pop()
		if n == nil {
			break
		}
		r.slots[i%Capacity].Set(n)
	}
	if i == t {
		return false
	}
	r.tail.Store(i) // E1: publishes all
	return true
}

// Pop removes and returns the oldest node, or returns nil when the ring is empty. Only
// the owner may call Pop. It never blocks.
func (r *Ring) Pop() *mpsc.Node {
	for {
		h := head(r.head.Load())
		if h.real() == r.tail.Load() {
			return nil
		}
		if r.head.CompareAndSwap(uint64(h), uint64(h.take(1))) {
			return r.takeSlot(h.real()) // I2
		}
	}
}

// takeSlot clears the slot of index i and returns its node. The caller has taken i.
func (r *Ring) takeSlot(i uint32) *mpsc.Node {
	s := &r.slots[i%Capacity]
	n := s.Get()
	s.Set(nil) // otherwise the slot keeps the node reachable until it is filled again
	return n
}

// popHalf moves the older half of a full ring to l, for the owner. It does nothing and
// returns false when the ring is held or no longer full.
func (r *Ring) popHalf(l *mpsc.List) bool {
	const half = Capacity / 2
	h := head(r.head.Load())
	if h.held() || r.tail.Load()-h.real() != Capacity {
		return false
	}
	if !r.head.CompareAndSwap(uint64(h), uint64(h.take(half))) {
		return false
	}
	for i := range uint32(half) {
		l.Push(r.takeSlot(h.real() + i)) // I2
	}
	return true
}

// StealInto takes the older half of the nodes of r, rounded up. It returns the oldest
// of them as n, moves the others to dst, and returns the number of nodes taken,
// including n, as moved. Only the owner of dst may call it. It never blocks. It panics
// when dst is r.
//
// The half refers to the content of r at one moment of the call. Nodes pushed after
// that moment are not counted, and popped nodes are not taken. When fewer nodes fit
// into dst, StealInto takes the number that fits, and at least one.
//
// The status is [mpsc.Acquired] when a node is returned, and [mpsc.Empty] when r held no
// node. It is [mpsc.Contended] when another goroutine had the hold, so r counts as empty
// for now. Thieves that find the ring held during a steal do not come back by
// themselves. The caller therefore notifies a worker when r is not empty afterwards.
func (r *Ring) StealInto(dst *Ring) (n *mpsc.Node, moved int, s mpsc.Status) {
	if dst == r {
		panic("runqueue: StealInto: a ring cannot steal from itself")
	}
	t := dst.tail.Load()
	limit := uint32(dst.freeSlots(t)) + 1
	for {
		if s = r.tryHold(); s != mpsc.Acquired {
			return nil, 0, s
		}
		at, k := r.claim(half, limit)
		if k == 0 {
			invariant.Reached("runqueue: StealInto: emptied before the claim")
			r.release() // nodes may have been pushed, and thieves found the ring held: look again
			continue
		}
		n = r.takeSlot(at) // I2
		for i := uint32(1); i < k; i++ {
			dst.slots[(t+i-1)%Capacity].Set(r.takeSlot(at + i))
		}
		r.release()
		if k > 1 {
			dst.tail.Store(t + k - 1) // E1: publishes what was moved
		}
		return n, int(k), s
	}
}

// stealAll moves all nodes of r to l, as a thief. Contended: another goroutine has the
// hold. Empty: all nodes are moved.
func (r *Ring) stealAll(l *mpsc.List) mpsc.Status {
	for {
		if s := r.tryHold(); s != mpsc.Acquired {
			return s
		}
		at, k := r.claim(all, Capacity)
		for i := range k {
			l.Push(r.takeSlot(at + i)) // I2
		}
		r.release()
	}
}

// tryHold takes the hold if it is free and the ring is not empty.
func (r *Ring) tryHold() mpsc.Status {
	for {
		h := head(r.head.Load())
		if h.held() {
			return mpsc.Contended
		}
		if h.real() == r.tail.Load() {
			return mpsc.Empty
		}
		if r.head.CompareAndSwap(uint64(h), uint64(h.hold())) { // E3
			return mpsc.Acquired
		}
		invariant.Reached("runqueue: tryHold: retried")
	}
}

// half and all return how many of n nodes to claim.
func half(n uint32) uint32 { return n - n/2 }
func all(n uint32) uint32  { return n }

// claim takes share(n) of the n nodes of r, but at most limit, for the holder. It
// returns the index of the first node and their number.
func (r *Ring) claim(share func(n uint32) uint32, limit uint32) (at, k uint32) {
	for {
		h := head(r.head.Load())
		n := r.tail.Load() - h.real() // E1, I4: not torn, since steal is frozen
		invariant.Assert(h.held() && n <= Capacity, "runqueue: claim: more nodes than slots")
		if k = min(share(n), limit); k == 0 {
			return 0, 0
		}
		if r.head.CompareAndSwap(uint64(h), uint64(h.take(k))) {
			return h.real(), k
		}
		invariant.Reached("runqueue: claim: retried")
	}
}

// release gives the hold back.
func (r *Ring) release() {
	for {
		h := head(r.head.Load())
		invariant.Assert(h.held(), "runqueue: release: the ring is not held")
		if r.head.CompareAndSwap(uint64(h), uint64(h.release())) { // E2, E3
			return
		}
		invariant.Reached("runqueue: release: retried") // the owner popped
	}
}

// TakeNewest looks at the limit newest nodes, removes the newest node that match
// accepts, and returns it. It returns nil when match accepts none, or when a thief has
// the hold. match is called with the ring held, so it must be quick and must not use
// the ring. Only the owner may call TakeNewest. It never blocks.
//
// Thieves find the ring held during the call. The caller therefore notifies a worker
// unless the ring is empty afterwards.
func (r *Ring) TakeNewest(match func(*mpsc.Node) bool, limit int) *mpsc.Node {
	if r.tryHold() != mpsc.Acquired {
		return nil
	}
	defer r.release() // also when match panics
	t := r.tail.Load()
	size := t - head(r.head.Load()).real()
	for i := range uint32(max(0, min(int(size), limit))) {
		at := t - 1 - i
		n := r.slots[at%Capacity].Get() // I2
		if !match(n) {
			continue
		}
		for ; at != t-1; at++ {
			r.slots[at%Capacity].Set(r.slots[(at+1)%Capacity].Get())
		}
		r.takeSlot(at)
		r.tail.Store(at) // I4
		return n
	}
	return nil
}

// Len returns the number of nodes in the ring. The number is exact for the owner while
// no thief is at work, and an estimate otherwise. Any goroutine may call it.
func (r *Ring) Len() int {
	h := head(r.head.Load())
	return int(min(r.tail.Load()-h.real(), Capacity))
}

// Empty reports whether the ring was empty at some moment during the call. Any
// goroutine may call it. It only loads.
func (r *Ring) Empty() bool {
	h := head(r.head.Load()) // before tail, because real only grows and never passes tail
	return h.real() == r.tail.Load()
}
