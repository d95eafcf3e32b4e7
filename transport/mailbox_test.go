package transport_test

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	lfsync "github.com/lanewright/lanewright/sync"
	"github.com/lanewright/lanewright/transport"
)

// box is a mailbox with both of its ends.
type box struct {
	near, far transport.Side // the words of the sender and of the receiver
	s         *transport.Sender
	r         *transport.Receiver
}

func newBox(slots int, ticket uint32) *box {
	b := new(box)
	b.s = transport.NewSenderAt(&b.near, &b.far, slots, ticket)
	b.r = transport.NewReceiver(&b.far, &b.near, slots)
	return b
}

// TestMailboxSlots checks that a mailbox of n slots has exactly n. A claim takes the
// lowest free one. K-012, K-136.
func TestMailboxSlots(t *testing.T) {
	if transport.Slots != 1<<transport.SlotBits {
		t.Fatalf("%d slots of %d bits", transport.Slots, transport.SlotBits)
	}
	for n := 1; n <= transport.Slots; n++ {
		b := newBox(n, 0)
		for i := range n {
			if slot, ticket, ok := b.s.Claim(); slot != i || ticket != uint32(i) || !ok {
				t.Fatalf("claim %d of %d = %d, %d, %v", i, n, slot, ticket, ok)
			}
		}
		if slot, _, ok := b.s.Claim(); ok {
			t.Fatalf("%d slots: got slot %d too many", n, slot)
		}
	}
	for _, n := range []int{-1, 0, 33} {
		wantPanic(t, "transport: a mailbox has 1 to 32 slots", func() { newBox(n, 0) })
	}
}

// TestMailboxLines checks that the word of a side shares no cache line with other data.
// K-017, K-018, K-019.
func TestMailboxLines(t *testing.T) {
	before, after := transport.SideOffset, transport.SideSize-transport.SideOffset-8
	if before < lfsync.CacheLine || after < lfsync.CacheLine || lfsync.CacheLine < 64 {
		t.Errorf("a side has %d bytes before its word and %d after it, with lines of %d", before, after, lfsync.CacheLine)
	}
}

// TestMailboxRules checks that the rules for all slots at once agree with the rules for
// one slot. K-020, K-021.
func TestMailboxRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var claimed, published, acked, mask uint32
		for _, w := range []*uint32{&claimed, &published, &acked, &mask} {
			*w = rapid.Uint32().Draw(t, "word")
		}
		free := transport.FreeSlots(claimed, published, acked, mask)
		busy := transport.BusySlots(published, acked, mask)
		early := transport.EarlySlots(claimed, published, acked, mask)
		for i := range transport.Slots {
			bit := func(w uint32) bool { return w>>i&1 != 0 }
			c, p, a, m := bit(claimed), bit(published), bit(acked), bit(mask)
			if got, want := bit(free), m && c == p && p == a; got != want {
				t.Fatalf("slot %d: free = %v, want %v", i, got, want)
			}
			if got, want := bit(busy), m && p != a; got != want {
				t.Fatalf("slot %d: busy = %v, want %v", i, got, want)
			}
			if got, want := bit(early), m && c == a && p != a; got != want {
				t.Fatalf("slot %d: early = %v, want %v", i, got, want)
			}
		}
		if got, want := transport.FreeSlots(published, published, acked, mask), ^(published^acked)&mask; got != want {
			t.Fatalf("with nothing claimed, free = %#x, want NOT(H XOR W) AND MASK = %#x", got, want)
		}
	})
}

// TestMailboxMachine compares random traces of two mailboxes with sets of slots. The
// mailboxes are one for each direction over two shared side words. K-009, K-020, K-021,
// K-022, K-027, K-033, K-136.
func TestMailboxMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sides [2]transport.Side
		var senders [2]*transport.Sender
		var receivers [2]*transport.Receiver
		slots := rapid.IntRange(1, transport.Slots).Draw(t, "slots")
		mask := uint32(1)<<slots - 1
		var claimed, busy, tickets [2]uint32
		for i := range sides {
			tickets[i] = rapid.SampledFrom([]uint32{0, 1<<31 - 2, 1<<32 - 3}).Draw(t, "ticket")
			senders[i] = transport.NewSenderAt(&sides[i], &sides[1-i], slots, tickets[i])
			receivers[i] = transport.NewReceiver(&sides[1-i], &sides[i], slots)
		}
		one := func(t *rapid.T, set uint32) int {
			if set == 0 {
				t.Skip("there is none")
			}
			return rapid.SampledFrom(bitsOf(set)).Draw(t, "slot")
		}
		// moves checks that f inverts exactly these bits of one side.
		moves := func(t *rapid.T, side int, published, acked uint32, f func()) {
			var before, after [2][2]uint32
			read := func(w *[2][2]uint32) {
				for i := range sides {
					w[i][0], w[i][1] = sides[i].Load()
				}
			}
			read(&before)
			f()
			read(&after)
			before[side][0] ^= published
			before[side][1] ^= acked
			if before != after {
				t.Fatalf("the words are %x, want %x", after, before)
			}
		}
		d := 0 // the direction of this step
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				moves(t, 0, 0, 0, func() {
					free := mask &^ claimed[d] &^ busy[d]
					slot, ticket, ok := senders[d].Claim()
					if ok != (free != 0) {
						t.Fatalf("Claim = %v with %#x free", ok, free)
					}
					if !ok {
						return
					}
					if slot != bits.TrailingZeros32(free) || ticket != tickets[d] {
						t.Fatalf("Claim = %d, %d; want the first of %#x, and %d", slot, ticket, free, tickets[d])
					}
					claimed[d] |= 1 << slot
					tickets[d]++
				})
			},
			"publish": func(t *rapid.T) {
				slot := one(t, claimed[d])
				moves(t, d, 1<<slot, 0, func() { senders[d].Publish(slot) })
				claimed[d] &^= 1 << slot
				busy[d] |= 1 << slot
			},
			"cancel": func(t *rapid.T) {
				slot := one(t, claimed[d])
				moves(t, d, 0, 0, func() { senders[d].Cancel(slot) })
				claimed[d] &^= 1 << slot
			},
			"acknowledge one": func(t *rapid.T) {
				slot := one(t, busy[d])
				moves(t, 1-d, 0, 1<<slot, func() { receivers[d].Ack(slot) })
				busy[d] &^= 1 << slot
			},
			"acknowledge some": func(t *rapid.T) {
				set := rapid.Uint32().Draw(t, "set") & busy[d]
				moves(t, 1-d, 0, set, func() { receivers[d].AckAll(set) })
				busy[d] &^= set
			},
			"exchange": func(t *rapid.T) {
				publish := rapid.Uint32().Draw(t, "publish") & claimed[d]
				ack := rapid.Uint32().Draw(t, "ack") & busy[1-d]
				moves(t, d, publish, ack, func() { transport.Exchange(senders[d], receivers[1-d], publish, ack) })
				claimed[d] &^= publish
				busy[d] |= publish
				busy[1-d] &^= ack
			},
			"turn": func(t *rapid.T) { d = 1 - d },
			"": func(t *rapid.T) {
				for i := range sides {
					if got, want := senders[i].Free(), mask&^claimed[i]&^busy[i]; got != want {
						t.Fatalf("%d: Free = %#x, want %#x", i, got, want)
					}
					if got := senders[i].Busy(); got != busy[i] {
						t.Fatalf("%d: Busy = %#x, want %#x", i, got, busy[i])
					}
					if got := receivers[i].Pending(); got != busy[i] {
						t.Fatalf("%d: Pending = %#x, want %#x", i, got, busy[i])
					}
					if got := senders[i].Early(); got != 0 {
						t.Fatalf("%d: Early = %#x with honest ends", i, got)
					}
				}
			},
		})
	})
}

// bitsOf returns the indices of the bits of a set.
func bitsOf(set uint32) (list []int) {
	for ; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros32(set))
	}
	return list
}

// TestMailboxSlotReuse checks that each use of a slot behaves like the first one. The
// bits of the slot are inverted in every second use.
func TestMailboxSlotReuse(t *testing.T) {
	var host, worker transport.Side
	s := transport.NewSender(&host, &worker, 2)
	r := transport.NewReceiver(&worker, &host, 2)
	for use := range 5 {
		a, _, okA := s.Claim()
		b, _, okB := s.Claim()
		if _, _, third := s.Claim(); !okA || !okB || third || a == b {
			t.Fatalf("use %d: slots %d and %d, %t, %t; a third: %t", use, a, b, okA, okB, third)
		}
		s.Publish(b)
		s.Publish(a)
		if got := r.Pending(); got != 3 {
			t.Fatalf("use %d: pending %b, want both", use, got)
		}
		r.AckAll(3)
		if pending, free := r.Pending(), s.Free(); pending != 0 || free != 3 {
			t.Fatalf("use %d: pending %b and free %b after both were acknowledged", use, pending, free)
		}
	}
}

// TestMailboxMisuse checks that a forbidden call panics and changes nothing. K-027.
func TestMailboxMisuse(t *testing.T) {
	b := newBox(4, 0)
	other := transport.NewReceiver(&b.near, &b.far, 4) // of the side that sends
	b.s.Claim()
	b.s.Publish(0)
	b.s.Claim() // slot 1
	for name, f := range map[string]func(){
		"transport: Publish: the slot is not claimed":              func() { b.s.Publish(0) },
		"transport: Cancel: the slot is not claimed":               func() { b.s.Cancel(2) },
		"transport: Exchange: a slot is not claimed":               func() { transport.Exchange(b.s, other, 1<<1|1<<2, 0) },
		"transport: Exchange: the two ends are of different sides": func() { transport.Exchange(b.s, b.r, 1<<1, 0) },
	} {
		wantPanic(t, name, f)
	}
	for _, slot := range []int{-1, 4, 32, 64} {
		wantPanic(t, "transport: Publish: the slot is not claimed", func() { b.s.Publish(slot) })
		wantPanic(t, "transport: Cancel: the slot is not claimed", func() { b.s.Cancel(slot) })
	}
	if free, busy := b.s.Free(), b.s.Busy(); free != 1<<2|1<<3 || busy != 1 {
		t.Errorf("Free = %#x, Busy = %#x", free, busy)
	}
	b.r.AckAll(0)
	b.r.Ack(77) // not a slot of the mailbox
	if got := b.r.Pending(); got != 1 {
		t.Errorf("Pending = %#x", got)
	}
}

// TestMailboxLateSender checks that a Sender over words in use continues from their
// state. A restart of one side makes such a Sender.
func TestMailboxLateSender(t *testing.T) {
	b := newBox(2, 0)
	b.s.Claim()
	b.s.Publish(0)
	late := transport.NewSender(&b.near, &b.far, 2)
	if free, busy := late.Free(), late.Busy(); free != 1<<1 || busy != 1 {
		t.Fatalf("Free = %#x, Busy = %#x", free, busy)
	}
	b.r.Ack(0)
	for i := range 2 {
		if slot, _, ok := late.Claim(); slot != i || !ok {
			t.Fatalf("claim %d = %d, %v", i, slot, ok)
		}
	}
}

// TestMailboxHostile checks that bits that the other side toggles against the rules
// give no slot to two claimers and cause no panic. A toggle that no honest peer makes
// is detected.
func TestMailboxHostile(t *testing.T) {
	t.Run("acknowledged before it was published", func(t *testing.T) {
		b := newBox(1, 0)
		b.s.Claim()
		b.far.Cheat(0, 1)
		if got := b.s.Early(); got != 1 {
			t.Errorf("Early = %#x, want 1", got)
		}
		if _, _, ok := b.s.Claim(); ok {
			t.Fatal("the slot was given to two claimers")
		}
		b.s.Publish(0)
		if slot, _, ok := b.s.Claim(); !ok || slot != 0 {
			t.Fatal("the slot is lost")
		}
	})
	t.Run("cancelled after it was acknowledged", func(t *testing.T) {
		b := newBox(1, 0)
		b.s.Claim()
		b.far.Cheat(0, 1)
		b.s.Cancel(0)
		if free, busy := b.s.Free(), b.s.Busy(); free != 0 || busy != 1 {
			t.Errorf("Free = %#x, Busy = %#x: want the slot busy for good", free, busy)
		}
	})
	t.Run("everything at once", func(t *testing.T) {
		rnd := newRand(t)(0)
		b := newBox(transport.Slots, 0)
		var mine uint32
		for range rounds(100_000) {
			b.far.Cheat(rnd.Uint32(), rnd.Uint32()&rnd.Uint32())
			b.s.Early()
			if slot, _, ok := b.s.Claim(); ok {
				if mine>>slot&1 != 0 {
					t.Fatalf("slot %d was given to two claimers", slot)
				}
				mine |= 1 << slot
			}
			for _, slot := range bitsOf(mine & rnd.Uint32()) {
				mine &^= 1 << slot
				if rnd.IntN(2) == 0 {
					b.s.Publish(slot)
				} else {
					b.s.Cancel(slot)
				}
			}
		}
	})
}

// TestInOrder checks that InOrder returns the slots of a set in the order of their
// tickets. The tickets may wrap.
func TestInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.Uint32().Draw(t, "set")
		first := rapid.SampledFrom([]uint32{0, 1<<31 - 5, 1<<32 - 7, 12}).Draw(t, "first")
		var want []uint8
		for _, slot := range bitsOf(set) {
			want = append(want, uint8(slot))
		}
		want = rapid.Permutation(want).Draw(t, "order")
		var tickets [transport.Slots]uint32
		for i, slot := range want {
			tickets[slot] = first + uint32(3*i)
		}
		var buf [transport.Slots]uint8
		if got := transport.InOrder(set, &tickets, &buf); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	// Any order of the tickets of a hostile peer is allowed, but each slot comes once.
	var junk [transport.Slots]uint32
	rnd := newRand(t)(0)
	for range 100 {
		for i := range junk {
			junk[i] = rnd.Uint32()
		}
		var buf [transport.Slots]uint8
		got := slices.Clone(transport.InOrder(^uint32(0), &junk, &buf))
		slices.Sort(got)
		for i, slot := range got {
			if int(slot) != i {
				t.Fatalf("the slots are %v", got)
			}
		}
	}
}

// TestInOrderWrap checks that the order of tickets continues across the wrap. V-15d.
func TestInOrderWrap(t *testing.T) {
	tickets := [transport.Slots]uint32{0: 1, 3: 1<<32 - 2, 5: 0, 9: 1<<32 - 1}
	var buf [transport.Slots]uint8
	want := []uint8{3, 9, 5, 0}
	if got := transport.InOrder(1<<0|1<<3|1<<5|1<<9, &tickets, &buf); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMailboxFrozenClaimer checks that a goroutine that stops between Claim and Publish
// keeps its slot. The other goroutines continue with the other slots. K-024.
func TestMailboxFrozenClaimer(t *testing.T) {
	for frozen := range 8 {
		t.Run(fmt.Sprint("frozen=", frozen), func(t *testing.T) {
			b := newBox(8, 0)
			held := uint32(0)
			for range frozen {
				slot, _, _ := b.s.Claim()
				held |= 1 << slot
			}
			for i := range 1000 {
				slot, _, ok := b.s.Claim()
				if !ok || held>>slot&1 != 0 {
					t.Fatalf("round %d: Claim = %d, %v", i, slot, ok)
				}
				b.s.Publish(slot)
				if got := b.r.Pending(); got != 1<<slot {
					t.Fatalf("round %d: Pending = %#x, want slot %d", i, got, slot)
				}
				b.r.Ack(slot)
			}
			for _, slot := range bitsOf(held) {
				b.s.Publish(slot)
			}
			if got := b.r.Pending(); got != held {
				t.Fatalf("Pending = %#x, want %#x", got, held)
			}
		})
	}
}
