package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// doing is an operation of one side of a session.
type doing uint8

const (
	doOpen      doing = iota // NewHost or NewWorker
	doGreet                  // Greet of the worker side, or Greeting of the host
	doSend                   // sends n bytes: a call of the host, or of the worker side the answer to its oldest call
	doBuild                  // the same with a payload that is built in memory of Reserve
	doPost                   // the same with Post
	doFlush                  // Flush
	doReject                 // the same as an error
	doNotice                 // sends a notice of n bytes
	doPing                   // sends a ping
	doAbortable              // sends a call that can be aborted
	doAbort                  // aborts it, or gives its id back if it is aborted. The worker side polls for the id
	doHold                   // claims a slot and keeps it
	doCancel                 // gives it back
	doDrain                  // receives what has come. The worker side starts the calls
	doStarted                // the host looks which calls have started. The worker side starts the call with index n
	doWait                   // WaitUntil(n) for a short time
	doPark                   // ParkUntil(n) for a short time
	doFree                   // FreeAcked and NoteFreed
	doUrge                   // Urge
	doWake                   // WakeOwn
	doLend                   // Lend and Resume
	doClose                  // Close
	doCount                  // no operation
)

// op is one operation of a session.
type op struct {
	by     transport.Direction // the side: the one that writes that memory
	do     doing
	n      int
	inside int // of a wait: the number of the next operations, which happen in its Park
}

const (
	byHost   = transport.Requests
	byWorker = transport.Answers

	published, acknowledged, freed = int(transport.Published), int(transport.Acknowledged), int(transport.Freed)
)

// sessionOps is a session: payloads of all tiers in both directions, notices, pings, rejects, aborts, a mailbox
// that is full, an arena that is full, waits that a message ends, waits that end by their deadline, and the end.
var sessionOps = slices.Concat(
	[]op{
		{by: byHost, do: doOpen},
		{by: byWorker, do: doOpen},
		{by: byWorker, do: doGreet},
		{by: byHost, do: doGreet},
		{by: byHost, do: doNotice, n: 40},
		{by: byWorker, do: doDrain},
		{by: byWorker, do: doNotice, n: 30},
		{by: byHost, do: doDrain},
		{by: byWorker, do: doWait, n: published, inside: 4}, // calls come while it parks
		{by: byHost, do: doSend, n: 0},
		{by: byHost, do: doSend, n: 24},
		{by: byHost, do: doSend, n: 25},
		{by: byHost, do: doSend, n: 512},
		{by: byWorker, do: doDrain},
		{by: byHost, do: doStarted},
		{by: byWorker, do: doPost, n: 0},
		{by: byWorker, do: doPost, n: 600},
		{by: byHost, do: doPark, n: published, inside: 1}, // answers come while it parks
		{by: byWorker, do: doFlush},
		{by: byHost, do: doDrain},
		{by: byWorker, do: doReject, n: 300},
		{by: byWorker, do: doReject, n: 700},
		{by: byHost, do: doDrain},
		{by: byHost, do: doAbortable, n: 100},
		{by: byHost, do: doSend, n: 513},
		{by: byHost, do: doBuild, n: 1000},
		{by: byHost, do: doPing},
		{by: byHost, do: doHold},
		{by: byWorker, do: doDrain},
		{by: byHost, do: doAbort},
		{by: byWorker, do: doAbort},
		{by: byHost, do: doStarted},
		{by: byWorker, do: doPing},
		{by: byWorker, do: doSend, n: 10},
		{by: byWorker, do: doBuild, n: 999},
		{by: byWorker, do: doSend, n: 513},
		{by: byHost, do: doDrain},
		{by: byHost, do: doAbort},
		{by: byHost, do: doCancel},
		{by: byHost, do: doLend},
		{by: byWorker, do: doWait, n: published}, // nothing comes
		{by: byWorker, do: doFree},
	},
	slices.Repeat([]op{{by: byHost, do: doSend, n: 700}}, 12), // the arena has no space for the last
	slices.Repeat([]op{{by: byHost, do: doSend, n: 20}}, 22),  // and the mailbox
	[]op{
		{by: byHost, do: doFree},
		{by: byHost, do: doWait, n: acknowledged, inside: 1},
		{by: byWorker, do: doDrain},
		{by: byHost, do: doWait, n: freed},
		{by: byHost, do: doFree},
	},
	slices.Repeat([]op{{by: byHost, do: doSend, n: 20}, {by: byWorker, do: doSend, n: 800}}, 12),
	[]op{
		{by: byHost, do: doUrge},
		{by: byWorker, do: doLend},
		{by: byWorker, do: doDrain},
		{by: byHost, do: doDrain},
		{by: byHost, do: doWake},
		{by: byHost, do: doWait, n: published | freed},
		{by: byWorker, do: doWait, n: published, inside: 1}, // the host ends while it parks
		{by: byHost, do: doClose},
		{by: byWorker, do: doClose},
		{by: byHost, do: doWait, n: published},
		{by: byHost, do: doDrain},
	},
)

// player is one side of a session.
type player struct {
	t      testing.TB
	by     transport.Direction
	memory [2]memory
	waker  standstill
	host   *transport.HostEnd
	worker *transport.WorkerEnd
	end    *transport.End
	limits transport.Limits
	arena  int    // the offset of the payloads of the other side
	inside func() // a change of the memory while a message is handled; nil: none
	again  bool   // it comes with each message, not with the first one only

	held    uint32 // the slots that it has claimed
	aborts  []transport.AbortID
	polled  []transport.AbortID
	sent    int // calls of the host
	calls   []transport.Header
	logs    bool
	log     []string // of the results, if logs
	refused error    // the memory is not accepted
}

// wait is how long a wait of a session lasts, and tick how long an operation. A wait spins for no longer than
// that, whatever the hello says.
const wait, tick = 300, 10

// do makes one operation.
func (p *player) do(o op) {
	if p.refused != nil {
		return
	}
	*p.waker.now += tick
	if o.do == doOpen {
		p.open()
		return
	}
	switch o.do {
	case doGreet:
		p.greet()
	case doSend, doBuild, doPost, doReject, doNotice, doPing, doAbortable:
		p.send(o)
	case doFlush:
		p.end.Flush()
	case doAbort:
		p.abort()
	case doHold:
		p.claim()
	case doCancel:
		if p.held != 0 {
			slot := bits.TrailingZeros32(p.held)
			p.held &^= 1 << slot
			p.end.Cancel(slot)
		}
	case doDrain:
		p.drain()
	case doStarted:
		p.started(o.n)
	case doWait:
		p.wait(o.n, p.end.WaitUntil)
	case doPark:
		p.wait(o.n, p.end.ParkUntil)
	case doFree:
		n := p.end.FreeAcked()
		p.end.NoteFreed()
		p.saw("freed %d", n)
	case doUrge:
		p.end.Urge()
	case doWake:
		p.end.WakeOwn()
	case doLend:
		if v := p.end.Lend(); v == 0 && !p.end.Resume() {
			p.t.Fatal("Resume returns false, and no other goroutine is there")
		}
	case doClose:
		p.end.Close()
	}
	if a := p.end.Arena(); a.InUse() > p.limits.Arena || a.HighWater() > p.limits.Arena {
		p.t.Fatalf("the arena of %d bytes has %d in use, up to %d", p.limits.Arena, a.InUse(), a.HighWater())
	}
}

// saw adds to the log.
func (p *player) saw(format string, args ...any) {
	if p.logs {
		p.log = append(p.log, fmt.Sprintf(format, args...))
	}
}

// open makes the end.
func (p *player) open() {
	var err error
	le, said := binary.LittleEndian, bytes.Clone(p.memory[byHost][:endHello])
	if p.by == byHost {
		if p.host, err = transport.NewHost(linkSizes, p.memory[0], p.memory[1], &p.waker); err == nil {
			p.end = &p.host.End
		}
		p.arena = offTable + 4*transport.Calls
		p.limits = transport.Limits{Functions: linkSizes.Functions, Arena: linkSizes.PayloadMax, PerValue: linkSizes.PayloadPerValue, Aborts: linkSizes.Aborts}
	} else {
		if p.worker, err = transport.NewWorker(p.memory[0], p.memory[1], &p.waker); err == nil {
			p.end = &p.worker.End
		}
		p.limits = transport.Limits{
			Functions: int(le.Uint32(said[offFunctions:])), Aborts: int(le.Uint32(said[offAborts:])),
			Arena: int(le.Uint64(said[offMax:])), PerValue: int(le.Uint64(said[offPerValue:])),
		}
		p.arena = offTable + transport.AbortBytes(p.limits.Aborts)
	}
	switch {
	case err == nil:
		if end := p.arena + p.limits.Arena; end > len(p.memory[1-p.by]) {
			p.t.Fatalf("a link over %d bytes needs %d", len(p.memory[1-p.by]), end)
		}
		if p.end.Now() < 1 {
			p.t.Fatalf("the time is %d", p.end.Now())
		}
	case errors.Is(err, transport.ErrRegion) || p.by == byWorker && errors.Is(err, transport.ErrHello):
		p.refused = err
	default:
		p.t.Fatalf("the memory is refused with %v", err)
	}
}

// greet greets, or takes the greeting.
func (p *player) greet() {
	if p.by == byWorker {
		p.worker.Greet(transport.Digest{9})
		return
	}
	d, ok, err := p.host.Greeting()
	if err != nil && (ok || !errors.Is(err, transport.ErrHello)) {
		p.t.Fatalf("Greeting = %t, %v", ok, err)
	}
	p.saw("greeting %x %t %v", d[:1], ok, err)
}

// claim claims a slot.
func (p *player) claim() (slot int, ok bool) {
	if slot, ok = p.end.Claim(); ok {
		if slot < 0 || slot >= transport.Slots || p.held>>slot&1 != 0 {
			p.t.Fatalf("slot %d was given to two claimers: %#x", slot, p.held)
		}
		p.held |= 1 << slot
	}
	return slot, ok
}

// send sends a message.
func (p *player) send(o op) {
	h := transport.Header{Tag: transport.TagBytes}
	switch {
	case o.do == doNotice:
		h.Flags, h.Meta = transport.FlagNotice, 1
	case o.do == doPing:
		h.Flags, h.ID = transport.FlagPing, 77
	case p.by == byHost:
		h.Fn, h.ID, h.Deadline = uint16(p.sent%linkSizes.Functions), transport.CallID(p.sent%transport.Calls, 3), int64(p.sent)
		p.sent++
		if o.do == doAbortable {
			if id, ok := p.host.Aborts().Acquire(); ok {
				p.aborts = append(p.aborts, id)
				h.Flags, h.Meta = transport.FlagAbortable, uint32(id)
			}
		}
	case len(p.calls) == 0:
		return
	default:
		h.ID, h.Fn = p.calls[0].ID, p.calls[0].Fn
		p.calls = p.calls[1:]
	}
	if o.do == doReject {
		h.Flags, h.Tag = transport.FlagReject, transport.TagError
	}
	slot, ok := p.claim()
	if !ok {
		p.saw("no slot")
		return
	}
	p.held &^= 1 << slot
	payload := bytes.Repeat([]byte{byte(h.ID)}, o.n)
	if o.do == doBuild {
		b, err := p.end.Reserve(slot, o.n)
		if err != nil {
			p.sendFailed(err)
			if !errors.Is(err, transport.ErrClosed) {
				p.end.Cancel(slot)
			}
			return
		}
		payload = append(b, payload...)
	}
	put := p.end.Publish
	if o.do == doPost {
		put = p.end.Post
	}
	if err := put(slot, &h, payload); err != nil {
		p.sendFailed(err)
	}
}

// sendFailed checks the reason for which a message was not sent.
func (p *player) sendFailed(err error) {
	if !errors.Is(err, transport.ErrArenaFull) && !errors.Is(err, transport.ErrPayloadTooLarge) && !errors.Is(err, transport.ErrClosed) {
		p.t.Fatalf("a message was not sent: %v", err)
	}
	p.saw("not sent: %v", err)
}

// drain receives what has come. Each message is within the bounds, or has an error and no payload.
func (p *player) drain() {
	peer, l := p.memory[1-p.by], p.limits
	violated := p.end.Violated()
	filled, acked := p.sides(1 - p.by)
	sent, taken := p.sides(p.by)
	early, pending, revoked := (sent^acked)&p.held, filled^taken, uint32(0)
	first := true
	n, err := p.end.Drain(func(m *transport.Message, bad error) {
		if p.inside != nil && (first || p.again) {
			p.inside()
			now, _ := p.sides(1 - p.by)
			revoked = (now ^ filled) & pending
		}
		first = false
		got, lost := m.Append(nil)
		if lost != nil {
			p.t.Fatalf("Append: %v", lost)
		}
		if p.logs {
			p.saw("message %+v %d %v", m.Header, len(got), bad)
		}
		if bad != nil {
			if len(got) != 0 {
				p.t.Fatalf("the payload of a bad header has %d bytes", len(got))
			}
			return
		}
		switch h := &m.Header; {
		case len(got) != int(h.Len) || len(got) > max(l.PerValue, transport.InlineBytes):
			p.t.Fatalf("a payload of %d bytes for %+v", len(got), *h)
		case int(h.Fn) >= l.Functions || !h.Tag.Valid() || h.Flags&transport.FlagAbortable != 0 && int64(h.Meta) >= int64(l.Aborts):
			p.t.Fatalf("%+v was accepted with %+v", *h, l)
		case h.Off%64 != 0:
			p.t.Fatalf("an offset that is no multiple of 64: %+v", *h)
		case len(got) > transport.InlineBytes:
			if int64(h.Off)+int64(h.Len) > int64(l.Arena) || !bytes.Equal(got, peer[p.arena+int(h.Off):][:h.Len]) {
				p.t.Fatalf("%+v was accepted with an arena of %d bytes", *h, l.Arena)
			}
		case h.Off != 0 || len(got) <= transport.ValueBytes && !bytes.Equal(got, h.Value[:h.Len]):
			p.t.Fatalf("the payload of %+v is %x", *h, got)
		}
		if p.by == byWorker && m.Flags&(transport.FlagNotice|transport.FlagPing) == 0 {
			p.start(m.ID)
			p.calls = append(p.calls, m.Header)
			p.polled = append(p.polled, transport.AbortID(m.Meta))
		}
	})
	switch {
	case n > transport.Slots || err != nil && !errors.Is(err, transport.ErrViolation):
		p.t.Fatalf("Drain = %d, %v", n, err)
	case (early|revoked) != 0 && err == nil && !p.again:
		p.t.Fatalf("the other side has acknowledged slots %#x too early and has taken back %#x", early, revoked)
	case p.end.Violated() != (err != nil) || violated && n != 0:
		p.t.Fatalf("Drain = %d, %v; violated before: %t, after: %t", n, err, violated, p.end.Violated())
	}
	p.saw("drained %d %v", n, err)
}

// sides returns the publish bits and the acknowledge bits of a side.
func (p *player) sides(of transport.Direction) (published, acked uint32) {
	b := p.memory[of][offSide:]
	w := binary.NativeEndian.Uint64(b)
	return uint32(w), uint32(w >> 32)
}

// start marks a call as started.
func (p *player) start(id uint64) {
	index, generation := uint32(id), uint32(id>>32)
	err := p.worker.Start(id)
	if isID := index < transport.Calls && generation != 0; isID != (err == nil) || err != nil && !errors.Is(err, transport.ErrBadCall) {
		p.t.Fatalf("Start(%#x) = %v", id, err)
	}
	if err == nil && binary.NativeEndian.Uint32(p.memory[byWorker][offTable+4*index:]) != generation {
		p.t.Fatalf("Start(%#x) has marked another call", id)
	}
}

// started looks which calls have started, or starts one.
func (p *player) started(n int) {
	if p.by == byWorker {
		p.start(uint64(n))
		p.start(3<<32 | uint64(n))
		return
	}
	for i := range p.sent {
		p.saw("started %t", p.host.Started(transport.CallID(i%transport.Calls, 3)))
	}
	if p.host.Started(uint64(n)) || p.host.Started(3<<32|transport.Calls) {
		p.t.Fatal("a call has started that cannot be one")
	}
}

// abort aborts the oldest call that can be aborted, or looks whether it was.
func (p *player) abort() {
	if p.by == byWorker {
		for _, id := range p.polled {
			p.saw("aborted %t", p.worker.Aborted(id))
		}
		return
	}
	if len(p.aborts) == 0 {
		return
	}
	if id := p.aborts[0]; p.host.Aborts().Aborted(id) {
		p.host.Aborts().Release(id)
		p.aborts = p.aborts[1:]
	} else {
		p.host.Aborts().Abort(id)
	}
}

// wait waits for a short time.
func (p *player) wait(n int, until func(transport.Event, int64) transport.Event) {
	deadline := p.end.Now() + wait
	p.waker.until, p.waker.parks = *p.waker.now+wait, 0
	v := until(transport.Event(n), deadline)
	p.waker.until = 0
	all := transport.Event(n) | transport.Closed | transport.Woken | transport.Expired | transport.Noise
	if v == 0 || v&^all != 0 || v&transport.Expired != 0 && p.end.Now() < deadline {
		p.t.Fatalf("a wait for %v until %d returned %v at %d", transport.Event(n), deadline, v, p.end.Now())
	}
	p.saw("%v", v)
}

// run is a part of the memory that an operation has changed, with its new bytes.
type run struct {
	off   int
	bytes []byte
}

// changesOf returns the runs in which m differs from old, and makes old the same as m.
func changesOf(old, m []byte) (runs []run) {
	for off := 0; off < len(m); off++ {
		if m[off] == old[off] {
			continue
		}
		end := off
		for end < len(m) && m[end] != old[end] {
			end++
		}
		runs = append(runs, run{off, bytes.Clone(m[off:end])})
		copy(old[off:end], m[off:end])
		off = end
	}
	return runs
}

// recording has the changes of the memory by each operation of a session, and the logs of the sides.
type recording struct {
	before [][]run  // by operation. Of a wait: before the operations inside it
	after  [][]run  // of a wait: the rest
	held   []uint32 // by operation: the slots that its side has claimed after it
	logs   [2][]string
	writes [2][]byte // the memory at the end
}

// newPlayers returns the two sides of a session.
func newPlayers(tb testing.TB, m [2]memory, logs bool) *[2]player {
	tb.Helper()
	now := new(int64)
	*now = bootTime
	ps := new([2]player)
	for d := range ps {
		clear(m[d])
		ps[d].t, ps[d].by, ps[d].memory, ps[d].waker.now, ps[d].logs = tb, transport.Direction(d), m, now, logs
		ps[d].waker.fail = tb.Fatal
	}
	return ps
}

// record runs the session with both sides.
func record(tb testing.TB, m [2]memory) *recording {
	tb.Helper()
	ps := newPlayers(tb, m, true)
	n := len(sessionOps)
	r := &recording{before: make([][]run, n), after: make([][]run, n), held: make([]uint32, n)}
	old := [2][]byte{bytes.Clone(m[0]), bytes.Clone(m[1])}
	var play func(i int) (next int)
	play = func(i int) (next int) {
		o := sessionOps[i]
		next = i + 1
		if o.inside > 0 {
			ps[o.by].waker.inside = func() {
				ps[o.by].waker.inside = nil
				r.before[i] = changesOf(old[o.by], m[o.by])
				for next < i+1+o.inside {
					next = play(next)
				}
			}
		}
		ps[o.by].do(o)
		r.held[i] = ps[o.by].held
		into := &r.before[i]
		if o.inside > 0 {
			into = &r.after[i]
		}
		*into = changesOf(old[o.by], m[o.by])
		if next != i+1+o.inside || !bytes.Equal(m[1-o.by], old[1-o.by]) {
			tb.Fatalf("operation %d, %+v: the next is %d", i, o, next)
		}
		return next
	}
	for i := 0; i < len(sessionOps); {
		i = play(i)
	}
	for d := range ps {
		r.logs[d], r.writes[d] = ps[d].log, bytes.Clone(m[d])
	}
	return r
}

// hostileStep is what the other side and the side itself do at an operation, in addition to the recorded session.
type hostileStep struct {
	changes []byteChange
	inside  []byteChange // while a message is handled or the side parks
	ops     []op
}

// byteChange is a change of one byte of the memory of the other side.
type byteChange struct {
	off   int
	value byte
	flips bool // the bits of value are inverted
	again bool // with each message and each Park, not with the first one only
}

// again reports whether a change comes more than once.
func (s *hostileStep) again() bool {
	return slices.ContainsFunc(s.inside, func(c byteChange) bool { return c.again })
}

// replay runs one side of the recorded session. The memory of the other side changes as recorded, and as the steps
// say. The rules are those of player. The side never writes the memory of the other one. Without a change it sees
// and writes the same as in the recorded session.
func (r *recording) replay(t *testing.T, m [2]memory, by transport.Direction, steps map[int]*hostileStep) {
	t.Helper()
	p := &newPlayers(t, m, len(steps) == 0)[by]
	peer := m[1-by]
	mine := bytes.Clone(peer) // what the other side has written
	poke := func(runs []run) {
		for _, w := range runs {
			copy(peer[w.off:], w.bytes)
			copy(mine[w.off:], w.bytes)
		}
	}
	change := func(cs []byteChange) {
		for _, c := range cs {
			if c.flips {
				c.value ^= peer[c.off]
			}
			peer[c.off], mine[c.off] = c.value, c.value
		}
	}
	var play func(i int) (next int)
	play = func(i int) (next int) {
		o, extra := sessionOps[i], steps[i]
		if next = i + 1; extra == nil {
			extra = new(hostileStep)
		}
		rest := func() {
			for next < i+1+o.inside {
				next = play(next)
			}
		}
		if o.by != by {
			poke(r.before[i])
			change(extra.changes)
			rest()
			poke(r.after[i])
			return next
		}
		change(extra.changes)
		if p.end != nil {
			for _, x := range extra.ops {
				p.do(x)
			}
		}
		p.inside, p.again = func() { change(extra.inside) }, extra.again()
		p.waker.inside = func() {
			if p.waker.parks == 1 || p.again {
				change(extra.inside)
			}
			rest()
		}
		p.do(o)
		p.inside, p.waker.inside = nil, nil
		rest()
		return next
	}
	for i := 0; i < len(sessionOps) && p.refused == nil; {
		i = play(i)
	}
	if !bytes.Equal(peer, mine) {
		t.Fatalf("the side has written the memory of the other one: %v", changesOf(bytes.Clone(mine), peer))
	}
	if len(steps) != 0 {
		return
	}
	if !slices.Equal(p.log, r.logs[by]) || !bytes.Equal(m[by], r.writes[by]) {
		t.Fatalf("the side of the %v does not repeat the session. It saw\n%q, want\n%q", by, p.log, r.logs[by])
	}
}

// hotOffsets are the bytes of a region on which much depends: the hello, the words, the headers of some slots and the
// begin of the table.
var hotOffsets = func() (offs []int) {
	add := func(from, n int) {
		for i := range n {
			offs = append(offs, from+i)
		}
	}
	add(0, endHello)
	add(offSide, 8)
	for _, off := range []int{offBell, offParked, offCPU, offClosed} {
		add(off, 4)
	}
	for slot := range 4 {
		add(offSlots+slot*transport.SlotBytes, 42)
	}
	add(offTable, 16)
	return offs
}()

// The kinds of a change in an input.
const (
	kindOp     = 1  // an operation of the side itself
	kindHot    = 2  // a byte of hotOffsets
	kindFlips  = 4  // byteChange.flips
	kindInside = 8  // hostileStep.inside
	kindAgain  = 16 // byteChange.again
)

// stepsOf reads changes from an input.
func stepsOf(input []byte, size int) map[int]*hostileStep {
	tr := trace(input)
	steps := map[int]*hostileStep{}
	tr.steps(func() {
		i, kind := tr.below(len(sessionOps)), tr.byte()
		s := steps[i]
		if s == nil {
			s = new(hostileStep)
			steps[i] = s
		}
		if kind&kindOp != 0 {
			o := op{do: doGreet + doing(tr.below(int(doCount-doGreet))), n: tr.below(1100)}
			if o.do == doWait || o.do == doPark {
				o.n = []int{published, acknowledged, freed, published | acknowledged, published | freed}[o.n%5]
			}
			s.ops = append(s.ops, o)
			return
		}
		c := byteChange{flips: kind&kindFlips != 0, again: kind&kindAgain != 0}
		if kind&kindHot != 0 {
			c.off = hotOffsets[tr.below(len(hotOffsets))]
		} else {
			c.off = tr.below(size)
		}
		c.value = tr.byte()
		if kind&kindInside != 0 {
			s.inside = append(s.inside, c)
		} else {
			s.changes = append(s.changes, c)
		}
	})
	return steps
}

// inputOf returns the input of one change at step i.
func inputOf(i int, kind byte, off int, value byte) []byte {
	return []byte{byte(i), kind, byte(off), byte(off >> 8), value}
}

// byteOfWord returns the offset of byte i, from the low one on, of a word in the byte order of the machine.
func byteOfWord(off, size, i int) int {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		i = size - 1 - i
	}
	return off + i
}

// hostileSession is a change that a side must notice, and the side that must notice it.
type hostileSession struct {
	name  string
	by    transport.Direction
	input []byte
}

// hostileSessions returns changes that break each rule of the other side alone. Everything else is as recorded.
func (r *recording) hostileSessions() []hostileSession {
	nth := func(by transport.Direction, do doing, n int) int { // the operation with that payload, or the first one of all
		return slices.IndexFunc(sessionOps, func(o op) bool { return o.by == by && o.do == do && (n < 0 || o.n == n) })
	}
	next := func(i int, do doing) int {
		return i + slices.IndexFunc(sessionOps[i:], func(o op) bool { return o.do == do })
	}
	header := func(i, field int) int { // the offset of a field of the header that operation i writes
		for _, w := range r.before[i] {
			if w.off >= offSlots && w.off < offTable {
				return (w.off-offSlots)/transport.SlotBytes*transport.SlotBytes + offSlots + field
			}
		}
		panic("the operation writes no header")
	}
	// Fields of a header.
	const id, off, length, meta = 8, 16, 20, 24
	long, short := nth(byWorker, doBuild, 999), nth(byWorker, doSend, 10)
	call, hold := nth(byHost, doSend, 513), nth(byHost, doHold, -1)
	drain, expires := next(long, doDrain), nth(byWorker, doFree, -1)-1
	bit := bits.TrailingZeros32(r.held[hold])
	early := inputOf(hold+1, kindFlips, byteOfWord(offSide, 8, 4+bit/8), 1<<(bit%8))
	sends := bytes.Repeat([]byte{byte(hold + 2), kindOp, byte(doSend - doGreet), 0, 0}, 8)
	return []hostileSession{
		{"nothing", byHost, nil},
		{"nothing", byWorker, nil},
		{"longer than a value", byHost, inputOf(long, 0, header(long, length), 1001&0xff)},
		{"behind the arena", byHost, inputOf(long, 0, header(long, off+1), 0x1f)},
		{"no whole block", byHost, inputOf(long, 0, header(long, off), 32)},
		{"short with an offset", byHost, inputOf(short, 0, header(short, off), 64)},
		{"acknowledged early", byHost, early},
		{"acknowledged early, before claims", byHost, slices.Concat(early, sends)},
		{"taken back", byHost, inputOf(drain, kindFlips|kindInside, byteOfWord(offSide, 8, 0), 1)},
		{"rings for ever", byHost, inputOf(nth(byHost, doPark, -1), kindFlips|kindInside|kindAgain, byteOfWord(offBell, 4, 0), 8)},
		{"rings for ever", byWorker, inputOf(expires, kindFlips|kindInside|kindAgain, byteOfWord(offBell, 4, 0), 8)},
		{"longer than a value", byWorker, inputOf(call, 0, header(call, length+1), 0x1f)},
		{"index of no call", byWorker, inputOf(call, 0, header(call, id+1), 4)},
		{"no generation", byWorker, inputOf(call, 0, header(call, id+4), 0)},
		{"abort id of no call", byWorker, inputOf(call, 0, header(call, meta+1), 0xff)},
		{"time to come", byWorker, inputOf(0, 0, 15, 0x7f)},
		{"more memory than there is", byWorker, inputOf(0, 0, offMax+2, 1)},
		{"more abort bits", byWorker, inputOf(0, 0, offAborts+1, 0x7f)},
	}
}

// fuzzSession replays the recorded session for one side, with changes of the memory of the other side.
func fuzzSession(f *testing.F, by transport.Direction) {
	f.Helper()
	m := linkMemory(f)
	r := record(f, m)
	for _, h := range r.hostileSessions() {
		if h.by == by {
			f.Add(h.input)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		r.replay(t, m, by, stepsOf(input, len(m[1-by])))
	})
}

// FuzzHostSession replays a recorded session for the host. The worker side changes any byte of its memory at any
// step, also while the host handles a message or parks. The host never panics, and no wait passes its deadline.
// Each message is within the bounds or has an error. No payload is read beyond the arena. K-134, K-141.
func FuzzHostSession(f *testing.F) { fuzzSession(f, byHost) }

// FuzzWorkerSession is FuzzHostSession for the worker side and a host that changes any byte of its memory, also of
// the hello. K-134, K-141.
func FuzzWorkerSession(f *testing.F) { fuzzSession(f, byWorker) }

// TestHostileSessions replays the recorded session with each change of hostileSessions. The rules are those of
// FuzzHostSession. K-134, K-141.
func TestHostileSessions(t *testing.T) {
	m := linkMemory(t)
	r := record(t, m)
	for _, h := range r.hostileSessions() {
		t.Run(fmt.Sprintf("%s for the %v", h.name, h.by), func(t *testing.T) {
			r.replay(t, m, h.by, stepsOf(h.input, len(m[1-h.by])))
		})
	}
}

// TestSessionReplay checks that a replay without changes repeats the recorded session, and that much happens in it.
func TestSessionReplay(t *testing.T) {
	m := linkMemory(t)
	r := record(t, m)
	for by, wants := range [2][]string{
		{
			"greeting 09 true", "Flags:1 Tag:error", "Flags:2 ", "Flags:16 ", "Len:10 ", "Len:300 ", "Len:999 ", "started true", "published",
			"acknowledged", "freed", "woken", "closed", "payload arena full", "no slot",
		},
		{"Flags:2 ", "Flags:8 ", "Flags:16 ", "Len:24 ", "Len:25 ", "Len:512 ", "Len:513 ", "Len:1000 ", "aborted true", "drained 32 ", "published", "expired", "closed"},
	} {
		r.replay(t, m, transport.Direction(by), nil)
		all := strings.Join(r.logs[by], "\n")
		for _, w := range wants {
			if !strings.Contains(all, w) {
				t.Errorf("the side of the %v has not seen %q:\n%s", transport.Direction(by), w, all)
			}
		}
	}
}

// TestSessionWithOneChange changes one byte of the memory of the other side at each step of the recorded session,
// for each side. The bytes are those on which much depends. The rules are those of FuzzHostSession. K-134, K-141.
func TestSessionWithOneChange(t *testing.T) {
	m := linkMemory(t)
	r := record(t, m)
	every := 5 // of the bytes at each step; the next step has the next ones
	if testing.Short() {
		every = 16
	}
	for by := range r.logs {
		for i := range sessionOps {
			for k := i % every; k < len(hotOffsets); k += every {
				c := byteChange{off: hotOffsets[k], value: []byte{1, 0x80, 0xff}[(i+k/every)%3], flips: true}
				s := &hostileStep{changes: []byteChange{c}}
				if sessionOps[i].do == doDrain && k/every%2 == 1 {
					s = &hostileStep{inside: []byteChange{c}}
				}
				r.replay(t, m, transport.Direction(by), map[int]*hostileStep{i: s})
			}
		}
	}
}
