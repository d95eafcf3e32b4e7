//go:build interleave

package transport_test

import (
	"math/bits"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// everything explores all interleavings.
var everything = interleave.Options{Preemptions: interleave.All, Reduce: true}

// bounded explores all interleavings of up to n preemptions. With -short it is one
// less.
func bounded(n int) interleave.Options {
	if testing.Short() {
		n--
	}
	return interleave.Options{Preemptions: n}
}

// mustFind fails t unless the explorer finds a failure of a program with a planted bug.
func mustFind(t *testing.T, bug string, o interleave.Options, body func(m *interleave.M)) {
	t.Helper()
	r := interleave.Explore(o, body)
	if r.Failure == nil {
		t.Errorf("%s: not found in %d executions, complete=%v", bug, r.Executions, r.Complete)
		return
	}
	t.Logf("%s: found after %d executions: %v", bug, r.Executions, r.Failure.Message)
}

// modelBox is a mailbox of a model. Its slots are plain cells. Two goroutines that hold
// one slot are therefore a race.
type modelBox struct {
	*box
	slots [4]atomix.Cell[int]
	sent  [3]int // number of slots that each publisher got
	came  []int
}

func newModelBox(slots int) *modelBox { return &modelBox{box: newBox(slots, 0)} }

// send tries to send that many numbers. Each sender counts the numbers that found a
// slot.
func (b *modelBox) send(sender, tries int) {
	for range tries {
		if slot, _, ok := b.s.Claim(); ok {
			b.slots[slot].Set(10*sender + b.sent[sender])
			b.sent[sender]++
			b.s.Publish(slot)
		}
	}
}

// drain receives all pending numbers and acknowledges them all at once or one by one.
func (b *modelBox) drain(atOnce bool) {
	pending := b.r.Pending()
	for _, slot := range bitsOf(pending) {
		b.came = append(b.came, b.slots[slot].Get())
		if !atOnce {
			b.r.Ack(slot)
		}
	}
	if atOnce {
		b.r.AckAll(pending)
	}
}

// check drains the rest. It fails the execution unless each sent number was received
// once and all slots are free.
func (b *modelBox) check(m *interleave.M, mask uint32) {
	b.drain(true)
	count := map[int]int{}
	for _, v := range b.came {
		count[v]++
	}
	for sender, n := range b.sent {
		for i := range n {
			if got := count[10*sender+i]; got != 1 {
				m.Fatalf("number %d of sender %d came %d times", i, sender, got)
			}
		}
	}
	if free, busy := b.s.Free(), b.s.Busy(); free != mask || busy != 0 {
		m.Fatalf("Free = %#x, Busy = %#x at the end", free, busy)
	}
	if got := b.s.Early(); got != 0 {
		m.Fatalf("Early = %#x with an honest receiver", got)
	}
}

// TestModelMailbox has two publishers and a receiver that use four slots or fewer. With
// few slots a slot is reused while a claimer is between its loads and its CAS. No slot
// has two owners, and each number is received exactly once. K-022, K-023, K-024, K-026,
// K-027, K-033, K-137.
func TestModelMailbox(t *testing.T) {
	model := func(slots, first, second, drains int, atOnce bool) func(*interleave.M) {
		return func(m *interleave.M) {
			b := newModelBox(slots)
			m.Go("first", func() { b.send(0, first) })
			m.Go("second", func() { b.send(1, second) })
			m.Go("receiver", func() {
				for range drains {
					b.drain(atOnce)
				}
			})
			m.Final(func() { b.check(m, 1<<slots-1) })
		}
	}
	interleave.Check(t, "mailbox-four-slots", everything, model(4, 1, 1, 1, false))
	interleave.Check(t, "mailbox-four-slots-again", bounded(3), model(4, 2, 2, 2, true))
	interleave.Check(t, "mailbox-one-slot", bounded(4), model(1, 1, 2, 2, true))
	interleave.Check(t, "mailbox-two-slots", bounded(3), model(2, 2, 2, 2, false))
}

// TestModelMailboxCrash checks that a publisher that stops for ever at any step keeps
// at most its slot. The other publisher and the receiver continue. K-024.
func TestModelMailboxCrash(t *testing.T) {
	o := bounded(3)
	o.Crash = "first"
	interleave.Check(t, "mailbox-crash", o, func(m *interleave.M) {
		b := newModelBox(3)
		m.Go("first", func() { b.send(0, 1) })
		m.Go("second", func() { b.send(1, 2) })
		m.Go("receiver", func() { b.drain(true) })
		m.Final(func() {
			if b.sent[1] != 2 {
				m.Fatalf("the second publisher got %d slots of 2", b.sent[1])
			}
			b.drain(true)
			if n := len(b.came); n < 2 || n > 3 {
				m.Fatalf("%d numbers came", n)
			}
		})
	})
}

// TestModelMailboxCancel lets a claimer give its slot back while another goroutine
// claims.
func TestModelMailboxCancel(t *testing.T) {
	interleave.Check(t, "mailbox-cancel", everything, func(m *interleave.M) {
		b := newModelBox(1)
		m.Go("cancels", func() {
			if slot, _, ok := b.s.Claim(); ok {
				b.slots[slot].Set(77)
				b.s.Cancel(slot)
			}
		})
		m.Go("second", func() { b.send(1, 2) })
		m.Go("receiver", func() { b.drain(true) })
		m.Final(func() { b.check(m, 1) })
	})
}

// TestModelMailboxShared has one side word that carries the publications of several
// goroutines and the acknowledgements of another one. No bit affects another bit. The
// other side stores both halves at once, so the host never sees an answer without the
// acknowledgement of its request. K-009, K-022.
func TestModelMailboxShared(t *testing.T) {
	interleave.Check(t, "mailbox-shared-word", bounded(3), func(m *interleave.M) {
		var host, worker transport.Side
		requests := transport.NewSender(&host, &worker, 2)
		taken := transport.NewReceiver(&worker, &host, 2)
		answers := transport.NewSender(&worker, &host, 2)
		settled := transport.NewReceiver(&host, &worker, 2)
		var questions, replies [2]atomix.Cell[int]
		sent := [2]bool{}
		for i := range sent {
			m.Go("caller", func() {
				if slot, _, ok := requests.Claim(); ok {
					questions[slot].Set(i + 1)
					requests.Publish(slot)
					sent[i] = true
				}
			})
		}
		answer := func() {
			for _, slot := range bitsOf(taken.Pending()) {
				if reply, _, ok := answers.Claim(); ok {
					replies[reply].Set(10 * questions[slot].Get())
					transport.Exchange(answers, taken, 1<<reply, 1<<slot)
				}
			}
		}
		sum := 0
		settle := func() {
			if published, acked := worker.Load(); bits.OnesCount32(published^acked)%2 != 0 { // each store inverts a bit in both
				m.Fatalf("the host sees the answers %#x and the acknowledgements %#x, which are not of one store", published, acked)
			}
			set := settled.Pending()
			for _, slot := range bitsOf(set) {
				sum += replies[slot].Get()
			}
			settled.AckAll(set)
		}
		m.Go("worker", answer)
		m.Go("host", settle)
		m.Final(func() {
			answer()
			settle()
			want := 0
			for i, ok := range sent {
				if ok {
					want += 10 * (i + 1)
				}
			}
			if sum != want || requests.Free() != 3 || answers.Free() != 3 {
				m.Fatalf("the answers add up to %d, want %d; free %#x, %#x", sum, want, requests.Free(), answers.Free())
			}
		})
	})
}

// staleSender claims as Sender does, with a planted bug.
type staleSender struct {
	own, peer *transport.Side
	claims    atomix.Uint64
	ackFirst  bool // loads the word of the other side before the claim word
	noTicket  bool // claims do not change the ticket
}

func (s *staleSender) claim(mask uint32) (slot int, ok bool) {
	for {
		var acked uint32
		if s.ackFirst {
			_, acked = s.peer.Load()
		}
		c := s.claims.Load()
		if !s.ackFirst {
			_, acked = s.peer.Load()
		}
		free := ^(uint32(c) ^ acked) & mask
		if free == 0 {
			return 0, false
		}
		slot = bitsOf(free)[0]
		next := c ^ 1<<slot
		if !s.noTicket {
			next += 1 << 32
		}
		if s.claims.CompareAndSwap(c, next) {
			return slot, true
		}
	}
}

// TestModelDoubleClaim plants two bugs in the claim. It loads the acknowledgements
// before the claim word, or it does not count. Each bug gives one slot to two claimers.
// A private copy of the acknowledgements (K-137) would be such a load, so there is
// none.
func TestModelDoubleClaim(t *testing.T) {
	model := func(ackFirst, noTicket bool) func(*interleave.M) {
		return func(m *interleave.M) {
			b := newModelBox(1)
			s := &staleSender{own: &b.near, peer: &b.far, ackFirst: ackFirst, noTicket: noTicket}
			send := func(tries int) {
				for range tries {
					if slot, ok := s.claim(1); ok {
						b.slots[slot].Set(1)
						b.near.Cheat(1<<slot, 0) // a toggle
					}
				}
			}
			m.Go("first", func() { send(1) })
			m.Go("second", func() { send(2) })
			m.Go("receiver", func() { b.drain(true) })
		}
	}
	interleave.Check(t, "double-claim-none", bounded(4), model(false, false))
	mustFind(t, "acknowledgements before the claim word", bounded(4), model(true, false))
	mustFind(t, "claims without a ticket", bounded(4), model(false, true))
}
