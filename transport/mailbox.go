package transport

import (
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// SlotBits is the width of the index of a slot.
const SlotBits = 5

// Slots is how many slots a mailbox has at most: as many as a half of a side word
// has bits.
const Slots = 1 << SlotBits

// Side is the word that one side of two mailboxes writes and the other side reads:
//
//	bits 0..31   publish bit of each slot of the mailbox that this side sends in
//	bits 32..63  acknowledge bit of each slot of the mailbox that it receives in
//
// The zero Side is ready. Two mailboxes, one a direction, take two of them:
//
//	var host, worker transport.Side
//	requests := transport.NewSender(&host, &worker, transport.Slots)   // of the host
//	taken := transport.NewReceiver(&worker, &host, transport.Slots)    // of the worker
type Side struct {
	_    lfsync.NoCopy
	_    lfsync.Pad
	word atomix.Uint64
	_    lfsync.Pad
}

// load returns the two halves of the word, as of one moment.
func (s *Side) load() (published, acked uint32) {
	w := s.word.Load()
	return uint32(w), uint32(w >> 32)
}

// toggle turns the bits of set over, which lie in half a word from bit shift on.
// now is that half, in which the caller owns the bits of set. Not an Add, which
// is exact too: should a bit not be as the caller believes, nothing carries into
// the bits of others.
func (s *Side) toggle(set, now uint32, shift int) {
	if up := set &^ now; up != 0 {
		s.word.Or(uint64(up) << shift)
	}
	if down := set & now; down != 0 {
		s.word.And(^(uint64(down) << shift))
	}
}

// The rules of a slot. Each takes the bits of all slots at once.

// freeSlots returns the slots that may be claimed: the three bits agree.
func freeSlots(claimed, published, acked, mask uint32) uint32 {
	return ^((claimed ^ acked) | (claimed ^ published)) & mask
}

// busySlots returns the slots whose two sides differ.
func busySlots(published, acked, mask uint32) uint32 { return (published ^ acked) & mask }

// earlySlots returns the slots that were acknowledged while they were claimed and
// not published, which a peer that keeps to the rules never does.
func earlySlots(claimed, published, acked, mask uint32) uint32 {
	return (claimed ^ published) &^ (claimed ^ acked) & mask
}

// Sender is the sending end of a mailbox: it says which slots are free, hands each
// to one goroutine at a time, and shows the other side that a slot is filled. What
// lies in the slots is the caller's business. Init comes before first use, or
// [NewSender] makes one; after that it is safe for concurrent use. It must not be
// copied.
//
// Roles:
//
//	claimer   any goroutine of the sending side: from its Claim to its Publish or
//	          Cancel the slot is its own
//	receiver  the [Receiver] of the other side: the slot is its own from the
//	          Publish to the Ack
//
// State. A slot has three bits that are toggled in turn, and so agree when it is
// free:
//
//	claims  bits 0..31: claim bit C of each slot. bits 32..63: the ticket, which
//	        counts claims and wraps. CAS by claimers, Or and And of one bit by a
//	        claimer that cancels
//	own     publish bit P of each slot: Or and And of its bit by the claimer
//	peer    acknowledge bit A of each slot: written by the other side only
//
//	C = P = A    free
//	C != P = A   claimed: the claimer's
//	C = P != A   published: the receiver's
//	C = A != P   no honest peer acknowledges what was not published
//
// Invariants:
//
//	I1  a slot is one claimer's from the CAS that toggles its C to the toggle of
//	    its P, or to its Cancel; nobody else toggles the two meanwhile, whatever
//	    the other side does to A
//	I2  claims never holds a value twice, but for the wrap of the ticket: a Cancel
//	    leaves the ticket, so that what it restores has a ticket of its own
//	I3  while claims keeps its value, a slot whose three bits agree stays so
//
// Linearization points:
//
//	Claim    the CAS; no slot: the load of peer
//	Publish  the Or or And of own
//	Cancel   the Or or And of claims
//
// Happens-before edges:
//
//	E1  Or or And of own  ->  load by the receiver  it sees what was written to the slot
//	E2  acknowledgement of the receiver  ->  load of peer   it has read the slot before the next claimer writes to it
//	E3  Cancel  ->  CAS of the next claimer   the same among claimers
//	E4  load of claims, then of peer and own, then the CAS   what was seen free is free when it is claimed: I2, I3. needs: the loads in this order
//
// Progress: Claim and Cancel are lock-free: a CAS fails since another claimer
// succeeded. Publish is wait-free. A claimer that stalls keeps its slot, and
// nobody waits for it. There is no order among slots: who wants one goes by the
// ticket.
//
// Limit: a claimer that stalls between its load of claims and its CAS while
// exactly 2^32 claims pass takes a stale guess (ABA).
//
// Source: the host and worker bits of the knitting library, where one thread
// claims. Changed: the claim word, for many claimers; two mailboxes share a word a
// side; the ticket.
//
// Rejected: to look at peer before claims, or to claim without the ticket: a slot
// that came and went in between is claimed twice. To free slots by C and A alone:
// a hostile peer then gives one slot to two claimers. A copy of the peer's bits,
// which is loaded anew when it shows no free slot: a stream of headers without
// payloads takes 163 ns each with it against 189 without, but claims then go round
// all slots where now they come back to the first one that is free, and with them
// the payloads, of which up to 32 would lie in the arena instead of one.
type Sender struct {
	_    lfsync.NoCopy
	own  *Side
	peer *Side
	mask uint32

	_      lfsync.Pad
	claims atomix.Uint64
	_      lfsync.Pad
}

// NewSender returns the sending end of a mailbox of that many slots, 1 to [Slots].
// own is the word of the sending side, peer that of the other one.
func NewSender(own, peer *Side, slots int) *Sender {
	s := new(Sender)
	s.Init(own, peer, slots)
	return s
}

// Init prepares a Sender that is a field, as [NewSender] does. It must be called
// once, before first use. Publish bits that own holds already are those of slots
// that are free, or busy as the other side has it.
func (s *Sender) Init(own, peer *Side, slots int) {
	s.own, s.peer, s.mask = own, peer, maskOf(slots)
	published, _ := own.load()
	s.claims.Store(uint64(published))
}

// maskOf returns the bits of that many slots.
func maskOf(slots int) uint32 {
	if slots < 1 || slots > Slots {
		panic("transport: a mailbox has 1 to 32 slots")
	}
	return 1<<slots - 1
}

// Claim takes a free slot for the caller, who fills it and then calls Publish, or
// Cancel. Tickets count the claims: those of two claims, one of which came before
// the other, differ in this order, by a difference of int32. ok is false when no
// slot is free. It never blocks.
func (s *Sender) Claim() (slot int, ticket uint32, ok bool) { return s.claim(s.mask) }

// claim is Claim for one of a set of slots.
func (s *Sender) claim(set uint32) (slot int, ticket uint32, ok bool) {
	for {
		c := s.claims.Load()         // E4
		_, acked := s.peer.load()    // E2, E4
		published, _ := s.own.load() // E4
		free := freeSlots(uint32(c), published, acked, s.mask&set)
		if free == 0 {
			return 0, 0, false
		}
		slot = bits.TrailingZeros32(free)
		next := (c ^ 1<<slot) + 1<<32
		if s.claims.CompareAndSwap(c, next) { // E3, E4, I1
			return slot, uint32(c >> 32), true
		}
	}
}

// Publish shows the slot to the other side, whose it is from here on. Only the one
// who claimed it may call it, once. It never blocks. It panics when the slot is
// not claimed.
func (s *Sender) Publish(slot int) {
	bit, published := s.claimed(slot, "transport: Publish: the slot is not claimed")
	s.own.toggle(bit, published, 0) // E1, I1
}

// Cancel gives a claimed slot back without showing it to anybody; its ticket is
// not used again. Only the one who claimed it may call it. It never blocks. It
// panics when the slot is not claimed.
func (s *Sender) Cancel(slot int) {
	bit, published := s.claimed(slot, "transport: Cancel: the slot is not claimed")
	if published&bit != 0 { // I1: C becomes what P is. I2: the ticket stays
		s.claims.Or(uint64(bit)) // E3
	} else {
		s.claims.And(^uint64(bit)) // E3
	}
}

// claimed returns the bit of a slot, and the publish bits. It panics with that
// text unless the slot is claimed and not published.
func (s *Sender) claimed(slot int, text string) (bit, published uint32) {
	bit = 1 << uint(slot)
	published, _ = s.own.load()
	if (uint32(s.claims.Load())^published)&bit&s.mask == 0 { // I1: nobody else moves these two
		panic(text)
	}
	return bit, published
}

// Free returns the set of slots that a Claim could take. It may be out of date at
// once.
func (s *Sender) Free() uint32 {
	claimed := uint32(s.claims.Load())
	_, acked := s.peer.load()
	published, _ := s.own.load()
	return freeSlots(claimed, published, acked, s.mask)
}

// Busy returns the set of slots that are published and not acknowledged. It may be
// out of date at once.
func (s *Sender) Busy() uint32 {
	_, acked := s.peer.load() // first: then no bit differs that did not at either load
	published, _ := s.own.load()
	return busySlots(published, acked, s.mask)
}

// early returns slots that the other side has acknowledged although nobody had
// published them. It finds none while others claim.
func (s *Sender) early() uint32 {
	c := s.claims.Load()
	_, acked := s.peer.load() // before own: an acknowledgement that it sees came after a publication
	published, _ := s.own.load()
	if s.claims.Load() != c {
		return 0
	}
	return earlySlots(uint32(c), published, acked, s.mask)
}

// Receiver is the receiving end of a mailbox: it says which slots the other side
// has filled, and gives them back. Init comes before first use, or [NewReceiver]
// makes one. One goroutine at a time may use it; others of its side may meanwhile
// use the [Sender] with the same word. It must not be copied.
//
// Its rules are those of the [Sender]: a slot is the receiver's while the publish
// bit, which the other side writes, differs from the acknowledge bit, which the
// receiver alone writes. Pending is the load of peer, E1; AckAll is the Or and the
// And of own, E2, and takes two steps when bits go both ways.
//
// Progress: wait-free. A receiver that stalls keeps the slots that it has seen
// and those that come.
type Receiver struct {
	_    lfsync.NoCopy
	own  *Side
	peer *Side
	mask uint32
}

// NewReceiver returns the receiving end of a mailbox of that many slots, 1 to
// [Slots]. own is the word of the receiving side, peer that of the other one.
func NewReceiver(own, peer *Side, slots int) *Receiver {
	r := new(Receiver)
	r.Init(own, peer, slots)
	return r
}

// Init prepares a Receiver that is a field, as [NewReceiver] does. It must be
// called once, before first use.
func (r *Receiver) Init(own, peer *Side, slots int) {
	r.own, r.peer, r.mask = own, peer, maskOf(slots)
}

// Pending returns the set of slots that are published and not acknowledged: they
// are the receiver's until it acknowledges them.
func (r *Receiver) Pending() uint32 {
	_, acked := r.own.load()
	published, _ := r.peer.load() // E1
	return busySlots(published, acked, r.mask)
}

// Ack gives one pending slot back to the sender, as AckAll does.
func (r *Receiver) Ack(slot int) { r.AckAll(1 << uint(slot)) }

// AckAll gives the slots of set back to the sender: they were in what Pending
// returned, and the caller is done with what lies in them.
func (r *Receiver) AckAll(set uint32) {
	_, acked := r.own.load()
	r.own.toggle(set&r.mask, acked, 32) // E2
}

// Exchange publishes slots that the caller has claimed of s, and acknowledges
// pending slots of r, by one store: an answer and the release of its question cost
// the other side one cache miss. s and r share the word of their side, and must be
// the one goroutine's that calls Exchange: nobody else may publish or acknowledge
// on this side meanwhile. It panics when a slot of publish is not claimed.
func Exchange(s *Sender, r *Receiver, publish, ack uint32) {
	if s.own != r.own {
		panic("transport: Exchange: the two ends are of different sides")
	}
	w := s.own.word.Load()
	if (uint32(s.claims.Load())^uint32(w))&s.mask&publish != publish {
		panic("transport: Exchange: a slot is not claimed")
	}
	s.own.word.Store(w ^ (uint64(ack&r.mask)<<32 | uint64(publish))) // E1, E2
}

// InOrder returns the slots of set by their tickets, oldest first. It uses room,
// and compares as tickets wrap: all of one mailbox's pending slots are in order as
// long as no claimer has stalled for 2^31 claims.
func InOrder(set uint32, tickets *[Slots]uint32, buf *[Slots]uint8) []uint8 {
	n := 0
	for ; set != 0; set &= set - 1 {
		slot := uint8(bits.TrailingZeros32(set))
		i := n
		for ; i > 0 && int32(tickets[slot]-tickets[buf[i-1]]) < 0; i-- {
			buf[i] = buf[i-1]
		}
		buf[i] = slot
		n++
	}
	return buf[:n]
}
