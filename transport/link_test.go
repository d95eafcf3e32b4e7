package transport_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

// ends returns the two ends of a new Link for code without a testing.TB.
func ends() (host, worker *transport.End) {
	l, err := transport.NewLink(small)
	if err != nil {
		panic(err)
	}
	return &l.Host().End, &l.Worker().End
}

// header returns a header with that call id.
func header(id uint64) *transport.Header { return &transport.Header{ID: id, Tag: transport.TagBytes} }

// pattern returns n bytes that differ from the bytes of every other id.
func pattern(id uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(uint64(i)*7 + id*13)
	}
	return b
}

// send sends a payload, and fails unless a slot is free.
func send(tb testing.TB, e *transport.End, id uint64, payload []byte) (slot int) {
	tb.Helper()
	slot, ok := e.Claim()
	if !ok {
		tb.Fatal("no slot is free")
	}
	h := header(id)
	h.Meta = uint32(len(payload)) // take compares it
	if err := e.Publish(slot, h, payload); err != nil {
		tb.Fatal(err)
	}
	return slot
}

// take receives all messages and returns their ids in the order of arrival. It fails
// when a payload is not the pattern of its id.
func take(tb testing.TB, e *transport.End) (ids []uint64) {
	tb.Helper()
	n, err := e.Drain(func(m *transport.Message, err error) {
		if err != nil {
			tb.Errorf("call %d: %v", m.ID, err)
		} else if got := payloadOf(m, nil); !bytes.Equal(got, pattern(m.ID, len(got))) || m.Meta != 0 && len(got) != int(m.Meta) {
			tb.Errorf("call %d: the payload of %d bytes is not that of the call", m.ID, len(got))
		}
		ids = append(ids, m.ID)
	})
	if err != nil || n != len(ids) {
		tb.Errorf("Drain = %d, %v for %v", n, err, ids)
	}
	return ids
}

// TestLinkRoundTrip checks that payloads of each tier cross in both directions. Their
// lengths are at the limits of the tiers. They use only the arena of the sender, and
// only if their tier is the arena. K-010, K-011, K-035, K-052, K-054, K-060.
func TestLinkRoundTrip(t *testing.T) {
	l := newLink(t, small)
	for _, dir := range []struct {
		name     string
		from, to *transport.End
	}{
		{"request", &l.Host().End, &l.Worker().End},
		{"response", &l.Worker().End, &l.Host().End},
	} {
		for _, n := range []int{0, 1, 16, 23, 24, 25, 511, 512, 513, 4096, 8192} {
			t.Run(fmt.Sprintf("%s/bytes=%d", dir.name, n), func(t *testing.T) {
				for _, inPlace := range []bool{false, true} {
					slot, ok := dir.from.Claim()
					if !ok {
						t.Fatal("no slot is free")
					}
					payload := pattern(9, n)
					if inPlace {
						buf, err := dir.from.Reserve(slot, n)
						if want := max(n, transport.InlineBytes); err != nil || len(buf) != 0 || cap(buf) != want {
							t.Fatalf("Reserve = %d of %d bytes, %v; want capacity for %d", len(buf), cap(buf), err, want)
						}
						payload = append(buf, payload...)
					}
					h := header(9)
					h.Meta = uint32(n)
					if err := dir.from.Publish(slot, h, payload); err != nil {
						t.Fatal(err)
					}
					inUse := 0
					if n > transport.InlineBytes {
						inUse = (n + 63) / 64 * 64
					}
					if got := dir.from.Arena().InUse(); got != inUse {
						t.Errorf("%d bytes of the arena are in use, want %d", got, inUse)
					}
					if got := dir.to.Arena().InUse(); got != 0 {
						t.Errorf("%d bytes of the other arena are in use", got)
					}
					before := dir.to.FreeAcked() // cannot free what the other end owns
					if got := take(t, dir.to); !slices.Equal(got, []uint64{9}) || before != 0 {
						t.Errorf("got calls %v", got)
					}
					dir.from.FreeAcked()
					if got := dir.from.Arena().InUse(); got != 0 {
						t.Errorf("%d bytes of the arena are in use after the answer", got)
					}
				}
			})
		}
	}
}

// TestStateOfSlotsInMemory checks the two words of 32 bits that are the state of the slots of a
// mailbox. The publish bits are the lower half of the word of the sender, and the acknowledge bits are
// the upper half of that of the receiver. A second use of the slots inverts the bits again. K-009,
// K-017, K-018.
func TestStateOfSlotsInMemory(t *testing.T) {
	l := newLink(t, small)
	requests, responses := l.Regions()
	published := func() uint64 { return binary.NativeEndian.Uint64(requests[transport.OffSide:]) }
	acked := func() uint64 { return binary.NativeEndian.Uint64(responses[transport.OffSide:]) }
	want := uint64(0)
	for round := range 2 {
		for range transport.Slots {
			slot := send(t, &l.Host().End, 1, nil)
			if want ^= 1 << slot; published() != want {
				t.Fatalf("round %d: the word of the host is %#x, want %#x", round, published(), want)
			}
		}
		if take(t, &l.Worker().End); acked() != want<<32 {
			t.Errorf("round %d: the word of the worker is %#x, want %#x", round, acked(), want<<32)
		}
	}
}

// TestEachSideWritesItsRegion checks that a side changes its own region only. It sends, receives,
// answers and aborts. The payloads of requests are in the first region, and those of answers in the
// second. K-008, K-010, K-011, K-054, K-104.
func TestEachSideWritesItsRegion(t *testing.T) {
	var made [2]transport.Region // for each direction
	c := small
	c.NewRegion = func(d transport.Direction, size int) (r transport.Region, err error) {
		r, err = transport.NewHeap(size)
		made[d] = r
		return r, err
	}
	l := newLink(t, c)
	requests, responses := made[transport.Requests].Bytes(), made[transport.Answers].Bytes()
	for _, side := range []struct {
		name       string
		from, to   *transport.End
		own, other []byte
	}{
		{"host", &l.Host().End, &l.Worker().End, requests, responses},
		{"worker", &l.Worker().End, &l.Host().End, responses, requests},
	} {
		// keeps fails if act changes a region that is not that of the side that acts.
		keeps := func(what string, region []byte, act func()) {
			t.Helper()
			before := bytes.Clone(region)
			if act(); !bytes.Equal(region, before) {
				t.Errorf("%s: %s changes the region of the other side", side.name, what)
			}
		}
		for _, n := range []int{20, 100, 4096} {
			payload := pattern(3, n)
			keeps("Publish", side.other, func() { send(t, side.from, 3, payload) })
			if !bytes.Contains(side.own, payload) {
				t.Errorf("%s: the payload of %d bytes is not in its region", side.name, n)
			}
			keeps("Drain", side.own, func() { take(t, side.to) })
		}
	}
	before := bytes.Clone(responses)
	id, _ := l.Host().Aborts().Acquire()
	l.Host().Aborts().Abort(id)
	if !bytes.Equal(responses, before) || !l.Worker().Aborted(id) {
		t.Error("an abort flag of the host is not in the region of the host")
	}
}

// TestLinkGolden checks that Publish writes exactly these bytes to a slot. K-016, K-028,
// K-035.
func TestLinkGolden(t *testing.T) {
	host := newLink(t, small).Host()
	send(t, &host.End, 5, nil)
	host.Cancel(func() int { s, _ := host.Claim(); return s }()) // uses a ticket
	for _, tc := range []struct {
		n      int
		header []byte // from Tag on
	}{
		{16, []byte{21, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16, 0, 0, 0, 2, 0, 0, 0}},
		{100, []byte{21, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 100, 0, 0, 0, 3, 0, 0, 0}},
		{600, []byte{21, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 88, 2, 0, 0, 88, 2, 0, 0, 4, 0, 0, 0}},
		{600, []byte{21, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 128, 2, 0, 0, 88, 2, 0, 0, 88, 2, 0, 0, 5, 0, 0, 0}},
	} {
		slot := send(t, &host.End, 7, pattern(7, tc.n))
		got := host.Slot(slot)
		if !bytes.Equal(got[4:32], tc.header) {
			t.Errorf("%d bytes: the header is % x, want % x", tc.n, got[4:32], tc.header)
		}
		off := binary.LittleEndian.Uint32(tc.header[12:])
		at := map[int][]byte{16: got[40:], 100: got[64:], 600: host.Payloads()[off:]}[tc.n]
		if !bytes.Equal(at[:tc.n], pattern(7, tc.n)) {
			t.Errorf("the payload of %d bytes is not in its position", tc.n)
		}
		if value := got[40:64]; tc.n > transport.ValueBytes && !bytes.Equal(value, make([]byte, transport.ValueBytes)) {
			t.Errorf("the value of a header without one is % x", value)
		}
	}
}

// TestLinkOrder checks that a Drain passes messages on in the order of their claims.
// The order of their slots and the order of their publications have no effect.
func TestLinkOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		host, worker := ends()
		next := uint64(0)
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			var claimed []int // oldest first
			for range rapid.IntRange(1, 2*transport.Slots).Draw(rt, "steps") {
				if len(claimed) > 0 && rapid.Bool().Draw(rt, "cancel") {
					i := rapid.IntRange(0, len(claimed)-1).Draw(rt, "which")
					host.Cancel(claimed[i])
					claimed = slices.Delete(claimed, i, i+1)
				} else if slot, ok := host.Claim(); ok {
					claimed = append(claimed, slot)
				}
			}
			ids, want := map[int]uint64{}, []uint64(nil)
			for _, slot := range claimed {
				ids[slot] = next
				want = append(want, next)
				next++
			}
			for _, slot := range rapid.Permutation(claimed).Draw(rt, "publications") {
				if err := host.Publish(slot, header(ids[slot]), nil); err != nil {
					rt.Fatal(err)
				}
			}
			if got := take(t, worker); !slices.Equal(got, want) {
				rt.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// TestLinkOlderClaimFirst checks that a message in a higher slot comes first when its
// claim came first.
func TestLinkOlderClaimFirst(t *testing.T) {
	host, worker := ends()
	first, _ := host.Claim()
	second, _ := host.Claim()
	host.Cancel(first)
	third, _ := host.Claim()
	if third != first {
		t.Fatalf("slots %d, %d, %d: the first slot is not used again", first, second, third)
	}
	for id, slot := range map[uint64]int{2: third, 1: second} {
		if err := host.Publish(slot, header(id), nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []uint64
	if _, err := worker.Drain(func(m *transport.Message, err error) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, m.ID)
	}); err != nil || !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("got %v, %v, want 1 and 2", got, err)
	}
}

// TestLinkDrainGroups checks that a Drain gives slots back in groups of 8. It gives the
// rest back when it ends. A slot is free as soon as its message was read. A function
// that keeps its copy or panics therefore keeps no slot. K-030, K-033, K-038, K-132.
func TestLinkDrainGroups(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	fill := func() {
		for id := range uint64(transport.Slots) {
			send(t, host, id, pattern(id, 100))
		}
		if slot, ok := host.Claim(); ok {
			t.Fatalf("got slot %d of a full mailbox", slot)
		}
	}
	fill()
	var kept [][]byte // the handlers run later
	seen := 0
	n, err := worker.Drain(func(m *transport.Message, err error) {
		if free := transport.Slots - len(bitsOf(worker.Pending())); free != seen/8*8 {
			t.Errorf("after %d messages %d slots are free, want %d", seen, free, seen/8*8)
		}
		seen++
		kept = append(kept, payloadOf(m, nil))
	})
	if n != transport.Slots || err != nil {
		t.Fatalf("Drain = %d, %v", n, err)
	}
	fill() // with 32 calls read and none of them run
	for id, payload := range kept {
		if !bytes.Equal(payload, pattern(uint64(id), 100)) {
			t.Errorf("call %d: the kept copy has changed", id)
		}
	}
	for name, end := range map[string]func(){
		"panic":  func() { panic("no") },
		"goexit": runtime.Goexit,
	} {
		worker.Drain(func(*transport.Message, error) {})
		fill()
		done := make(chan int)
		go func() {
			seen := 0
			defer func() {
				_ = recover()
				done <- seen
			}()
			_, _ = worker.Drain(func(*transport.Message, error) {
				if seen++; seen == 11 {
					end()
				}
			})
		}()
		if seen := <-done; seen != 11 {
			t.Errorf("%s: %d messages were handed out", name, seen)
		}
		if got := len(bitsOf(worker.Pending())); got != transport.Slots-11 {
			t.Errorf("%s after 11 messages: %d are pending, want %d", name, got, transport.Slots-11)
		}
		if got := len(bitsOf(host.Free())); got != 11 {
			t.Errorf("%s after 11 messages: %d slots are free", name, got)
		}
	}
}

// TestLinkBacklog checks that messages that find the mailbox full stay in order with
// their sender. They go before later ones. No answer is lost, and none overtakes an
// earlier one of the same call. K-031, K-131.
func TestLinkBacklog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		host, worker := ends()
		var backlog, sent, came []uint64
		flush := func() {
			for len(backlog) > 0 {
				slot, ok := worker.Claim()
				if !ok {
					return
				}
				if err := worker.Publish(slot, header(backlog[0]), nil); err != nil {
					rt.Fatal(err)
				}
				backlog = backlog[1:]
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"answer": func(rt *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(rt, "answers") {
					id := uint64(len(sent))
					sent = append(sent, id)
					backlog = append(backlog, id)
				}
				flush()
			},
			"flush": func(*rapid.T) { flush() },
			"settle": func(*rapid.T) {
				came = append(came, take(t, host)...)
			},
			"": func(rt *rapid.T) {
				if len(backlog) > 0 && len(sent)-len(backlog)-len(came) > transport.Slots {
					rt.Fatalf("%d sent, %d came, %d wait", len(sent), len(came), len(backlog))
				}
			},
		})
		for len(backlog) > 0 || host.Pending() != 0 {
			came = append(came, take(t, host)...)
			flush()
		}
		if !slices.Equal(came, sent) {
			rt.Fatalf("the messages %v came, want %v", came, sent)
		}
	})
}

// TestLinkPost checks that an end with one goroutine publishes its answers together
// with the acknowledgements. One store carries 8 of each.
func TestLinkPost(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	for id := range uint64(20) {
		send(t, host, id, pattern(id, 30))
	}
	seen := 0
	answer := func(m *transport.Message, err error) {
		acked, answers := transport.Slots-len(bitsOf(host.Free())), len(bitsOf(host.Pending()))
		if answers != seen/8*8 || acked != 20-seen/8*8 {
			t.Errorf("after %d messages: %d requests are busy, %d answers are pending", seen, acked, answers)
		}
		seen++
		slot, _ := worker.Claim()
		if err := worker.Post(slot, &m.Header, payloadOf(m, nil)); err != nil {
			t.Error(err)
		}
	}
	if n, err := worker.Drain(answer); n != 20 || err != nil {
		t.Fatalf("Drain = %d, %v", n, err)
	}
	if got := take(t, host); len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("got %v", got)
	}
	slot, _ := worker.Claim()
	if err := worker.Post(slot, header(3), pattern(3, 3)); err != nil || host.Pending() != 0 {
		t.Errorf("Post = %v, and %#x is pending", err, host.Pending())
	}
	worker.Flush()
	if got := take(t, host); !slices.Equal(got, []uint64{3}) {
		t.Errorf("got %v", got)
	}
	slot, _ = worker.Claim()
	if err := worker.Post(slot, header(4), nil); err != nil {
		t.Error(err)
	}
	take(t, worker) // finds nothing, and returns
	if got := take(t, host); !slices.Equal(got, []uint64{4}) {
		t.Errorf("after a Drain that found nothing: got %v", got)
	}
}

// TestLinkTooLarge checks that a payload is refused if it is too long or if the arena
// has no space for it. The refusal comes before any part of it is stored. The link
// works as before. K-115, K-139. V-08.
func TestLinkTooLarge(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	limit := small.PayloadMax / 8
	slot, _ := host.Claim()
	if _, err := host.Reserve(slot, limit+1); !errors.Is(err, transport.ErrPayloadTooLarge) {
		t.Errorf("Reserve = %v", err)
	}
	if err := host.Publish(slot, header(1), make([]byte, limit+1)); !errors.Is(err, transport.ErrPayloadTooLarge) {
		t.Errorf("Publish = %v", err)
	}
	if free := host.Free(); free != ^uint32(0) || host.Arena().InUse() != 0 || worker.Pending() != 0 {
		t.Errorf("Free = %#x, %d bytes in use", free, host.Arena().InUse())
	}
	for id := range uint64(8) {
		send(t, host, id, pattern(id, limit))
	}
	slot, _ = host.Claim()
	if err := host.Publish(slot, header(8), make([]byte, 513)); !errors.Is(err, transport.ErrArenaFull) {
		t.Errorf("Publish = %v, want ErrArenaFull", err)
	}
	if got, grows := host.Arena().Limit(), host.Arena().Growths(); got != small.PayloadMax || grows != 2 {
		t.Errorf("the arena has grown %d times, to %d", grows, got)
	}
	send(t, host, 8, pattern(8, 512)) // does not use the arena
	if got := take(t, worker); len(got) != 9 {
		t.Errorf("got %v", got)
	}
	slot, _ = host.Claim() // the arena is full of acknowledged payloads
	payload := pattern(10, limit)
	if err := host.Publish(slot, header(10), payload); err != nil {
		t.Errorf("Publish = %v", err)
	}
	if got := take(t, worker); !slices.Equal(got, []uint64{10}) {
		t.Errorf("got %v", got)
	}
}

// TestLinkReserve checks that a payload leaves no block behind in the arena when it
// outgrows its reserved memory, does not need it, or is cancelled. K-139.
func TestLinkReserve(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	for _, tc := range []struct {
		name               string
		reserved, n, inUse int
	}{
		{"all of it", 1000, 1000, 1024},
		{"shorter", 4000, 1000, 1024},
		{"short enough for the slot", 4000, 500, 0},
		{"short enough for the header", 4000, 20, 0},
		{"longer", 1000, 4000, 4032},
		{"longer than the slot", 100, 4000, 4032},
		{"no payload", 4000, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			slot, _ := host.Claim()
			buf, err := host.Reserve(slot, tc.reserved)
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Publish(slot, header(2), append(buf, pattern(2, tc.n)...)); err != nil {
				t.Fatal(err)
			}
			if got := host.Arena().InUse(); got != tc.inUse {
				t.Errorf("%d bytes are in use, want %d", got, tc.inUse)
			}
			if got := take(t, worker); len(got) != 1 {
				t.Errorf("got %v", got)
			}
			host.FreeAcked()
		})
	}
	first := host.Arena().HighWater()
	for _, n := range []int{1000, 1024, 961, 2000, 1000} { // the last two need another block
		slot, _ := host.Claim()
		if err := host.Publish(slot, header(2), pattern(2, n)); err != nil {
			t.Fatal(err)
		}
		if got, want := host.Arena().InUse(), (n+63)/64*64; got != want || host.Arena().HighWater() != first {
			t.Errorf("%d bytes are in use, want %d; up to %d", got, want, host.Arena().HighWater())
		}
		take(t, worker)
	}
	host.FreeAcked()
	slot, _ := host.Claim()
	if _, err := host.Reserve(slot, 4000); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Reserve(slot, 5000); err != nil { // reserves again
		t.Fatal(err)
	}
	host.Cancel(slot)
	if got := host.Arena().InUse(); got != 0 {
		t.Errorf("%d bytes are in use after Cancel", got)
	}
	for _, f := range []func(){
		func() { _, _ = host.Reserve(slot, 1) },
		func() { _ = host.Publish(slot, header(1), nil) },
		func() { _ = host.Post(slot, header(1), nil) },
		func() { host.Cancel(slot) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic for a slot that is not claimed")
				}
			}()
			f()
		}()
	}
}

// TestLinkReserveTail checks that a payload that begins anywhere in its reserved block
// stays in that block. No other sender can get the block before the copy. K-139.
func TestLinkReserveTail(t *testing.T) {
	for _, skip := range []int{0, 1, 63, 64, 1200, 1400} {
		l := newLink(t, small)
		host, worker := &l.Host().End, &l.Worker().End
		hole, _ := host.Claim()
		if _, err := host.Reserve(hole, 1024); err != nil { // where a new block would be
			t.Fatal(err)
		}
		slot, _ := host.Claim()
		buf, err := host.Reserve(slot, 2000)
		if err != nil {
			t.Fatal(err)
		}
		host.Cancel(hole)
		buf = append(append(buf, make([]byte, skip)...), pattern(6, 2000-skip)...)
		h := header(6)
		if err := host.Publish(slot, h, buf[skip:]); err != nil {
			t.Fatal(err)
		}
		if want := (2000 - skip + 63) / 64 * 64; h.Off != 1024 || host.Arena().InUse() != want {
			t.Errorf("skip %d: the payload is at %d, and %d bytes are in use; want 1024 and %d", skip, h.Off, host.Arena().InUse(), want)
		}
		if got := take(t, worker); !slices.Equal(got, []uint64{6}) {
			t.Errorf("skip %d: got %v", skip, got)
		}
	}
}

// TestLinkRefusesCallIDs checks that the worker side refuses an id that no honest host sends, and marks
// nothing. The host sees no such call as started. K-141.
func TestLinkRefusesCallIDs(t *testing.T) {
	l := newLink(t, small)
	host, worker := l.Host(), l.Worker()
	for _, id := range []uint64{0, 1, transport.Calls - 1, 1<<32 | transport.Calls, 1<<32 | 1<<31, 1<<64 - 1} {
		if err := worker.Start(id); !errors.Is(err, transport.ErrBadCall) {
			t.Errorf("Start(%#x) = %v, want ErrBadCall", id, err)
		}
		if host.Started(id) {
			t.Errorf("Started(%#x) = true", id)
		}
	}
	for i := range transport.Calls {
		if host.Started(transport.CallID(i, 1)) {
			t.Errorf("call %d is marked as started", i)
		}
	}
	for _, tc := range []struct {
		index      int
		generation uint32
	}{{-1, 1}, {transport.Calls, 1}, {0, 0}} {
		t.Run(fmt.Sprint(tc), func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "transport: CallID") {
					t.Errorf("CallID panics with %q", text)
				}
			}()
			t.Errorf("CallID = %#x", transport.CallID(tc.index, tc.generation))
		})
	}
}

// TestLinkStarted checks that the host sees which generation of a call has started. The
// worker sees which abort flags are set. K-104, K-107.
func TestLinkStarted(t *testing.T) {
	l := newLink(t, small)
	host, worker := l.Host(), l.Worker()
	for _, i := range []int{0, 1, transport.Calls - 1} {
		id, next := transport.CallID(i, 7), transport.CallID(i, 8)
		if host.Started(id) {
			t.Errorf("call %d has started before it was sent", i)
		}
		if err := worker.Start(id); err != nil {
			t.Errorf("Start of call %d: %v", i, err)
		}
		if !host.Started(id) || host.Started(next) {
			t.Errorf("call %d: the host does not see that generation 7 has started", i)
		}
	}
	for range transport.DefaultAborts - 1 {
		host.Aborts().Acquire()
	}
	id, _ := host.Aborts().Acquire()
	if worker.Aborted(id) {
		t.Error("aborted too early")
	}
	host.Aborts().Abort(id)
	if !worker.Aborted(id) || worker.Aborted(id-1) || worker.Aborted(60_000) {
		t.Errorf("the worker sees %v, %v, %v", worker.Aborted(id), worker.Aborted(id-1), worker.Aborted(60_000))
	}
}

// TestLinkWait checks that a wait ends for a message, when the other side closes, and for WakeOwn. It ends for a
// free slot if it waits for one. It ends for no other event. K-029, K-032, K-040, K-048.
func TestLinkWait(t *testing.T) {
	type ends struct {
		waiter, other *transport.End
		mine          int // a slot that the side of the waiter has claimed
	}
	const message, slot = transport.Published, transport.Acknowledged
	for _, side := range []string{"host", "worker"} {
		for _, tc := range []struct {
			name  string
			waits transport.Event
			full  bool // the mailbox in which the waiter sends
			act   func(t *testing.T, e ends)
			wants transport.Event
		}{
			{"message", message, false, func(t *testing.T, e ends) { t.Helper(); send(t, e.other, 1, nil) }, message},
			{"message or slot", message | slot, true, func(t *testing.T, e ends) { t.Helper(); send(t, e.other, 1, nil) }, message},
			{"posted", message, false, func(_ *testing.T, e ends) {
				slot, _ := e.other.Claim()
				_ = e.other.Post(slot, header(1), nil)
				e.other.Flush()
			}, message},
			{"slot", message | slot, true, func(t *testing.T, e ends) { t.Helper(); take(t, e.other) }, slot},
			{"only a slot", slot, true, func(t *testing.T, e ends) { t.Helper(); take(t, e.other) }, slot},
			{"answer", message | slot, true, func(t *testing.T, e ends) {
				t.Helper()
				id, _ := e.other.Claim()
				_ = e.other.Post(id, header(1), nil)
				take(t, e.other)
			}, message | slot},
			{"closed", message, false, func(_ *testing.T, e ends) { e.other.Close() }, transport.Closed},
			{"closed behind a message", message, false, func(t *testing.T, e ends) { t.Helper(); send(t, e.other, 1, nil); e.other.Close() }, message},
			{"closed without a slot", slot, true, func(_ *testing.T, e ends) { e.other.Close() }, transport.Closed},
			{"cancelled", message | slot, true, func(_ *testing.T, e ends) { e.waiter.Cancel(e.mine) }, slot},
			{"not published", message | slot, true, func(_ *testing.T, e ends) {
				_ = e.waiter.Publish(e.mine, header(1), make([]byte, small.PayloadMax))
			}, slot},
			{"woken", message, true, func(_ *testing.T, e ends) { e.waiter.WakeOwn() }, transport.Woken},
			{"woken beside a message", message, true, func(t *testing.T, e ends) { t.Helper(); send(t, e.other, 1, nil); e.waiter.WakeOwn() }, message | transport.Woken},
			{"cancelled, without a wait for a slot", message, true, func(_ *testing.T, e ends) { e.waiter.Cancel(e.mine) }, transport.Expired},
			{"slot, without a wait for a slot", message, true, func(t *testing.T, e ends) { t.Helper(); take(t, e.other) }, transport.Expired},
			{"message, without a wait for one", slot, true, func(t *testing.T, e ends) { t.Helper(); send(t, e.other, 1, nil) }, transport.Expired},
			{"posted, not flushed", message, false, func(_ *testing.T, e ends) {
				slot, _ := e.other.Claim()
				_ = e.other.Post(slot, header(1), nil)
			}, transport.Expired},
		} {
			t.Run(side+"/"+tc.name, func(t *testing.T) {
				l := newLink(t, small)
				e := ends{waiter: &l.Host().End, other: &l.Worker().End}
				if side == "worker" {
					e.waiter, e.other = e.other, e.waiter
				}
				if tc.full {
					e.mine, _ = e.waiter.Claim()
				}
				for tc.full && e.waiter.Free() != 0 {
					send(t, e.waiter, 2, pattern(2, 4))
				}
				wakes := 0
				w := transport.TestWaker{
					OnPark: func(int64) bool { tc.act(t, e); return wakes == 0 },
					Wake:   func() { wakes++ },
				}
				e.waiter.SetWaker(w)
				e.other.SetWaker(w)
				wake := tc.wants != transport.Expired
				if got := e.waiter.WaitUntil(tc.waits, math.MaxInt64); got != tc.wants || (wakes > 0) != wake {
					t.Errorf("WaitUntil = %v with %d wakes, want %v", got, wakes, tc.wants)
				}
				lasting := tc.wants &^ transport.Woken // WakeOwn ends one wait
				if !wake || lasting == 0 {
					return
				}
				if got := e.waiter.WaitUntil(tc.waits, math.MinInt64); got != lasting {
					t.Errorf("WaitUntil = %v, want %v at once", got, lasting)
				}
			})
		}
	}
}

// TestWakeOwnBeforeAWait checks that WakeOwn ends the next wait if none has begun, and that several calls end one.
func TestWakeOwnBeforeAWait(t *testing.T) {
	host := newLink(t, small).Host()
	host.WakeOwn()
	host.WakeOwn()
	within(t, "WaitUntil after WakeOwn", func() {
		if got := host.WaitUntil(transport.Published, 0); got != transport.Woken {
			t.Errorf("WaitUntil = %v, want %v", got, transport.Woken)
		}
	})
	if got := host.WaitUntil(transport.Published, host.Now()); got != transport.Expired {
		t.Errorf("WaitUntil = %v, want %v", got, transport.Expired)
	}
}

// TestWaitUntilDeadline checks that a wait ends at its deadline, a time of Now, and not before. The waiter parks once
// for all that time. K-079 to K-082.
func TestWaitUntilDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newLink(t, small).Host()
		parks := 0
		bell, _ := host.Bells()
		bell.Trace(func(state uint8) {
			if state == uint8(transport.LoopParked) {
				parks++
			}
		})
		deadline := host.Now() + int64(time.Hour)
		if got := host.WaitUntil(transport.Published|transport.Acknowledged, deadline); got != transport.Acknowledged {
			t.Errorf("WaitUntil = %v with free slots", got)
		}
		if got := host.WaitUntil(transport.Published, deadline); got != transport.Expired || host.Now() != deadline {
			t.Errorf("WaitUntil = %v at %d, want %v at %d", got, host.Now(), transport.Expired, deadline)
		}
		if parks != 1 {
			t.Errorf("the waiter parked %d times in an hour, want 1", parks)
		}
	})
}

// TestNoise checks that a side which rings again and again without a change ends the wait of the other one, with a
// deadline and without. The wait has expired if the deadline has passed.
func TestNoise(t *testing.T) {
	l := newLink(t, small)
	host, worker := l.Host(), l.Worker()
	_, bell := worker.Bells()
	for deadline, want := range map[int64]transport.Event{0: transport.Noise, math.MaxInt64: transport.Noise, 1: transport.Expired} {
		parks := 0
		host.SetWaker(transport.TestWaker{OnPark: func(int64) bool {
			parks++
			bell.Ring()
			return false
		}})
		worker.SetWaker(transport.TestWaker{Wake: func() {}})
		if got := host.WaitUntil(transport.Published, deadline); got != want || parks != transport.NoisyWakes {
			t.Errorf("WaitUntil(%d) = %v after %d parkings, want %v after %d", deadline, got, parks, want, transport.NoisyWakes)
		}
	}
	send(t, &worker.End, 1, nil)
	if got := host.WaitUntil(transport.Published, 0); got != transport.Published {
		t.Errorf("WaitUntil = %v after the noise, want %v", got, transport.Published)
	}
}

// TestSlotsThatSiblingsTakeAreNoNoise checks that a slot which becomes free ends the wait, also if another goroutine of the
// side takes it at once. Otherwise an honest other side would seem to make noise.
func TestSlotsThatSiblingsTakeAreNoNoise(t *testing.T) {
	l := newLink(t, small)
	host, worker := l.Host(), l.Worker()
	mine, _ := host.Claim()
	fill := func() {
		for host.Free() != 0 {
			send(t, &host.End, 1, nil)
		}
	}
	fill()
	for name, free := range map[string]func(){
		"acknowledged": func() {
			n, err := worker.Drain(func(*transport.Message, error) {})
			if n == 0 || err != nil {
				t.Errorf("Drain = %d, %v", n, err)
			}
			fill()
		},
		"cancelled": func() {
			host.Cancel(mine)
			mine, _ = host.Claim()
		},
	} {
		parks := 0
		host.SetWaker(transport.TestWaker{OnPark: func(int64) bool {
			parks++
			free()
			return false
		}})
		if got := host.WaitUntil(transport.Acknowledged, 0); got != transport.Acknowledged || parks != 1 {
			t.Errorf("%s: WaitUntil = %v after %d parkings", name, got, parks)
		}
	}
}

// TestDeadlinesInThePast checks that a wait ends at once if its deadline has passed, however long ago.
func TestDeadlinesInThePast(t *testing.T) {
	requests, answers := heaps(t, small)
	one, _ := transport.NewWakers()
	h, err := transport.NewHost(small, requests, answers, one)
	must(t, err)
	for _, deadline := range []int64{math.MinInt64, math.MinInt64 + 1, -h.Epoch() - 1, -h.Epoch(), 1 - h.Epoch(), -1, 1} {
		within(t, "WaitUntil", func() {
			if got := h.WaitUntil(transport.Published, deadline); got != transport.Expired {
				t.Errorf("WaitUntil(%d) = %v", deadline, got)
			}
		})
	}
}

// TestSpinEndsAtTheDeadline checks that no wait spins after its deadline.
func TestSpinEndsAtTheDeadline(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	c := small
	c.Spin = time.Hour
	host := newLink(t, c).Host()
	host.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return true }})
	own, _ := host.Bells()
	ticks, chunks := uint64(0), 0
	own.Clock(func() uint64 { return ticks }, func() {
		chunks++
		ticks += transport.SpinTicks(time.Second)
	})
	for deadline, want := range map[int64]int{1: 0, host.Now() + int64(time.Minute): 60} {
		chunks = 0
		if got := host.WaitUntil(transport.Published, deadline); got != transport.Expired || chunks > want || chunks < want-1 {
			t.Errorf("WaitUntil(%d) = %v after %d chunks of spinning, want %d", deadline, got, chunks, want)
		}
	}
}

// TestWaitUntilRefusesOtherEvents checks that a wait for an event that cannot be waited for is a panic.
func TestWaitUntilRefusesOtherEvents(t *testing.T) {
	host := newLink(t, small).Host()
	for want, text := range map[transport.Event]string{
		0:                                     "none",
		transport.Woken:                       "woken",
		transport.Published | transport.Noise: "published and noise",
		1 << 7:                                "Event(128)",
	} {
		text = "transport: WaitUntil: want is " + text + ", not published, acknowledged, freed or several of them"
		wantPanic(t, text, func() { host.WaitUntil(want, 1) })
	}
}

// TestLinkBothSidesPark checks that each side has a doorbell of its own. Both sides are parked. The
// one that gives up does not keep the other one from its wake-up. K-040, K-082.
func TestLinkBothSidesPark(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	for _, side := range []struct {
		name          string
		waiter, other *transport.End
	}{{"host", host, worker}, {"worker", worker, host}} {
		wakes := 0
		side.other.SetWaker(transport.TestWaker{
			OnPark: func(int64) bool { return true },
			Wake:   func() { wakes++ },
		})
		side.waiter.SetWaker(transport.TestWaker{
			OnPark: func(int64) bool {
				if got := side.other.WaitUntil(transport.Published, math.MaxInt64); got != transport.Expired {
					t.Errorf("%s: the other side is woken without a change: %v", side.name, got)
				}
				send(t, side.other, 1, nil)
				return wakes == 0
			},
			Wake: func() { t.Errorf("%s: a side wakes itself", side.name) },
		})
		if got := side.waiter.WaitUntil(transport.Published, math.MaxInt64); got != transport.Published || wakes != 1 {
			t.Errorf("%s: %v and %d wake-ups for a message, want 1", side.name, got, wakes)
		}
		take(t, side.waiter)
	}
	for _, e := range []*transport.End{host, worker} {
		e.SetWaker(transport.TestWaker{}) // Close of the link wakes both sides
	}
}

// TestLinkSpin checks that an end spins for 46 µs before it parks, unless Config.Spin says
// otherwise. K-045.
func TestLinkSpin(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, tc := range []struct {
		spin time.Duration
		want uint64 // microseconds
	}{{0, 46}, {5 * time.Microsecond, 5}, {-1, 0}} {
		c := small
		c.Spin = tc.spin
		l := newLink(t, c)
		for name, e := range map[string]*transport.End{"host": &l.Host().End, "worker": &l.Worker().End} {
			e.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return true }})
			own, _ := e.Bells()
			chunks := uint64(0) // each takes a microsecond
			own.Clock(func() uint64 { return chunks * transport.SpinTicks(time.Microsecond) }, func() { chunks++ })
			if got := e.WaitUntil(transport.Published, e.Now()+int64(time.Hour)); got != transport.Expired || chunks != tc.want {
				t.Errorf("Config.Spin %v: the %s spun for %d µs until %v, want %d", tc.spin, name, chunks, got, tc.want)
			}
		}
	}
}

// TestLinkWaitAllClaimed checks that a wait for a slot does not park while its own side
// has claimed all slots. The waiter itself may hold them. A wait without a limit would
// then never end.
func TestLinkWaitAllClaimed(t *testing.T) {
	host := newLink(t, small).Host()
	for _, ok := host.Claim(); ok; _, ok = host.Claim() {
	}
	host.SetWaker(transport.TestWaker{OnPark: func(int64) bool { return true }})
	if got := host.WaitUntil(transport.Published|transport.Acknowledged, math.MaxInt64); got != transport.Acknowledged {
		t.Errorf("WaitUntil = %v, and no slot is with the other side", got)
	}
}

// TestLinkCloseMidCall checks that messages that were published before the end of a
// side can be received after it.
func TestLinkCloseMidCall(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	send(t, worker, 4, pattern(4, 600))
	worker.Close()
	worker.Close()
	if !host.PeerClosed() || worker.PeerClosed() || host.WaitUntil(transport.Published, 0) != transport.Published {
		t.Error("the host does not see that the worker has ended")
	}
	if got := take(t, host); !slices.Equal(got, []uint64{4}) {
		t.Errorf("got %v", got)
	}
}

// TestLinkNow checks that the time at both ends counts from one moment.
func TestLinkNow(t *testing.T) {
	l := newLink(t, small)
	a, b, c := l.Host().Now(), l.Worker().Now(), l.Host().Now()
	if a < 0 || b < a || c < b {
		t.Errorf("the time is %d, %d, %d", a, b, c)
	}
}

// TestLinkAllocs checks that a call and its answer allocate nothing in any tier. K-004.
func TestLinkAllocs(t *testing.T) {
	for _, n := range []int{8, 100, 4096} {
		l := newLink(t, small)
		host, worker := &l.Host().End, &l.Worker().End
		request, answer := header(1), header(1)
		payload, buf := pattern(1, n), make([]byte, 0, n)
		echo := func(m *transport.Message, err error) {
			slot, _ := worker.Claim()
			buf = payloadOf(m, buf[:0])
			if worker.Post(slot, answer, buf) != nil || err != nil {
				t.Error("the echo failed")
			}
		}
		settle := func(m *transport.Message, err error) { buf = payloadOf(m, buf[:0]) }
		calls := testing.AllocsPerRun(100, func() {
			slot, _ := host.Claim()
			_ = host.Publish(slot, request, payload)
			_, _ = worker.Drain(echo)
			_, _ = host.Drain(settle)
		})
		if calls != 0 || !bytes.Equal(buf, payload) {
			t.Errorf("%d bytes: %v allocations a call", n, calls)
		}
	}
}

// TestFreedEndsAWait: a wait for Freed ends when the other side has given a slot back since NoteFreed, also before the
// wait, or has none. It does not end because other slots are free.
func TestFreedEndsAWait(t *testing.T) {
	l := newLink(t, small)
	h, w := l.Host(), l.Worker()
	publish := func() {
		t.Helper()
		slot, ok := h.Claim()
		if !ok {
			t.Fatal("no slot is free")
		}
		must(t, h.Publish(slot, &transport.Header{ID: transport.CallID(0, 1), Tag: transport.TagNil}, nil))
	}
	drain := func() {
		_, err := w.Drain(func(*transport.Message, error) {})
		must(t, err)
	}
	h.NoteFreed()
	if got := h.WaitUntil(transport.Freed, 1); got != transport.Freed { // the other side has no slot
		t.Errorf("without a message: %v", got)
	}
	publish()
	h.NoteFreed()
	if got := h.WaitUntil(transport.Published|transport.Freed, 1); got != transport.Expired {
		t.Errorf("before the acknowledgement: %v", got)
	}
	drain()
	publish()
	for range 2 { // until the next NoteFreed
		if got := h.WaitUntil(transport.Freed, 1); got != transport.Freed {
			t.Errorf("after the acknowledgement: %v", got)
		}
	}
	h.NoteFreed()
	publish()
	ended := make(chan transport.Event)
	go func() { ended <- h.WaitUntil(transport.Freed, 0) }()
	drain()
	if got := <-ended; got != transport.Freed {
		t.Errorf("a wait without a deadline: %v", got)
	}
}
