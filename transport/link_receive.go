package transport

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
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
// Drain returns [ErrViolation] as soon as it sees that the other side broke a rule, and
// [ErrClosed] when it has lost the memory to [End.Unmap]. It never blocks. [End] states
// the permitted callers.
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
		if last := e.release(done); err == nil {
			err = last
		}
	}()
	var buf [Slots]uint8
	for _, slot := range e.order(pending, &buf) {
		if n > 0 && n%ackGroup == 0 {
			if err := e.release(done); err != nil {
				return n, err
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
// other side if that waits for one of these events. It does nothing and returns an error
// when the other side has revoked the publication of a slot of set, or when the memory
// was given back and is zeros.
func (e *End) release(set uint32) error {
	if set&^e.receiver.Pending() != 0 {
		if e.state.Load() == endUnmapped {
			return ErrClosed
		}
		e.violated.Store(1)
		return ErrViolation
	}
	why := uint32(0)
	if set != 0 {
		why = onAck
	}
	if posted := e.posted; posted != 0 {
		e.posted = 0
		if !exchange(&e.sender, &e.receiver, posted, set) {
			return e.notHeld("Post")
		}
		why |= onPublish
	} else {
		e.receiver.AckAll(set)
	}
	e.peer.ring(why)
	return nil
}

// Violated reports whether the other side broke a rule, see [ErrViolation].
func (e *End) Violated() bool { return e.violated.Load() != 0 }

// Event is a set of reasons for which a wait ends.
type Event uint8

// The events. [End.WaitUntil] waits for Published, Acknowledged or both.
const (
	// Published is a message of the other side.
	Published Event = 1 << iota
	// Acknowledged is a slot that a Claim could take. It also ends the wait when goroutines of this side have
	// claimed all slots, since they do not keep them for long, and the other side gives none back.
	Acknowledged
	// Closed is the Close of either end, without a message that was published before.
	Closed
	// Woken is a call of [End.WakeOwn].
	Woken
	// Expired is the deadline.
	Expired
	// Noise is a number of wake-ups without any other event: 64. Another side that keeps to the rules causes fewer.
	Noise
)

var eventNames = [...]string{"published", "acknowledged", "closed", "woken", "expired", "noise"}

// String returns the names of the events, or "none".
func (v Event) String() string {
	names := make([]string, 0, len(eventNames))
	for i, name := range eventNames {
		if v&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	switch unknown := v >> len(eventNames); {
	case unknown != 0:
		return fmt.Sprintf("Event(%d)", uint8(v))
	case len(names) == 0:
		return "none"
	}
	return strings.Join(names, " and ")
}

// WaitUntil blocks until one of the events in want happens, and returns those that have happened. Closed, Woken and
// Noise end every wait, and so does the deadline. It is a time of Now; 0 is no deadline. A message that is pending,
// or any other event that has happened before, ends the wait at once, also after the deadline. WaitUntil panics when
// want is not Published, Acknowledged or both. [End] states the permitted callers.
//
// After Noise the caller may wait again. A call of WakeOwn ends one wait, and no more.
func (e *End) WaitUntil(want Event, deadline int64) Event {
	if want&(Published|Acknowledged) != want || want == 0 {
		panic("transport: WaitUntil: want is " + want.String() + ", not published, acknowledged or both")
	}
	e.want = want
	switch e.bell.wait(uint32(want), e.ready, deadline) {
	case expired:
		return Expired
	case noise:
		return Noise
	}
	if e.got&Woken != 0 {
		e.woken.Store(false)
	}
	return e.got
}

// look sets got to the events that end a wait, and reports whether there is one.
func (e *End) look() bool {
	e.got = 0
	published := e.want&Published != 0
	switch {
	case published && e.receiver.Pending() != 0:
		e.got = Published
	case !e.PeerClosed() && !e.isClosed():
	case published && e.receiver.Pending() != 0: // the message came before the end
		e.got = Published
	default:
		e.got = Closed
	}
	// When the other side holds no slot, none will come back from it.
	if e.want&Acknowledged != 0 && (e.sender.Free() != 0 || e.sender.Busy() == 0) {
		e.got |= Acknowledged
	}
	if e.woken.Load() {
		e.got |= Woken
	}
	return e.got != 0
}

// WakeOwn ends the WaitUntil of this side, or the next one if there is none. A caller does so after a change that the
// other side has no part in, such as its death, or a request to stop. Any goroutine may call it. It never blocks.
func (e *End) WakeOwn() {
	e.woken.Store(true)
	e.bell.wakeOwn(onPublish | onAck)
}

// Close ends the sending of this end, and every wait of both ends. Messages that were
// published before can still be received. A second call does nothing.
func (e *End) Close() {
	if !e.state.CompareAndSwap(endOpen, endClosed) {
		return
	}
	e.out.closed.Store(1)
	e.peer.Ring()
	e.bell.wakeOwn(onPublish | onAck)
}

// PeerClosed reports whether the other side has closed its end.
func (e *End) PeerClosed() bool { return e.in.closed.Load() != 0 }
