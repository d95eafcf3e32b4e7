package transport

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/lanewright/lanewright/internal/crash"
)

// Message is a message of the other side. It is valid until the function that Drain
// calls with it returns. [Message.Append] copies the payload.
type Message struct {
	Header         // a copy
	payload []byte // in the header above, or in memory that the other side writes
	end     *End
}

// Append appends a copy of the payload to buf and returns the result. The copy does not
// change, whatever the other side does. The payload of a message with a bad header is
// empty. The error is [ErrClosed] if this end has lost the memory to [End.Unmap]. The copy
// may be zeros then.
func (m *Message) Append(buf []byte) ([]byte, error) {
	buf = append(buf, m.payload...)
	if m.end.isLost() { // U1
		return buf, ErrClosed
	}
	return buf, nil
}

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
	early, pending := e.sender.early(), e.receiver.Pending()
	if e.isLost() { // U1
		return 0, ErrClosed
	}
	if early != 0 {
		e.violated.Store(1)
	}
	if e.Violated() {
		return 0, ErrViolation
	}
	if pending == 0 {
		e.Flush()
		return 0, nil
	}
	crash.At(crash.PendingRead)
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
		bad := e.read(int(slot))
		crash.At(crash.HeaderDecoded)
		if e.isLost() { // U1
			return n, ErrClosed
		}
		done |= 1 << slot
		n++
		fn(&e.message, bad)
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
	m.payload, m.end = nil, e
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
// was given back. A closed end publishes nothing.
func (e *End) release(set uint32) error {
	revoked := set &^ e.receiver.Pending()
	posted := e.posted
	e.posted = 0
	switch {
	case e.isLost(): // U1
		return ErrClosed
	case revoked != 0:
		e.violated.Store(1)
		return ErrViolation
	case e.isClosed():
		posted = 0
	}
	why := uint32(0)
	if set != 0 {
		why = onAck
		crash.At(crash.Acknowledging)
	}
	if posted != 0 {
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

// The events. [End.WaitUntil] waits for Published, Acknowledged, Freed or several of them.
const (
	// Published is a message of the other side.
	Published Event = 1 << iota
	// Acknowledged is a slot that a Claim could take, or could have taken since the wait has begun. It also ends
	// the wait when goroutines of this side have claimed all slots, since they do not keep them for long, and the
	// other side gives none back.
	Acknowledged
	// Closed is the Close of either end, without a message that was published before.
	Closed
	// Woken is a call of [End.WakeOwn].
	Woken
	// Expired is the deadline.
	Expired
	// Noise is a number of wake-ups without any other event: 64. Another side that keeps to the rules causes fewer.
	Noise
	// Freed is a slot that the other side has given back since the last [End.NoteFreed], with the memory of its payload. It
	// also ends the wait while the other side has no slot, because none will come back then.
	Freed
)

var eventNames = [...]string{"published", "acknowledged", "closed", "woken", "expired", "noise", "freed"}

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
// want is not Published, Acknowledged, Freed or several of them. [End] states the permitted callers.
//
// After Noise the caller may wait again. A call of WakeOwn ends one wait, and no more.
func (e *End) WaitUntil(want Event, deadline int64) Event { return e.waitUntil(want, deadline, false) }

// ParkUntil is WaitUntil without polling. It is for a goroutine from which others borrow the right to receive.
func (e *End) ParkUntil(want Event, deadline int64) Event { return e.waitUntil(want, deadline, true) }

func (e *End) waitUntil(want Event, deadline int64, parks bool) Event {
	if want&(Published|Acknowledged|Freed) != want || want == 0 {
		panic("transport: WaitUntil: want is " + want.String() + ", not published, acknowledged, freed or several of them")
	}
	e.waits, e.freed = want, e.freedNow()
	why := uint32(want &^ Freed)
	if want&Freed != 0 {
		why |= onAck
	}
	e.why = why
	wait := e.bell.wait
	if parks {
		wait = e.bell.parkUntil
	}
	switch wait(why, e.readyToWake, deadline) {
	case expired:
		return Expired
	case noise:
		return Noise
	}
	return e.happened()
}

// happened returns the events that look has seen.
func (e *End) happened() Event {
	if e.got&Woken != 0 {
		e.woken.Swap(false) // and not a store: the caller sees what each WakeOwn before it has announced
	}
	return e.got
}

// Borrow makes the caller the receiver of this side in place of the goroutine that is parked in WaitUntil or [End.Pass].
// It reports whether it did. So a goroutine that waits for a certain message can receive that itself. The other one stays
// parked. The caller gives the right back with [End.Return] or [End.HandOver]. Any goroutine may call Borrow. It never
// blocks.
func (e *End) Borrow() bool { return e.bell.borrow() }

// Spin polls until Published, Closed or Woken has happened. It returns the events, or 0 after the time of Config.Spin. It
// does not poll where WaitUntil does not. Only the receiver may call it.
func (e *End) Spin() Event {
	e.want = Published
	if !e.ready() && !e.bell.spinUntil(e.ready, 0) {
		return 0
	}
	return e.happened()
}

// TakeWoken reports whether WakeOwn was called since the last Woken. A receiver that calls it before it looks at what
// WakeOwn announces sees each change. Only the receiver may call it.
func (e *End) TakeWoken() bool { return e.woken.Load() && e.woken.Swap(false) }

// Return gives a borrowed right back and returns true. It returns false if a message is pending. The caller then keeps the
// right, and may have taken a WakeOwn as TakeWoken does. Any other event for which the other goroutine waits ends its
// wait.
func (e *End) Return() bool {
	switch {
	case e.bell.give(turnFree, e.why, e.readyToWake):
	case e.happened()&Published != 0:
		return false
	default:
		e.HandOver()
	}
	return true
}

// HandOver gives a borrowed right back. The wait of the other goroutine ends with Woken.
func (e *End) HandOver() {
	e.woken.Store(true) // the caller may have taken a WakeOwn by Spin
	e.bell.handOver()
}

// Lend is for a receiver that is about to run code that it does not know. It receives nothing until [End.Resume]. An
// urgent message gives the right to the goroutine that is parked in WaitUntil or [End.Pass]. Notices and pings are urgent.
// Urge and Close of the other side have the same effect, and so has WakeOwn of this side.
//
// Lend returns the events of [End.Spin] that have happened already. The caller then has the right still and receives
// first. Lend never blocks.
func (e *End) Lend() Event {
	e.want = Published
	if e.bell.give(turnLent, onUrgent, e.ready) {
		return 0
	}
	return e.happened()
}

// Resume takes the right back after Lend. It returns false if another goroutine has taken it since. Several goroutines may have
// lent the right one after another. The first one that calls Resume takes it.
func (e *End) Resume() bool { return e.bell.resume() }

// Pass calls start, which makes another goroutine a receiver that has borrowed the right. It blocks until the right comes
// back. That is after HandOver, by an event after Return, or by an urgent message after Lend. The caller is the receiver
// before and afterwards.
func (e *End) Pass(start func()) {
	seen := e.bell.bell.Load() // first: a later ring ends the wait
	start()
	e.bell.await(seen, 0)
}

// lookToWake is look for the goroutine that waits.
func (e *End) lookToWake() bool {
	e.want = e.waits
	return e.look()
}

// look sets got to the events that end a wait, and reports whether there is one.
func (e *End) look() bool {
	e.got = e.events()
	if e.isLost() { // U1
		e.got = Closed
	}
	if e.woken.Load() {
		e.got |= Woken
	}
	return e.got != 0
}

// events returns the events of want that the memory shows, and Closed.
func (e *End) events() (got Event) {
	published := e.want&Published != 0
	switch {
	case published && e.receiver.Pending() != 0:
		got = Published
	case !e.PeerClosed() && !e.isClosed():
	case published && e.receiver.Pending() != 0: // the message came before the end
		got = Published
	default:
		got = Closed
	}
	// When the other side holds no slot, none will come back from it.
	if e.want&Acknowledged != 0 && (e.sender.Free() != 0 || e.sender.Busy() == 0 || e.freedNow() != e.freed) {
		got |= Acknowledged
	}
	if e.want&Freed != 0 && (e.freedNow().acked != e.noted || e.sender.Busy() == 0) {
		got |= Freed
	}
	return got
}

// NoteFreed notes which slots the other side has given back until now. An attempt to send for which there is no slot, or
// no memory for the payload, has a chance after each slot that is given back. So the receiver of this side calls
// NoteFreed before the attempt, and waits for [Freed] after it. Only the receiver may call it.
func (e *End) NoteFreed() { e.noted = e.freedNow().acked }

// WakeOwn ends the WaitUntil of this side, or the next one if there is none. A caller does so after a change that the
// other side has no part in, such as its death, or a request to stop. Any goroutine may call it. It never blocks.
func (e *End) WakeOwn() {
	e.woken.Store(true)
	e.bell.wakeOwn(onAny)
}

// Close ends the sending of this end, and every wait of both ends. Messages that were
// published before can still be received. Those that Post has filled, and that were not
// published, are lost. A second call does nothing.
func (e *End) Close() {
	if !e.state.CompareAndSwap(endOpen, endClosed) {
		return
	}
	e.out.closed.Store(1)
	crash.At(crash.Closing)
	e.peer.Ring()
	e.bell.wakeOwn(onAny)
}

// detach closes the end, the regions of which are about to be closed. It tells the other side so itself, and wakes both
// sides, although they may not be parked: a Close or a ring that another goroutine has begun may not reach the other
// side any more.
func (e *End) detach() {
	e.state.CompareAndSwap(endOpen, endClosed)
	e.out.closed.Store(1)
	e.peer.ringLast()
	e.bell.waker.WakeOwn()
	e.state.Store(endUnmapped) // U1
}

// PeerClosed reports whether the other side has closed its end.
func (e *End) PeerClosed() bool { return e.in.closed.Load() != 0 }
