package fuzz_test

import (
	"errors"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// linkRegions makes a small Link and returns the memory that its worker writes.
func linkRegions(t *testing.T) (l *transport.Link, responses []byte) {
	t.Helper()
	l, err := transport.NewLink(transport.Config{
		PayloadInitial: 1 << 10, PayloadMax: 8 << 10, Functions: 4, Aborts: 4, Spin: -1,
		NewRegion: func(d transport.Direction, size int) (transport.Region, error) {
			r, err := transport.NewHeap(size)
			if err == nil && d == transport.Answers {
				responses = r.Bytes()
			}
			return r, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, responses
}

// FuzzLinkHostile has a worker write any bytes anywhere in its region. It writes
// between the steps of the host and while the host handles a message. The host never
// panics, and it never takes more than 32 messages at a time. It gives no slot to two
// claimers. It returns only payloads of the length that it has checked. K-134, K-141.
func FuzzLinkHostile(f *testing.F) {
	f.Add([]byte{0, 2, 0, 1, 1, 4, 0, 1, 255, 4, 0})
	f.Add([]byte{2, 2, 2, 4, 4, 255, 3, 5, 1, 0, 3, 4, 0, 1, 5, 2, 5})
	f.Add([]byte{1, 0, 8, 2, 0, 0, 255, 255, 0, 3, 1, 16, 0, 255, 255, 5})
	f.Fuzz(func(t *testing.T, input []byte) {
		l, region := linkRegions(t)
		host, worker := l.Host(), l.Worker()
		tr := trace(input)
		var mine []int
		scribble := func() {
			at := tr.below(len(region))
			if tr.coin() {
				at = 256 + at%8 // the side word
			}
			for n := tr.below(8) + 1; n > 0 && at < len(region); n-- {
				region[at] = tr.byte()
				at++
			}
		}
		tr.steps(func() {
			switch tr.below(6) {
			case 0:
				if slot, ok := worker.Claim(); ok && !tr.coin() {
					if worker.Publish(slot, &transport.Header{Tag: transport.TagBytes}, make([]byte, tr.below(1000))) != nil {
						return
					}
				}
			case 1:
				scribble()
			case 2:
				if slot, ok := host.Claim(); ok {
					for _, s := range mine {
						if s == slot {
							t.Fatalf("slot %d was given to two claimers", slot)
						}
					}
					mine = append(mine, slot)
				}
			case 3:
				if len(mine) > 0 {
					_ = host.Publish(mine[0], &transport.Header{Tag: transport.TagBytes}, make([]byte, tr.below(2000)))
					mine = mine[1:]
				}
			case 4:
				if len(mine) > 0 {
					host.Cancel(mine[0])
					mine = mine[1:]
				}
				host.FreeAcked()
			case 5:
				n, err := host.Drain(func(m *transport.Message, err error) {
					kept := m.Header
					if tr.coin() {
						scribble()
					}
					got, lost := m.Append(nil)
					wantErr(t, "Append", lost, nil)
					want(t, "the header stays", m.Header == kept, true)
					if err == nil {
						want(t, "payload", len(got), int(kept.Len))
					} else {
						want(t, "payload of a bad header", len(got), 0)
					}
				})
				if n > transport.Slots || err != nil && !errors.Is(err, transport.ErrViolation) {
					t.Fatalf("Drain = %d, %v", n, err)
				}
			}
		})
	})
}
