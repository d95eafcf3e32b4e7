package transport

import (
	"errors"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// End is what both ends of a Link can do: send what the other end receives, and
// receive what that sends.
//
// Any goroutine of its side may send: Claim, Reserve, Publish, Cancel and FreeAcked. One
// goroutine at a time may receive: Drain, Post, Flush, Wait. That is the holder of
// the drain token, which is the caller's business.
//
// State, apart from the mailboxes and doorbells:
//
//	tickets, blocks  slot i: plain memory of whoever has claimed slot i
//	violated         not 0: the other side broke a rule: stored by the receiver
//	posted           slots that Post has filled, not published yet: the receiver's
//	message          what Drain hands out: the receiver's
//
// A payload in the arena belongs to its slot: whoever claims the slot next uses its
// block again, or frees it, since by then the other side has acknowledged.
type End struct {
	_        lfsync.NoCopy
	sender   Sender
	receiver Receiver
	out, in  half
	arena    *Arena
	tickets  [Slots]uint32
	blocks   [Slots]block
	limits   Limits

	bell, peer          *Doorbell // where this side waits, and where it rings
	hasMessage, hasSlot func() bool
	epoch               time.Time

	_        lfsync.Pad // what follows is the receiver's
	violated atomix.Uint32
	posted   uint32
	message  Message
}

// block is the place of a payload in the arena.
type block struct {
	off   uint32
	units uint32 // 0: there is none
	spent bool   // nobody needs what is in it
}

func (e *End) init(c *Config, out, in *half, bell, peer *Doorbell, epoch time.Time) (err error) {
	e.out, e.in = *out, *in
	e.sender.Init(out.side, in.side, Slots)
	e.receiver.Init(out.side, in.side, Slots)
	e.limits = Limits{Functions: c.Functions, Arena: c.PayloadMax, PerValue: c.PayloadPerValue, Aborts: c.Aborts}
	e.bell, e.peer, e.epoch = bell, peer, epoch
	e.hasMessage = func() bool { return e.receiver.Pending() != 0 || e.PeerClosed() }
	// With no slot in the hands of the other side, none will come back from there.
	e.hasSlot = func() bool { return e.sender.Free() != 0 || e.sender.Busy() == 0 || e.hasMessage() }
	e.arena, err = NewArena(c.PayloadInitial, c.PayloadMax, c.PayloadPerValue)
	return err
}

// Now returns the time of this moment as headers have it: in nanoseconds since the
// epoch of the Link. It goes on evenly when the clock of the machine is set.
func (e *End) Now() int64 { return int64(time.Since(e.epoch)) }

// Claim takes a free slot, which the caller fills and publishes, or cancels. ok is
// false when no slot is free. It never blocks.
func (e *End) Claim() (slot int, ok bool) {
	slot, ticket, ok := e.sender.Claim()
	if ok {
		e.tickets[slot] = ticket
		e.blocks[slot].spent = true
	}
	return slot, ok
}

// Reserve returns where the payload of a claimed slot can be built so that Publish
// need not copy it: an empty slice with room for n bytes. A payload that begins
// further behind in it is moved to the front. It returns the errors of [Arena.Alloc].
func (e *End) Reserve(slot, n int) ([]byte, error) {
	e.sender.claimed(slot, "transport: Reserve: the slot is not claimed")
	if n <= InlineBytes {
		return e.out.inline(slot)[:0], nil
	}
	return e.reserveBlock(slot, n)
}

// Publish sends h with a payload, and wakes the other side if it is parked. It
// sets Off, Len, Seq and Value of h. The slot is the other side's from here on; on
// an error, which is one of [Arena.Alloc], it is cancelled. It never blocks. It
// panics when the slot is not claimed.
func (e *End) Publish(slot int, h *Header, payload []byte) error {
	if err := e.fill(slot, h, payload); err != nil {
		return err
	}
	e.sender.Publish(slot)
	e.peer.ring(onPublish)
	return nil
}

// Post is Publish for an end whose one goroutine both sends and receives: the slot
// is published with the next group of acknowledgements, by the same store, when
// Drain has handed out 8 slots or returns, or by Flush.
func (e *End) Post(slot int, h *Header, payload []byte) error {
	if err := e.fill(slot, h, payload); err != nil {
		return err
	}
	e.posted |= 1 << uint(slot)
	return nil
}

// Flush publishes what was posted.
func (e *End) Flush() {
	if e.posted != 0 {
		e.release(0)
	}
}

// Cancel gives a claimed slot back, and wakes a Wait of this side for room. It panics
// when the slot is not claimed.
func (e *End) Cancel(slot int) {
	e.sender.claimed(slot, "transport: Cancel: the slot is not claimed")
	e.freeBlock(slot)
	e.cancel(slot)
}

// cancel gives a claimed slot back, and wakes the goroutine of this side that waits
// for one: the other side does not know of it.
func (e *End) cancel(slot int) {
	e.sender.Cancel(slot)
	e.bell.wakeOwn(onAck)
}

// fill writes a slot, or cancels it and says why.
func (e *End) fill(slot int, h *Header, payload []byte) error {
	e.sender.claimed(slot, "transport: Publish: the slot is not claimed")
	off, err := e.place(slot, h, payload)
	if err != nil {
		e.Cancel(slot)
		return err
	}
	h.Off, h.Len, h.Seq = off, uint32(len(payload)), e.tickets[slot]
	h.Encode(e.out.header(slot))
	return nil
}

// place puts the payload where one of its length lies.
func (e *End) place(slot int, h *Header, payload []byte) (off uint32, err error) {
	var value [ValueBytes]byte
	switch n := len(payload); {
	case n <= ValueBytes:
		copy(value[:], payload)
		e.freeBlock(slot) // of a Reserve that was not needed, in which the payload was
	case n <= InlineBytes:
		copy(e.out.inline(slot), payload)
		e.freeBlock(slot)
	default:
		off, err = e.placeBlock(slot, payload)
	}
	h.Value = value
	return off, err
}

// placeBlock puts the payload into the arena. What is already in the block of the
// slot stays there, moved to the front: the block must not be freed before the copy.
func (e *End) placeBlock(slot int, payload []byte) (off uint32, err error) {
	b := &e.blocks[slot]
	if b.units > 0 && within(payload, e.out.arena[b.off:][:b.units*blockBytes]) {
		copy(e.out.arena[b.off:], payload)
		if units := uint32(unitsOf(len(payload))); units != b.units {
			e.arena.Shrink(b.off, len(payload))
			b.units = units
		}
		return b.off, nil
	}
	b.spent = true
	buf, err := e.reserveBlock(slot, len(payload))
	if err != nil {
		return 0, err
	}
	copy(buf[:len(payload)], payload)
	return e.blocks[slot].off, nil
}

// take gives a slot a block for n bytes. It is the last one when that has the size: to
// free it and allocate another takes a third of the time of a call with 1 KiB.
func (e *End) reserveBlock(slot, n int) ([]byte, error) {
	if b := &e.blocks[slot]; b.units > 0 && uint64(b.units) == unitsOf(n) && n <= e.arena.perValue {
		b.spent = false
		return e.out.arena[b.off : b.off : int(b.off)+n], nil
	}
	if e.blocks[slot].spent {
		e.freeBlock(slot)
	}
	off, err := e.arena.Alloc(n)
	if errors.Is(err, ErrArenaFull) && e.FreeAcked() > 0 {
		off, err = e.arena.Alloc(n)
	}
	if err != nil {
		return nil, err
	}
	e.freeBlock(slot)
	e.blocks[slot] = block{off: off, units: uint32(unitsOf(n))}
	return e.out.arena[off : off : int(off)+n], nil
}

// drop frees the block of a slot if it has one. The caller has claimed the slot.
func (e *End) freeBlock(slot int) {
	if b := e.blocks[slot]; b.units > 0 {
		e.blocks[slot] = block{}
		e.arena.Free(b.off)
	}
}

// FreeAcked frees the payloads of all slots that the other side has acknowledged, and
// returns how many there were. Without it, each is freed when its slot has another
// payload, for which it has not the size.
func (e *End) FreeAcked() (freed int) {
	for set := e.sender.Free(); set != 0; {
		slot, _, ok := e.sender.claim(set)
		if !ok {
			break
		}
		set &^= 1 << slot
		if e.blocks[slot].units > 0 {
			e.freeBlock(slot)
			freed++
		}
		e.cancel(slot) // a Wait that began meanwhile did not see the slot
	}
	return freed
}

// Arena returns the allocator of the payloads that this end sends.
func (e *End) Arena() *Arena { return e.arena }

// Free returns the set of slots that a Claim could take; it may be out of date at
// once.
func (e *End) Free() uint32 { return e.sender.Free() }

// Pending returns the set of slots that Drain would hand out.
func (e *End) Pending() uint32 { return e.receiver.Pending() }
