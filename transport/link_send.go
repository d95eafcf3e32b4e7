package transport

import (
	"errors"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/race"
	lfsync "github.com/lanewright/lanewright/sync"
)

// End is one end of a [Link]. It sends messages to the other end, receives its
// messages, and waits for them.
//
// To send, Claim a slot and Publish it with a header and a payload. Reserve returns
// memory of the link in which the payload can be built, so that Publish does not copy
// it. Cancel gives a claimed slot back. Any goroutine of the side may call these
// methods and FreeAcked, Free and Arena.
//
// To receive, Drain passes each message to a function, and WaitUntil blocks until there is
// one. Post sends an answer together with the next acknowledgements, and Flush sends
// posted answers at once. One goroutine at a time is the receiver. Only the receiver may call
// Drain, WaitUntil, ParkUntil, Spin, TakeWoken, NoteFreed, Post, Flush, Return, HandOver, Lend
// and Pass. The caller ensures this.
//
// While the receiver is parked, another goroutine may take its place with Borrow until Return or
// HandOver. The receiver gives the place to another goroutine with Pass. A receiver that runs
// other code calls Lend before and Resume afterwards.
//
// Any goroutine of the side may call the other methods. WakeOwn ends the wait of this side,
// and Close ends this end and wakes the other one.
type End struct {
	_        lfsync.NoCopy
	sender   Sender
	receiver Receiver
	out, in  half
	arena    *Arena
	tickets  [Slots]uint32
	blocks   [Slots]block
	handed   [Slots]race.Edge
	limits   Limits

	bell, peer Doorbell    // this side waits on bell and rings peer
	ready      func() bool // look

	readyToWake func() bool // lookToWake
	said        hello       // of the host
	cancels     atomix.Uint32
	regions     [2]Region // kept, because the memory of one that is collected is unmapped; nil for the ends of a Link
	state       atomix.Uint32

	_        lfsync.Pad // the fields below are owned by the receiver
	violated atomix.Uint32
	posted   uint32
	message  Message
	want     Event
	waits    Event  // of WaitUntil
	why      uint32 // the same for the doorbell
	got      Event  // by the last look
	freed    freed  // at the begin of WaitUntil
	noted    uint32 // the slots that were acknowledged at the last NoteFreed
	woken    atomix.Bool
}

// State of End, apart from its mailboxes and doorbells:
//
//	tickets, blocks  entry i: plain memory of the goroutine that has claimed slot i
//	violated         not 0: the other side broke a rule; stored by the receiver
//	posted           slots that Post has filled and that are not published yet; owned
//	                 by the receiver
//	message          the message that Drain passes to its function; owned by the receiver
//	want, got        the events that the receiver looks for, and those that it has seen;
//	                 owned by the receiver
//	waits, why       those that the goroutine in WaitUntil waits for; owned by the receiver
//	handed           the order of the claims of a slot, which the race detector does not see between processes
//	cancels          counts the slots that goroutines of this side have claimed and given back
//	freed, noted     what was given back when the wait of the receiver began, and at the last NoteFreed;
//	                 owned by the receiver
//	state            endOpen, then endClosed, then endUnmapped: CAS of a goroutine that closes the end,
//	                 store of the one that gives the memory back
//	woken            WakeOwn or HandOver was called, and the receiver has not taken it since: set by
//	                 any goroutine of the side, cleared by the receiver
//
// The receiver is the holder of the turn of bell.
//
// Invariant:
//
//	U1  a result that may come from the memory after it was given back is used only if isLost returns false
//	    afterwards. The state is stored before the regions are closed, which may leave zeros in place of one of
//	    them, or of both. In zeros each slot is free, and no message is pending
//
// A payload in the arena belongs to its slot. The next goroutine that claims the slot
// reuses the block or frees it. The other side has acknowledged the slot by then, and
// so no longer reads the block.

// freed says which slots were given back: by the other side, and by goroutines of this one.
type freed struct{ acked, cancels uint32 }

// freedNow returns what was given back until now.
func (e *End) freedNow() freed {
	_, acked := e.in.side.load()
	return freed{acked, e.cancels.Load()}
}

// block is the part of the arena that a slot has for its payload.
type block struct {
	off   uint32
	units uint32 // 0: the slot has no block
	spent bool   // its contents are no longer needed
}

// The states of an end.
const (
	endOpen     = iota
	endClosed   // it sends nothing more
	endUnmapped // and its memory is given back, or is about to be
)

// isClosed reports whether the end sends nothing more.
func (e *End) isClosed() bool { return e.state.Load() != endOpen }

// isLost reports whether the memory was given back, or is about to be: U1.
func (e *End) isLost() bool { return e.state.Load() == endUnmapped }

// init makes an end over the two halves.
func (e *End) init(c *Config, out, in *half, w waits) (err error) {
	e.out, e.in = *out, *in
	e.sender.Init(out.side, in.side, Slots)
	e.receiver.Init(out.side, in.side, Slots)
	e.limits = Limits{Functions: c.Functions, Arena: c.PayloadMax, PerValue: c.PayloadPerValue, Aborts: c.Aborts}
	e.bell.init(in.bell, out.parked, out.cpu, in.cpu, w)
	e.peer.init(out.bell, in.parked, in.cpu, out.cpu, w)
	e.ready, e.readyToWake = e.look, e.lookToWake
	e.waits, e.why = Published, onPublish // for a Return before the first WaitUntil
	e.arena, err = NewArena(c.PayloadInitial, c.PayloadMax, c.PayloadPerValue)
	return err
}

// Now returns the time since the time origin of the Link in nanoseconds, the unit of
// [Header].Deadline. The time origin is a moment within NewLink or NewHost. The result
// of Now is more than 0, and is that of the other end at that moment. It advances
// evenly, also when the clock of the machine is set.
func (e *End) Now() int64 { return e.bell.now() }

// Claim takes a free slot. The caller fills it with Publish or Post, or gives it back
// with Cancel. ok is false when no slot is free, and when this end is closed. Any
// goroutine of the side may call Claim. It never blocks.
func (e *End) Claim() (slot int, ok bool) {
	if e.isClosed() {
		return 0, false
	}
	slot, ticket, ok := e.sender.Claim()
	if !ok || e.isLost() { // U1: the slot may be that of another goroutine
		return 0, false
	}
	e.handed[slot].Take()
	e.tickets[slot] = ticket
	e.blocks[slot].spent = true
	crash.At(crash.Claimed)
	return slot, true
}

// Reserve returns memory in which the payload of a claimed slot can be built, so that
// Publish need not copy it. The result is an empty slice with capacity for at least n
// bytes. Publish moves a payload that begins after the start of that memory to the
// start. Reserve returns the errors of [Arena.Alloc], and [ErrClosed] when this end is
// closed. It panics when the slot is not claimed.
func (e *End) Reserve(slot, n int) ([]byte, error) {
	if err := e.holds(slot, "Reserve"); err != nil {
		return nil, err
	}
	if n <= InlineBytes {
		return e.out.inline(slot)[:0], nil
	}
	return e.reserveBlock(slot, n)
}

// Publish sends h with a payload and wakes the other side if it is parked. It sets Off,
// Len, Seq and Value of h. The other side owns the slot from then on. On an error of
// [Arena.Alloc], which Publish returns, the slot is cancelled. When this end is closed,
// Publish returns [ErrClosed]. It never blocks. It panics when the slot is not claimed.
func (e *End) Publish(slot int, h *Header, payload []byte) error {
	if err := e.fill(slot, h, payload); err != nil {
		return err
	}
	e.handed[slot].Give()
	crash.At(crash.BeforePublish)
	if !e.sender.publish(slot) {
		return e.notHeld("Publish")
	}
	crash.At(crash.AfterPublish)
	e.peer.ring(eventsOf(h.Flags))
	return nil
}

// Urge makes a published message urgent for the other side. See [End.Lend]. Any goroutine may call it. It never blocks.
func (e *End) Urge() { e.peer.ring(onUrgent) }

// eventsOf returns the events of a message with those flags, for which a waiter may wait.
func eventsOf(f Flags) uint32 {
	if f&(FlagNotice|FlagPing) != 0 {
		return onPublish | onUrgent
	}
	return onPublish
}

// Post is Publish for an end on which one goroutine both sends and receives. The slot
// is published together with the next group of acknowledgements, by the same store.
// That happens when Drain has passed on 8 messages, when Drain returns, or in Flush.
func (e *End) Post(slot int, h *Header, payload []byte) error {
	if err := e.fill(slot, h, payload); err != nil {
		return err
	}
	e.handed[slot].Give()
	e.posted |= 1 << uint(slot)
	return nil
}

// Flush publishes the slots that Post has filled.
func (e *End) Flush() {
	if e.posted != 0 {
		_ = e.release(0) // Drain returns the error of the other side as well
	}
}

// Cancel gives a claimed slot back and wakes this side if it waits for a slot. It does
// nothing when this end is closed. It panics when the slot is not claimed.
func (e *End) Cancel(slot int) {
	if e.holds(slot, "Cancel") == nil {
		e.freeBlock(slot)
		e.cancel(slot)
	}
}

// cancel gives a claimed slot back. It wakes the goroutine of this side that waits for
// a slot, because the other side does not see the change.
func (e *End) cancel(slot int) {
	e.handed[slot].Give()
	if !e.sender.cancel(slot) {
		_ = e.notHeld("Cancel")
	}
	e.cancels.Add(1)
	e.bell.wakeOwn(onAck)
}

// holds returns nil if the slot is claimed, [ErrClosed] if this end is closed, and panics otherwise.
func (e *End) holds(slot int, method string) error {
	if _, _, ok := e.sender.claimed(slot); !ok || e.isClosed() {
		return e.notHeld(method)
	}
	return nil
}

// notHeld returns [ErrClosed] if this end is closed: its memory may be zeros by now, in which no slot is claimed.
// Otherwise it panics, because the caller has not claimed the slot.
func (e *End) notHeld(method string) error {
	if !e.isClosed() {
		panic("transport: " + method + ": the slot is not claimed")
	}
	return ErrClosed
}

// fill writes the header and the payload to a slot, or cancels the slot and returns the
// error.
func (e *End) fill(slot int, h *Header, payload []byte) error {
	if err := e.holds(slot, "Publish"); err != nil {
		return err
	}
	off, err := e.putPayload(slot, h, payload)
	if err != nil {
		e.Cancel(slot)
		return err
	}
	h.Off, h.Len, h.Seq = off, uint32(len(payload)), e.tickets[slot]
	dst := e.out.header(slot)
	h.Encode(dst)
	crash.Half(crash.HeaderHalf, dst, HeaderBytes)
	return nil
}

// putPayload puts the payload into the tier for its length.
func (e *End) putPayload(slot int, h *Header, payload []byte) (off uint32, err error) {
	var value [ValueBytes]byte
	switch n := len(payload); {
	case n <= ValueBytes:
		copy(value[:], payload)
		e.freeBlock(slot) // after the copy: the payload may be in the block of a Reserve
	case n <= InlineBytes:
		dst := e.out.inline(slot)
		copy(dst, payload)
		crash.Half(crash.PayloadHalf, dst, n)
		e.freeBlock(slot)
	default:
		off, err = e.putInArena(slot, payload)
	}
	h.Value = value
	return off, err
}

// putInArena puts the payload into the arena. A payload that is in the block of the
// slot already stays there and is moved to its start. The block must not be freed
// before that copy, because another sender could then allocate it and overwrite the
// payload.
func (e *End) putInArena(slot int, payload []byte) (off uint32, err error) {
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
	crash.Half(crash.PayloadHalf, buf, len(payload))
	return e.blocks[slot].off, nil
}

// reserveBlock gives the slot a block for n bytes. A block of that size which the slot
// has already is used again: to free it and allocate another takes a third of the time
// of a call with 1 KiB.
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

// freeBlock frees the block of a slot, if it has one. The caller has claimed the slot.
func (e *End) freeBlock(slot int) {
	if b := e.blocks[slot]; b.units > 0 {
		e.blocks[slot] = block{}
		crash.At(crash.FreeingBlock)
		e.arena.Free(b.off)
	}
}

// FreeAcked frees the payloads of all slots that the other side has acknowledged, and
// returns their number. Without it, a payload in the arena is freed when its slot gets
// a payload that needs a block of another size, or none.
func (e *End) FreeAcked() (freed int) {
	for set := e.sender.Free(); set != 0; {
		slot, _, ok := e.sender.claim(set)
		if !ok || e.isLost() { // U1
			break
		}
		set &^= 1 << slot
		e.handed[slot].Take()
		if e.blocks[slot].units > 0 {
			e.freeBlock(slot)
			freed++
		}
		e.cancel(slot) // a wait that began during the claim did not see the slot
	}
	return freed
}

// Arena returns the allocator of the payloads that this end sends.
func (e *End) Arena() *Arena { return e.arena }

// Free returns the set of slots that a Claim could take. The set may be out of date
// when Free returns.
func (e *End) Free() uint32 { return e.sender.Free() }

// Pending returns the set of slots whose messages Drain would receive.
func (e *End) Pending() uint32 { return e.receiver.Pending() }
