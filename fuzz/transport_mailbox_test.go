package fuzz_test

import (
	"math/bits"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// mailboxPair is one direction of two mailboxes and sets of its slots.
type mailboxPair struct {
	s             *transport.Sender
	r             *transport.Receiver
	claimed, busy uint32
	ticket        uint32
}

// FuzzMailbox runs traces of two mailboxes that share two side words. It compares them
// with sets of slots. K-009, K-020, K-021, K-022, K-027, K-033.
func FuzzMailbox(f *testing.F) {
	f.Add(uint8(4), []byte{0, 0, 0, 1, 0, 4, 255, 0, 2, 0})
	f.Add(uint8(32), []byte{0, 0, 0, 8, 8, 5, 1, 0, 9, 3, 7, 0, 0, 12, 1, 13, 3, 255, 255, 14, 3, 3, 0})
	f.Add(uint8(1), []byte{0, 2, 0, 8, 10, 0, 5, 0, 13, 0, 0, 2, 0, 8, 10, 0, 5, 0, 13, 0}) // uses a slot of each mailbox twice
	f.Fuzz(func(t *testing.T, slots uint8, input []byte) {
		n := 1 + int(slots)%transport.Slots
		mask := uint32(1)<<n - 1
		var sides [2]transport.Side
		var pairs [2]mailboxPair
		for i := range pairs {
			pairs[i].s = transport.NewSender(&sides[i], &sides[1-i], n)
			pairs[i].r = transport.NewReceiver(&sides[1-i], &sides[i], n)
		}
		tr := trace(input)
		pick := func(set uint32) (bit uint32) { // a member of set
			for skip := tr.below(bits.OnesCount32(set)); skip > 0; skip-- {
				set &= set - 1
			}
			return set & -set
		}
		tr.steps(func() {
			op := tr.below(16)
			p, other := &pairs[op/8], &pairs[1-op/8]
			switch op % 8 {
			case 0, 1:
				slot, ticket, ok := p.s.Claim()
				free := mask &^ p.claimed &^ p.busy
				want(t, "Claim", ok, free != 0)
				if ok {
					want(t, "slot", slot, bits.TrailingZeros32(free))
					want(t, "ticket", ticket, p.ticket)
					p.ticket++
					p.claimed |= 1 << slot
				}
			case 2, 3:
				if p.claimed != 0 {
					bit := pick(p.claimed)
					p.s.Publish(bits.TrailingZeros32(bit))
					p.claimed, p.busy = p.claimed&^bit, p.busy|bit
				}
			case 4:
				if p.claimed != 0 {
					bit := pick(p.claimed)
					p.s.Cancel(bits.TrailingZeros32(bit))
					p.claimed &^= bit
				}
			case 5:
				if p.busy != 0 {
					bit := pick(p.busy)
					p.r.Ack(bits.TrailingZeros32(bit))
					p.busy &^= bit
				}
			case 6:
				set := (uint32(tr.uint16()) | uint32(tr.uint16())<<16) & p.busy
				p.r.AckAll(set)
				p.busy &^= set
			case 7:
				publish := uint32(tr.uint16()) & p.claimed
				ack := uint32(tr.uint16()) & other.busy
				transport.Exchange(p.s, other.r, publish, ack)
				p.claimed, p.busy, other.busy = p.claimed&^publish, p.busy|publish, other.busy&^ack
			}
			for i := range pairs {
				p := &pairs[i]
				want(t, "Free", p.s.Free(), mask&^p.claimed&^p.busy)
				want(t, "Busy", p.s.Busy(), p.busy)
				want(t, "Pending", p.r.Pending(), p.busy)
			}
		})
	})
}
