package transport

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// Message is what the other side has sent, in its slot: valid until the function
// that Drain has given it to returns.
type Message struct {
	Header         // a copy
	payload []byte // in the header above, or in memory that the other side writes
}

// Append appends a copy of the payload to buf. Whatever the other side does, the
// copy does not change. It is empty when the header was bad.
func (m *Message) Append(buf []byte) []byte { return append(buf, m.payload...) }

// ackGroup is how many slots a Drain hands out before it gives them back.
const ackGroup = 8

// Drain hands each message that is there when it is called to fn, oldest claim
// first, 32 at most, and returns how many. err tells fn what is wrong with the
// header of a message, or is nil. The slots are given back in groups of 8, and the
// rest when Drain returns, also when fn panics: what fn wants to keep, it copies.
//
// Drain returns [ErrViolation], at once or when it finds out, if the other side
// broke a rule.
func (e *End) Drain(fn func(m *Message, err error)) (n int, err error) {
	if e.sender.early() != 0 {
		e.violated.Store(1)
	}
	if e.Violated() {
		return 0, ErrViolation
	}
	pending := e.receiver.Pending()
	if pending == 0 {
		e.Flush()
		return 0, nil
	}
	var done uint32
	defer func() {
		if !e.release(done) {
			err = ErrViolation
		}
	}()
	var buf [Slots]uint8
	for _, slot := range e.order(pending, &buf) {
		if n > 0 && n%ackGroup == 0 {
			if !e.release(done) {
				return n, ErrViolation
			}
			done = 0
		}
		done |= 1 << slot
		n++
		fn(&e.message, e.read(int(slot)))
	}
	return n, nil
}

// order returns the slots of set by their tickets, as the other side has them.
func (e *End) order(set uint32, buf *[Slots]uint8) []uint8 {
	var tickets [Slots]uint32
	if set&(set-1) != 0 {
		for rest := set; rest != 0; rest &= rest - 1 {
			slot := bits.TrailingZeros32(rest)
			tickets[slot] = binary.LittleEndian.Uint32(e.in.header(slot)[seqOffset:])
		}
	}
	return InOrder(set, &tickets, buf)
}

// read decodes the header of a slot into the message.
func (e *End) read(slot int) error {
	m := &e.message
	m.payload = nil
	if err := m.Decode(e.in.header(slot), e.limits); err != nil {
		return err
	}
	switch n := int(m.Len); {
	case n <= ValueBytes:
		m.payload = m.Value[:n]
	case n <= InlineBytes:
		m.payload = e.in.inline(slot)[:n]
	default:
		m.payload = e.in.arena[m.Off : int(m.Off)+n]
	}
	return nil
}

// release gives slots back, publishes what was posted, and wakes the other side if
// it waits for that. It reports false, and does nothing, when the other side has
// taken back a slot of the set that it had published.
func (e *End) release(set uint32) bool {
	if set&^e.receiver.Pending() != 0 {
		e.violated.Store(1)
		return false
	}
	why := uint32(0)
	if set != 0 {
		why = onAck
	}
	if posted := e.posted; posted != 0 {
		e.posted = 0
		Exchange(&e.sender, &e.receiver, posted, set)
		why |= onPublish
	} else {
		e.receiver.AckAll(set)
	}
	e.peer.ring(why)
	return true
}

// Violated reports whether the other side broke a rule: see [ErrViolation].
func (e *End) Violated() bool { return e.violated.Load() != 0 }

// Wait blocks until there is a message, or the other side has closed its end, and
// returns true; with room also when a slot is free, or all are claimed by goroutines
// of this side, which will not keep them for long. If limit is more than 0, it
// returns false when it has been parked that long.
func (e *End) Wait(orSlot bool, limit time.Duration) bool {
	if orSlot {
		return e.bell.wait(onPublish|onAck, e.hasSlot, limit)
	}
	return e.bell.wait(onPublish, e.hasMessage, limit)
}

// Close tells the other side that this one has ended, and wakes it if it is
// parked. What was published before can still be received.
func (e *End) Close() {
	e.out.closed.Store(1)
	e.peer.Ring()
}

// PeerClosed reports whether the other side has closed its end.
func (e *End) PeerClosed() bool { return e.in.closed.Load() != 0 }
