package runqueue

import (
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	lfsync "github.com/lanewright/lanewright/sync"
)

// Ring is a bounded queue of nodes with one owner and any number of thieves. The
// zero Ring is empty and ready to use. It must not be copied.
//
// Roles:
//
//	owner   the one goroutine at a time that calls Push, PushList, Pop and
//	        TakeNewest on this ring, and StealInto with this ring as dst
//	thief   any goroutine that calls StealInto on this ring
//	holder  the thief, or the owner in TakeNewest, that has the hold
//
// State. Indexes only grow, but for what TakeNewest takes off tail; they wrap at
// 2^32 and are compared by subtraction:
//
//	head   steal:32 | real:32. real is the next index to take. steal == real says
//	       that nobody has the hold; steal == real-1 at the moment it is taken,
//	       and steal stays put until it is given back. CAS by all
//	tail   next index to fill: stored by the owner only
//	slots  index i lives in slot i%Capacity: plain memory. The owner stores a node
//	       before tail passes it; who took the index (by the CAS that moved real
//	       past it) reads it and clears it, once
//
// Taking is in two steps. The hold comes first: it keeps other thieves and
// TakeNewest out, and freezes steal. What to take is decided under it: the holder
// loads tail, and moves real by CAS, which fails only when the owner popped in
// between. It then empties the slots that are now its own, and gives the hold
// back: steal = real, which is what lets the owner fill those slots again.
//
// Invariants:
//
//	I1  tail-real <= Capacity; while the ring is held 0 < real-steal <= Capacity+1,
//	    so that it does not look free
//	I2  slots [real, tail) hold nodes that were pushed and not taken
//	I3  indexes [steal, real) are free or in the hands of who took them; no slot is
//	    in use for a lower one. So the owner fills index i only if
//	    i-steal < Capacity
//	I4  while the ring is held, steal does not move, real moves up, and tail is
//	    lowered by nobody but a holder that is the owner
//
// I3 is conservative by one: index steal itself is free while the ring is held.
// That the owner may have loaded head before the hold was taken is harmless:
// steal then goes from real to real-1, and that slot was free already.
//
// Linearization points:
//
//	Push, PushList  the store of tail; full: the load of head
//	Pop             the CAS of head; nil: the load of tail
//	StealInto       the load of tail before the CAS of head that succeeds: until
//	                that CAS nothing was taken, so ceil(n/2) is exact then. Empty:
//	                the load of tail. Contended: the load of head
//	TakeNewest      the store of tail
//
// Happens-before edges:
//
//	E1  store of tail  ->  holder's load of tail   the holder sees the slots, and
//	    what was written to the nodes before the push
//	E2  CAS of head that gives the hold back  ->  owner's load of head   the slots
//	    were emptied before they are filled again
//	E3  CAS of head that gives the hold back  ->  CAS that takes it   a thief sees
//	    the tail that TakeNewest lowered and the slots that it moved
//
// Progress: Push and PushList are wait-free. Pop is lock-free: a retry means that
// a thief took the hold, took nodes, or gave the hold back. A thief waits for
// nobody: it finds the ring held and goes elsewhere; once it has the hold, each
// retry means that the owner popped, at most Capacity times. StealInto as a whole
// is lock-free. Stealing from one ring is not: a thief that stalls while it has
// the hold keeps all others out, for at most Capacity/2 slots of work. One that
// never goes on costs the nodes that it took, and the ring as a place to steal
// from: the owner pops what is left in it, and then has no more room in it.
//
// Limit: none. A thief's CAS that takes the hold may be as stale as it likes: it
// promises nothing about the nodes. From then on steal is frozen, so tail and
// real move by less than 2*Capacity and no index comes back. The owner's own CAS
// cannot be overtaken by 2^32 nodes, since nobody else pushes. Only Len and
// Empty, which are hints, are wrong when their two loads lie exactly 2^32 pushes
// apart.
//
// Source: the packed head is that of Tokio's local run queue (queue.rs), which
// decides how much to steal before its CAS; Capacity and the half are those of
// the Go runtime (runqgrab) and of kprotty/zap. Changed: the hold comes before the
// decision. The decision therefore needs no guess about tail, so that the owner
// may take from the tail too, and no index has to be wide.
//
// Rejected, with the time of a push and a pop of one node by the owner, alone, on
// one core of an AMD EPYC, where this ring takes 10.6 ns:
//
//	copy, then CAS  15.4 ns. Thieves copy slots that they may not get, as in the Go
//	                runtime and in zap: any number steals at once, but slots must
//	                be atomic, and a thief cannot clear them, so that the ring
//	                keeps garbage alive
//	hold apart      10.1 ns. The hold in a word of its own spares Pop a branch. Not
//	                worth an argument about two words that change separately
//	half words      the same: indexes of 16 bits in a head of 32 would do, and help
//	                machines of 32 bits only
//	copy of tail    the same: a plain copy for the owner, who is the only one to
//	                write tail and so finds it in its cache
//	one line        the same alone, for head and tail on one line; but then each
//	                look of a thief at tail takes head from the owner
type Ring struct {
	_    lfsync.NoCopy
	_    lfsync.Pad
	head atomix.Uint64
	_    lfsync.Pad
	tail atomix.Uint32
	_    lfsync.Pad

	slots [Capacity]atomix.Cell[*mpsc.Node]
	_     lfsync.Pad
}

// The compiler rejects a Ring whose hot words share a line, and a Capacity that
// is not a power of two, or has no half.
var (
	_ [unsafe.Offsetof(Ring{}.tail) - unsafe.Offsetof(Ring{}.head) - lfsync.CacheLine]struct{}
	_ [unsafe.Offsetof(Ring{}.slots) - unsafe.Offsetof(Ring{}.tail) - lfsync.CacheLine]struct{}
	_ [0]struct{} = [Capacity & (Capacity - 1)]struct{}{}
	_ [Capacity - 2]struct{}
)

// Push adds n at the tail and reports whether there was room. While a thief
// holds the ring there may be room for Capacity-1 nodes only, and what the thief
// takes counts until it is done. Only the owner may call Push. It never blocks.
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

// PushList moves nodes from the front of l to the tail while there is room, with
// one store for all, and returns how many. Only the owner may call PushList. It
// never blocks.
func (r *Ring) PushList(l *mpsc.List) int {
	t := r.tail.Load()
	n := min(r.room(t), l.Len()) // E2, I3
	if n == 0 {
		return 0
	}
	for i := range uint32(n) {
		r.slots[(t+i)%Capacity].Set(l.Pop())
	}
	r.tail.Store(t + uint32(n)) // E1: publishes all
	return n
}

// room returns for how many nodes from index t on there is room, as seen by the
// owner. There is never less until the owner fills it.
func (r *Ring) room(t uint32) int {
	used := t - head(r.head.Load()).steal() // E2
	return Capacity - int(min(used, Capacity))
}

// fill moves nodes from c to the tail while there is room, but less than
// Capacity/2, with one store for all, and reports whether there were any.
func (r *Ring) fill(c *mpsc.Consumer) bool {
	t := r.tail.Load()
	end := t + uint32(min(r.room(t), Capacity/2-1)) // E2, I3
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

// Pop takes the oldest node, or returns nil when the ring is empty. Only the
// owner may call Pop. It never blocks.
func (r *Ring) Pop() *mpsc.Node {
	for {
		h := head(r.head.Load())
		if h.real() == r.tail.Load() {
			return nil
		}
		if r.head.CompareAndSwap(uint64(h), uint64(h.take(1))) {
			return r.empty(h.real()) // I2
		}
	}
}

// empty clears slot i, which is the caller's, and returns the node in it.
func (r *Ring) empty(i uint32) *mpsc.Node {
	s := &r.slots[i%Capacity]
	n := s.Get()
	s.Set(nil) // or the node would be reachable until the slot is filled again
	return n
}

// popHalf moves the older half of a full ring to l, for the owner. It does
// nothing, and reports false, when the ring is held or is not full any more.
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
		l.Push(r.empty(h.real() + i)) // I2
	}
	return true
}

// StealInto moves the older half of r, rounded up, to dst, and returns the oldest
// of the nodes moved, which is not put into dst, and their number. It is the half
// of what lay there at one moment of the call: what is pushed after that is not
// counted, and what was popped is not moved. When dst has
// not room for so many, it moves what fits, and one at least. Only the owner of
// dst may call it. It never blocks.
//
// The status is [mpsc.Acquired] when a node is returned, [mpsc.Empty] when there
// was none, and [mpsc.Contended] when another had the hold, so that r counts as
// empty for now. Those that a steal has turned away do not come back by
// themselves: the caller tells somebody when r is not empty afterwards. It panics
// when dst is r.
func (r *Ring) StealInto(dst *Ring) (n *mpsc.Node, moved int, s mpsc.Status) {
	if dst == r {
		panic("runqueue: StealInto: a ring cannot steal from itself")
	}
	t := dst.tail.Load()
	limit := uint32(dst.room(t)) + 1
	for {
		if s = r.tryHold(); s != mpsc.Acquired {
			return nil, 0, s
		}
		at, k := r.claim(half, limit)
		if k == 0 {
			invariant.Reached("runqueue: StealInto: emptied before the claim")
			r.release() // somebody may have pushed and been turned away: look again
			continue
		}
		n = r.empty(at) // I2
		for i := uint32(1); i < k; i++ {
			dst.slots[(t+i-1)%Capacity].Set(r.empty(at + i))
		}
		r.release()
		if k > 1 {
			dst.tail.Store(t + k - 1) // E1: publishes what was moved
		}
		return n, int(k), s
	}
}

// stealAll moves all nodes of r to l, as a thief. Contended: another has the
// hold. Empty: all is moved.
func (r *Ring) stealAll(l *mpsc.List) mpsc.Status {
	for {
		if s := r.tryHold(); s != mpsc.Acquired {
			return s
		}
		at, k := r.claim(all, Capacity)
		for i := range k {
			l.Push(r.empty(at + i)) // I2
		}
		r.release()
	}
}

// tryHold takes the hold if nobody has it and the ring is not empty.
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

// half and all say how many of n nodes to claim.
func half(n uint32) uint32 { return n - n/2 }
func all(n uint32) uint32  { return n }

// claim takes share(n) of the n nodes of r, limit at most, for the holder, and
// returns the index of the first one and their number.
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

// TakeNewest removes the newest node that match accepts among the limit newest,
// and returns it; nil when there is none, or when a thief has the hold. match is
// called with the ring held: it must be quick, and must not use the ring. Only
// the owner may call it. It never blocks.
//
// Thieves that come meanwhile are turned away: unless the ring is empty
// afterwards, the caller tells somebody.
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
		r.empty(at)
		r.tail.Store(at) // I4
		return n
	}
	return nil
}

// Len returns how many nodes are in the ring: exact for the owner while no thief
// is at work, an estimate for anybody else.
func (r *Ring) Len() int {
	h := head(r.head.Load())
	return int(min(r.tail.Load()-h.real(), Capacity))
}

// Empty reports whether the ring was empty at some moment during the call.
// Anybody may call it. It only loads.
func (r *Ring) Empty() bool {
	h := head(r.head.Load()) // before tail: real only moves up, and never past tail
	return h.real() == r.tail.Load()
}
