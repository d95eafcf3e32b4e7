package transport_test

import (
	"slices"
	"testing"

	"github.com/lanewright/lanewright/transport"
)

// TestSlotUsedAgain: each use of a slot is like the first, though its bits are the other
// way round in every second one.
func TestSlotUsedAgain(t *testing.T) {
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

// TestTicketsWrap: the order of tickets goes on over the wrap.
// V-15d.
func TestTicketsWrap(t *testing.T) {
	tickets := [transport.Slots]uint32{0: 1, 3: 1<<32 - 2, 5: 0, 9: 1<<32 - 1}
	var room [transport.Slots]uint8
	want := []uint8{3, 9, 5, 0}
	if got := transport.InOrder(1<<0|1<<3|1<<5|1<<9, &tickets, &room); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOlderClaimFirst: a message in a higher slot comes first when that was claimed
// before.
func TestOlderClaimFirst(t *testing.T) {
	host, worker := ends()
	first, _ := host.Claim()
	second, _ := host.Claim()
	host.Cancel(first)
	third, _ := host.Claim()
	if third != first {
		t.Fatalf("slots %d, %d, %d: the first is not used again", first, second, third)
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
