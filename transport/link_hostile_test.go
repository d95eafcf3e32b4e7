package transport_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// TestLinkBadHeader checks that the receiver gets the error of an invalid header and
// that the slot is given back. The ten thousand good calls in between are not affected.
// K-015, K-134, K-141.
func TestLinkBadHeader(t *testing.T) {
	rnd := newRand(t)(0)
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	bad, good := 0, 0
	for id := range uint64(rounds(10_000)) {
		slot := send(t, worker, id, pattern(id, 600))
		want := error(nil)
		switch h := worker.Slot(slot); rnd.IntN(6) {
		case 0:
			h[4], want = 99, transport.ErrBadTag
		case 1:
			h[3], want = 1, transport.ErrBadFlags
		case 2:
			h[23], want = 0xff, transport.ErrBadPayload // Len
		case 3:
			h[17], want = 0xff, transport.ErrBadPayload // Off, behind the arena
		case 4:
			copy(h[2:], []byte{byte(transport.FlagAbortable)})
			h[26], want = 1, transport.ErrBadAbort
		}
		n, err := host.Drain(func(m *transport.Message, err error) {
			if !errors.Is(err, want) || m.ID != id {
				t.Fatalf("call %d: got %v for call %d, want %v", id, err, m.ID, want)
			}
			got := payloadOf(m, nil)
			if want == nil {
				good++
				if !bytes.Equal(got, pattern(id, 600)) {
					t.Fatalf("call %d: the payload is not that of the call", id)
				}
			} else if bad++; len(got) != 0 {
				t.Fatalf("call %d: a bad header has a payload of %d bytes", id, len(got))
			}
		})
		if n != 1 || err != nil || host.Pending() != 0 {
			t.Fatalf("call %d: Drain = %d, %v, then %#x", id, n, err, host.Pending())
		}
	}
	if bad == 0 || good == 0 || host.Violated() {
		t.Errorf("%d bad calls, %d good ones; violated %v", bad, good, host.Violated())
	}
}

// TestLinkRewritten checks that data that the receiver has read does not change
// afterwards. The other side rewrites the slot while the message is handled. K-141.
func TestLinkRewritten(t *testing.T) {
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	for _, n := range []int{20, 100, 600} {
		slot := send(t, worker, 7, pattern(7, n))
		_, err := host.Drain(func(m *transport.Message, err error) {
			kept, first := m.Header, payloadOf(m, nil)
			junk := bytes.Repeat([]byte{0xff}, transport.SlotBytes)
			copy(worker.Slot(slot), junk)
			copy(worker.Payloads(), junk)
			second := payloadOf(m, nil)
			if m.Header != kept || len(second) != n || err != nil {
				t.Errorf("%d bytes: the header became %+v, the payload %d bytes", n, m.Header, len(second))
			}
			if !bytes.Equal(first, pattern(7, n)) || n <= transport.ValueBytes && !bytes.Equal(second, first) {
				t.Errorf("%d bytes: the copy has changed", n)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLinkViolation checks that bits that no honest peer toggles end the link for the
// side that sees them. That side does nothing more and changes nothing.
func TestLinkViolation(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cheat func(host *transport.End, worker *transport.Side)
		n     int // messages that Drain passed on
	}{
		{"acknowledges what is claimed", func(host *transport.End, worker *transport.Side) {
			slot, _ := host.Claim()
			worker.Cheat(0, 1<<slot)
		}, 0},
		{"takes back what it published", func(_ *transport.End, worker *transport.Side) { worker.Cheat(1<<20, 0) }, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLink(t, small)
			host := &l.Host().End
			own, other := host.Sides()
			if tc.n > 0 {
				other.Cheat(1<<20, 0) // a message without contents
			}
			n, err := 0, error(nil)
			if tc.n == 0 {
				tc.cheat(host, other)
			}
			n, err = host.Drain(func(*transport.Message, error) { tc.cheat(host, other) })
			if n != tc.n || !errors.Is(err, transport.ErrViolation) || !host.Violated() {
				t.Fatalf("Drain = %d, %v", n, err)
			}
			published, acked := own.Load()
			other.Cheat(1<<3, 0)
			if n, err := host.Drain(func(*transport.Message, error) { t.Error("a message after a violation") }); n != 0 || !errors.Is(err, transport.ErrViolation) {
				t.Errorf("Drain = %d, %v", n, err)
			}
			if p, a := own.Load(); p != published || a != acked {
				t.Errorf("the word of the host became %#x, %#x", p, a)
			}
		})
	}
}

// scribble writes random bytes to a random part of a region or toggles bits of its
// words.
func scribble(r *rand.Rand, b []byte) {
	at := r.IntN(len(b))
	if r.IntN(3) > 0 {
		at = transport.OffSlots + r.IntN(transport.Slots)*transport.SlotBytes + r.IntN(transport.HeaderBytes)
	}
	for i := range b[at:min(at+1+r.IntN(16), len(b))] {
		b[at+i] = byte(r.Uint32())
	}
}

// TestLinkHostile has a worker that writes any bytes anywhere in its region between the
// steps of the host. The host never panics, and it receives at most 32 messages at a
// time. It gives no slot to two claimers. K-134, K-141.
func TestLinkHostile(t *testing.T) {
	rnd := newRand(t)(0)
	for range rounds(2000) {
		l, err := transport.NewLink(small)
		if err != nil {
			t.Fatal(err)
		}
		host := &l.Host().End
		_, region := l.Regions()
		_, word := host.Sides()
		var mine uint32
		for range 50 {
			switch rnd.IntN(6) {
			case 0, 1:
				scribble(rnd, region)
			case 2:
				word.Cheat(rnd.Uint32(), rnd.Uint32()&rnd.Uint32()&rnd.Uint32())
			case 3:
				if slot, ok := host.Claim(); ok {
					if mine>>slot&1 != 0 {
						t.Fatalf("slot %d was given to two claimers", slot)
					}
					mine |= 1 << slot
				}
			case 4:
				for _, slot := range bitsOf(mine) {
					_ = host.Publish(slot, header(1), make([]byte, rnd.IntN(2000)))
				}
				mine = 0
			case 5:
				n, err := host.Drain(func(m *transport.Message, err error) {
					if got := payloadOf(m, nil); err == nil && len(got) != int(m.Len) {
						t.Fatalf("a payload of %d bytes has %d", m.Len, len(got))
					}
				})
				if n > transport.Slots || err != nil && !errors.Is(err, transport.ErrViolation) {
					t.Fatalf("Drain = %d, %v", n, err)
				}
			}
		}
	}
}

// TestLinkRewriting has a worker that rewrites a slot and its payload all the time
// while the host decodes them. The messages that the host gets are in range and do not
// change. K-141.
func TestLinkRewriting(t *testing.T) {
	if raceEnabled {
		t.Skip("this is a data race between what would be two processes")
	}
	rnd := newRand(t)
	l := newLink(t, small)
	host, worker := &l.Host().End, &l.Worker().End
	_, region := l.Regions()
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for r := rnd(1); !stop.Load(); {
			at := transport.OffSlots + r.IntN(64)
			region[at] = byte(r.Uint32())
		}
	})
	defer wg.Wait()
	defer stop.Store(true)
	seen := map[bool]int{}
	least, deadline := rounds(200_000), time.Now().Add(time.Minute)
	for id := uint64(0); int(id) < least || seen[true]*seen[false] == 0 && time.Now().Before(deadline); id++ {
		slot, ok := worker.Claim()
		if !ok || slot != 0 {
			t.Fatalf("Claim = %d, %v", slot, ok)
		}
		if err := worker.Publish(slot, header(id), nil); err != nil {
			t.Fatal(err)
		}
		_, err := host.Drain(func(m *transport.Message, err error) {
			seen[err == nil]++
			kept := m.Header
			got := payloadOf(m, nil)
			if err == nil && (len(got) != int(kept.Len) || len(got) > small.PayloadMax/8) || m.Header != kept {
				t.Fatalf("the header changed from %+v to %+v, with a payload of %d", kept, m.Header, len(got))
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("good and bad headers: %v", seen)
	}
}
