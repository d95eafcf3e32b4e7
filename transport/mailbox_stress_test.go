package transport_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// letter is the content of a slot in these tests. It is plain memory. Only the bits of
// the mailbox keep two goroutines from accessing it at the same time.
type letter struct {
	from, number int
	ticket       uint32
	text         [4]uint64 // from+number in each element
}

// TestMailboxExactlyOnce lets many goroutines send through one mailbox. One goroutine
// receives. Each letter arrives once and whole. The letters of a sender arrive in the
// order of their tickets. No pending slot waits for more than one round. K-023, K-025,
// K-026, K-027, K-033, K-136.
func TestMailboxExactlyOnce(t *testing.T) {
	for _, tc := range []struct {
		name           string
		senders, slots int
		ticket         uint32
	}{
		{"one slot", 3, 1, 1<<32 - 100},
		{"four slots", 8, 4, 1<<31 - 100},
		{"many senders", 64, 32, 1<<32 - 1000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rnd := newRand(t)
			each := rounds(400_000) / tc.senders
			b := newBox(tc.slots, tc.ticket)
			var slots [transport.Slots]letter
			var wg sync.WaitGroup
			var failed atomic.Bool
			for from := range tc.senders {
				wg.Go(func() {
					r := rnd(from)
					for n := 0; n < each && !failed.Load(); {
						slot, ticket, ok := b.s.Claim()
						if !ok {
							runtime.Gosched()
							continue
						}
						if r.IntN(16) == 0 {
							b.s.Cancel(slot)
							continue
						}
						l := letter{from: from, number: n, ticket: ticket}
						for i := range l.text {
							l.text[i] = uint64(from + n)
						}
						slots[slot] = l
						b.s.Publish(slot)
						n++
					}
				})
			}
			next := make([]int, tc.senders)
			within(t, "the receiver", func() { receive(t, b, &slots, next, each, &failed) })
			wg.Wait()
			for from, n := range next {
				if n != each {
					t.Errorf("sender %d: %d letters arrived, want %d", from, n, each)
				}
			}
			if free, busy := b.s.Free(), b.s.Busy(); free != uint32(1)<<tc.slots-1 || busy != 0 {
				t.Errorf("Free = %#x, Busy = %#x at the end", free, busy)
			}
		})
	}
}

// receive takes letters until all have arrived. next holds the number of the next
// letter of each sender.
func receive(t *testing.T, b *box, slots *[transport.Slots]letter, next []int, each int, failed *atomic.Bool) {
	t.Helper()
	for left := len(next) * each; left > 0; {
		pending := b.r.Pending()
		if pending == 0 {
			runtime.Gosched()
			continue
		}
		var tickets [transport.Slots]uint32
		var room [transport.Slots]uint8
		for _, slot := range bitsOf(pending) {
			tickets[slot] = slots[slot].ticket
		}
		for _, slot := range transport.InOrder(pending, &tickets, &room) {
			l := slots[slot]
			if l.number != next[l.from] {
				t.Errorf("sender %d: letter %d came, want %d", l.from, l.number, next[l.from])
				failed.Store(true)
				return
			}
			for _, w := range l.text {
				if w != uint64(l.from+l.number) {
					t.Errorf("a torn letter: %+v", l)
					failed.Store(true)
					return
				}
			}
			slots[slot] = letter{}
			next[l.from]++
			left--
		}
		b.r.AckAll(pending)
	}
}
