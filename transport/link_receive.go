package transport

import (
	"encoding/binary"
	"math/bits"
	"time"
)

// Message is a message of the other side. It is valid until the function that Drain
// calls with it returns. [Message.Append] copies the payload.
type Message struct {
	Header         // a copy
	payload []byte // in the header above, or in memory that the other side writes
}

// Append appends a copy of the payload to buf and returns the result. The copy does not
// change, whatever the other side does. The payload of a message with a bad header is
// empty.
func (m *Message) Append(buf []byte) []byte { return append(buf, m.payload...) }

// ackGroup is the number of messages after which Drain gives their slots back.
const ackGroup = 8

// Drain receives the messages that are published when it begins, at most 32. It calls fn
// with each message, in the order in which the other side claimed the slots. It returns
// the number of these calls. The argument err of fn names the fault of a bad header, and
// is nil for a good one. fn copies the bytes that it keeps, because the message is valid
// only until fn returns.
//
// Drain acknowledges the slots of the messages in groups of 8, and the rest when it
// returns or fn panics. It also publishes posted answers, as [End.Flush] does.
//
// Drain returns [ErrViolation] as soon as it sees that the other side broke a rule. It
// never blocks. [End] states the permitted callers.
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

// order returns the slots of set in the order of the tickets that the other side wrote.
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

// release gives the slots of set back and publishes the posted slots. It wakes the
// other side if that waits for one of these events. It returns false and does nothing
// when the other side has revoked the publication of a slot of set.
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

// Violated reports whether the other side broke a rule, see [ErrViolation].
func (e *End) Violated() bool { return e.violated.Load() != 0 }

// Wait blocks until there is a message or the other side has closed its end, and
// returns true. With orSlot it also returns true when a slot is free, and when
// goroutines of this side have claimed all slots, since they do not keep them for long.
// If limit is more than 0, Wait returns false when that time has passed since it parked.
// [End] states the permitted callers.
func (e *End) Wait(orSlot bool, limit time.Duration) bool {
	if orSlot {
		return e.bell.wait(onPublish|onAck, e.hasSlot, limit)
	}
	return e.bell.wait(onPublish, e.hasMessage, limit)
}

// Close marks this end as closed and wakes the other side if it is parked. Messages
// that were published before can still be received.
func (e *End) Close() {
	e.out.closed.Store(1)
	e.peer.Ring()
}

// PeerClosed reports whether the other side has closed its end.
func (e *End) PeerClosed() bool { return e.in.closed.Load() != 0 }
