package transport

import (
	"math/bits"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// SlotBits is the width of a slot index in bits.
const SlotBits = 5

// Slots is the largest number of slots of a mailbox: one for each bit in a half of a
// side word.
const Slots = 1 << SlotBits

// Side is the word that one side of two mailboxes writes and the other side reads:
//
//	bits 0..31   publish bit of each slot of the mailbox that this side sends in
//	bits 32..63  acknowledge bit of each slot of the mailbox that it receives in
//
// The zero Side is ready for use. A pair of mailboxes, one for each direction, needs
// two Sides:
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

// load returns the two halves of the word from one atomic load.
func (s *Side) load() (published, acked uint32) {
	w := s.word.Load()
	return uint32(w), uint32(w >> 32)
}

// toggle inverts the bits of set in the half of the word that begins at bit shift. now
// is the current value of that half, in which the caller owns the bits of set. An Add
// would be exact as well. But if a bit were not as the caller believes, an Add would
// carry into the bits of other owners, and Or and And do not.
func (s *Side) toggle(set, now uint32, shift int) {
	if up := set &^ now; up != 0 {
		s.word.Or(uint64(up) << shift)
	}
	if down := set & now; down != 0 {
		s.word.And(^(uint64(down) << shift))
	}
}

// The rules of a slot. Each function applies its rule to the bits of all slots at once.

// freeSlots returns the slots that may be claimed: all three bits agree.
func freeSlots(claimed, published, acked, mask uint32) uint32 {
	return ^((claimed ^ acked) | (claimed ^ published)) & mask
}

// busySlots returns the slots that are published and not acknowledged: the bits of the
// two sides differ.
func busySlots(published, acked, mask uint32) uint32 { return (published ^ acked) & mask }

// earlySlots returns the slots that were acknowledged while they were claimed and not
// published. An honest peer never acknowledges such a slot.
func earlySlots(claimed, published, acked, mask uint32) uint32 {
	return (claimed ^ published) &^ (claimed ^ acked) & mask
}

// Sender is the sending end of a mailbox. It finds free slots, gives each slot to one
// goroutine at a time, and shows the other side which slots are filled. The caller owns
// the memory of the slots and decides about its contents.
//
// [NewSender] makes a Sender; a Sender that is a field needs one call of [Sender.Init]
// before first use. To send:
//
//   - Claim a slot. [Sender.Claim] returns false when none is free.
//   - Write to the memory of the slot.
//   - Call [Sender.Publish] to show the slot to the [Receiver] of the other side, or
//     [Sender.Cancel] to give it back.
//
// After Init a Sender is safe for concurrent use. It never blocks and has no queue: a
// caller that finds the mailbox full keeps its message. Slots have no order, so a
// receiver that needs an order sorts the slots by their tickets with [InOrder]. A
// Sender must not be copied.
type Sender struct {
	_    lfsync.NoCopy
	own  *Side
	peer *Side
	mask uint32

	_      lfsync.Pad
	claims atomix.Uint64
	_      lfsync.Pad
}

// Protocol of Sender and Receiver: a slot moves between the two sides by bits that are
// toggled in turn. Each bit has one owner at a time.
//
// Roles:
//
//	claimer   any goroutine of the sending side: it owns the slot from its Claim to
//	          its Publish or Cancel
//	receiver  the [Receiver] of the other side: it owns the slot from the Publish
//	          to the Ack
//
// State. A slot has three bits. They are toggled in turn, and all three agree when the
// slot is free:
//
//	claims  bits 0..31: claim bit C of each slot. bits 32..63: the ticket, which
//	        counts claims and wraps. CAS by claimers, Or and And of one bit by a
//	        claimer that cancels
//	own     publish bit P of each slot: Or and And of its bit by the claimer
//	peer    acknowledge bit A of each slot: written by the other side only
//
//	C = P = A    free
//	C != P = A   claimed: owned by the claimer
//	C = P != A   published: owned by the receiver
//	C = A != P   acknowledged before it was published: no honest peer does this
//
// Invariants:
//
//	I1  one claimer owns a slot from the CAS that toggles its C to the toggle of
//	    its P, or to its Cancel; no other goroutine toggles C or P in that time,
//	    whatever the other side does to A
//	I2  claims never holds a value twice until the ticket wraps: a Cancel keeps
//	    the ticket, so the value that it restores has a new ticket
//	I3  a slot whose three bits agree stays free while claims keeps its value
//
// Linearization points:
//
//	Claim    the CAS; when it finds no slot, the load of peer
//	Publish  the Or or And of own
//	Cancel   the Or or And of claims
//
// Happens-before edges:
//
//	E1  Or or And of own  ->  load by the receiver   the receiver sees the contents
//	    of the slot
//	E2  acknowledgement of the receiver  ->  load of peer   the receiver has read the
//	    slot before the next claimer writes to it
//	E3  Cancel  ->  CAS of the next claimer   the same between two claimers
//	E4  load of claims, then of peer and own, then the CAS   a slot that looked free
//	    is free when the CAS succeeds: I2, I3. needs: the loads in this order
//
// Progress: Claim and Cancel are lock-free: a CAS fails only when another claimer has
// succeeded. Publish is wait-free. A claimer that stalls keeps its slot, and no other
// goroutine waits for that slot.
//
// Limit: a claimer that stalls between its load of claims and its CAS while exactly
// 2^32 claims pass uses a stale guess (ABA).
//
// Source: the host and worker bits of the knitting library, where one thread claims.
// Changed: the claim word admits many claimers. The ticket is new. Two mailboxes share
// one word for each side.
//
// Rejected:
//
//   - To load peer before claims, or to claim without a ticket: a slot that was claimed
//     and freed in between is claimed twice.
//   - To decide by C and A alone that a slot is free: a hostile peer then gives one
//     slot to two claimers.
//   - A private copy of the bits of the peer, loaded again when it shows no free slot.
//     A stream of headers without payloads then takes 163 ns for each instead of 189.
//     But the claims go round all slots, where they now return to the lowest free one.
//     Their payloads do the same, and up to 32 payloads would lie in the arena instead
//     of one.

// NewSender returns the sending end of a mailbox with the given number of slots, 1 to
// [Slots]. own is the word of the sending side, peer is the word of the other side.
func NewSender(own, peer *Side, slots int) *Sender {
	s := new(Sender)
	s.Init(own, peer, slots)
	return s
}

// Init prepares a Sender that is a field, as [NewSender] does. It must be called once,
// before first use. The publish bits in own may be set already: those slots are free,
// or busy if the other side has not acknowledged them.
func (s *Sender) Init(own, peer *Side, slots int) {
	s.own, s.peer, s.mask = own, peer, maskOf(slots)
	published, _ := own.load()
	s.claims.Store(uint64(published))
}

// maskOf returns the bits of the given number of slots.
func maskOf(slots int) uint32 {
	if slots < 1 || slots > Slots {
		panic("transport: a mailbox has 1 to 32 slots")
	}
	return 1<<slots - 1
}

// Claim takes a free slot for the caller. The caller fills the slot and then calls
// Publish or Cancel. ok is false when no slot is free. The ticket counts the claims and
// wraps: of two claims that do not overlap, the earlier one has the lower ticket when
// the two are compared by an int32 difference. Claim never blocks.
func (s *Sender) Claim() (slot int, ticket uint32, ok bool) { return s.claim(s.mask) }

// claim is Claim restricted to the slots of set.
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

// Publish shows the slot to the other side, which owns it from then on. Only the
// claimer may call it, once. It never blocks. It panics when the slot is not claimed.
func (s *Sender) Publish(slot int) {
	if !s.publish(slot) {
		panic("transport: Publish: the slot is not claimed")
	}
}

// publish is Publish, and reports false when the slot is not claimed.
func (s *Sender) publish(slot int) bool {
	bit, published, ok := s.claimed(slot)
	if ok {
		s.own.toggle(bit, published, 0) // E1, I1
	}
	return ok
}

// Cancel gives a claimed slot back without showing it to the other side. The ticket of
// the claim is not used again. Only the claimer may call it. It never blocks. It panics
// when the slot is not claimed.
func (s *Sender) Cancel(slot int) {
	if !s.cancel(slot) {
		panic("transport: Cancel: the slot is not claimed")
	}
}

// cancel is Cancel, and reports false when the slot is not claimed.
func (s *Sender) cancel(slot int) bool {
	bit, published, ok := s.claimed(slot)
	switch {
	case !ok:
	case published&bit != 0: // I1: C becomes equal to P. I2: the ticket stays
		s.claims.Or(uint64(bit)) // E3
	default:
		s.claims.And(^uint64(bit)) // E3
	}
	return ok
}

// claimed returns the bit of a slot and the publish bits, and whether the slot is claimed and not published.
func (s *Sender) claimed(slot int) (bit, published uint32, ok bool) {
	bit = 1 << uint(slot)
	published, _ = s.own.load()
	return bit, published, (uint32(s.claims.Load())^published)&bit&s.mask != 0 // I1: only the claimer toggles these two
}

// Free returns the set of slots that a Claim could take. The set may be out of date
// when Free returns.
func (s *Sender) Free() uint32 {
	claimed := uint32(s.claims.Load())
	_, acked := s.peer.load()
	published, _ := s.own.load()
	return freeSlots(claimed, published, acked, s.mask)
}

// Busy returns the set of slots that are published and not acknowledged. The set may be
// out of date when Busy returns.
func (s *Sender) Busy() uint32 {
	_, acked := s.peer.load() // before own: each slot of the result was busy at some moment of the call
	published, _ := s.own.load()
	return busySlots(published, acked, s.mask)
}

// early returns the slots that the other side has acknowledged before they were
// published. It returns 0 when another goroutine has claimed or cancelled a slot in between.
func (s *Sender) early() uint32 {
	c := s.claims.Load()
	_, acked := s.peer.load() // before own: the load of own then sees the publication of each acknowledged slot
	published, _ := s.own.load()
	if s.claims.Load() != c {
		return 0
	}
	return earlySlots(uint32(c), published, acked, s.mask)
}

// Receiver is the receiving end of a mailbox. It reports which slots the other side has
// filled, and gives them back. [NewReceiver] makes a Receiver; a Receiver that is a
// field needs one call of [Receiver.Init] before first use.
//
// [Receiver.Pending] returns the filled slots. The receiver owns a filled slot until
// [Receiver.Ack] or [Receiver.AckAll] gives it back to the [Sender].
//
// One goroutine at a time may use a Receiver. Other goroutines of its side may use the
// [Sender] with the same [Side] concurrently. No method blocks. A Receiver must not be
// copied.
type Receiver struct {
	_    lfsync.NoCopy
	own  *Side
	peer *Side
	mask uint32
}

// The protocol is that of the [Sender]. The receiver owns a slot while its publish bit
// differs from its acknowledge bit. The other side writes the publish bit; only the
// receiver writes the acknowledge bit. Pending is the load of peer, E1. AckAll is the
// Or and the And of own, E2; it takes both steps when some bits are to be set and
// others cleared.
//
// Progress: wait-free. A receiver that stalls keeps the slots that it has seen, and all
// slots that are published later.

// NewReceiver returns the receiving end of a mailbox with the given number of slots, 1
// to [Slots]. own is the word of the receiving side, peer is the word of the other
// side.
func NewReceiver(own, peer *Side, slots int) *Receiver {
	r := new(Receiver)
	r.Init(own, peer, slots)
	return r
}

// Init prepares a Receiver that is a field, as [NewReceiver] does. It must be called
// once, before first use.
func (r *Receiver) Init(own, peer *Side, slots int) {
	r.own, r.peer, r.mask = own, peer, maskOf(slots)
}

// Pending returns the set of slots that are published and not acknowledged. The
// receiver owns them until it acknowledges them.
func (r *Receiver) Pending() uint32 {
	_, acked := r.own.load()
	published, _ := r.peer.load() // E1
	return busySlots(published, acked, r.mask)
}

// Ack gives one pending slot back to the sender, as AckAll does.
func (r *Receiver) Ack(slot int) { r.AckAll(1 << uint(slot)) }

// AckAll gives the slots of set back to the sender. Each slot of set was in a result of
// Pending, and the caller no longer reads its memory.
func (r *Receiver) AckAll(set uint32) {
	_, acked := r.own.load()
	r.own.toggle(set&r.mask, acked, 32) // E2
}

// Exchange publishes slots that the caller has claimed of s and acknowledges pending
// slots of r, with one store. An answer and the release of its request then cost the
// other side one cache miss. s and r share the word of their side. Only the goroutine
// that calls Exchange may publish or acknowledge on this side during the call. It
// panics when a slot of publish is not claimed, and when s and r belong to different
// sides.
func Exchange(s *Sender, r *Receiver, publish, ack uint32) {
	if !exchange(s, r, publish, ack) {
		panic("transport: Exchange: a slot is not claimed")
	}
}

// exchange is Exchange, and reports false when a slot of publish is not claimed.
func exchange(s *Sender, r *Receiver, publish, ack uint32) bool {
	if s.own != r.own {
		panic("transport: Exchange: the two ends are of different sides")
	}
	w := s.own.word.Load()
	if (uint32(s.claims.Load())^uint32(w))&s.mask&publish != publish {
		return false
	}
	s.own.word.Store(w ^ (uint64(ack&r.mask)<<32 | uint64(publish))) // E1, E2
	return true
}

// InOrder returns the slots of set in the order of their tickets, oldest first. buf
// holds the result. Tickets are compared modulo their wrap: the pending slots of one
// mailbox are in order unless a claimer is descheduled for 2^31 claims.
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
