//go:build interleave

package sync_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// TestModelParkerKeepsOne: a wait that gives up leaves no token behind that the
// Parker does not know of; two Unparks then leave one token.
func TestModelParkerKeepsOne(t *testing.T) {
	explore(t, "parker-keeps-one", all, func(m *interleave.M) {
		p := lfsync.NewParker()
		done := make(chan struct{})
		var step atomix.Bool
		m.Go("unpark", p.Unpark)
		m.Go("cancel", func() {
			step.Load() // a step, so that it can come at any time
			close(done)
		})
		m.Go("waiter", func() { p.ParkDone(done) })
		m.Final(func() {
			p.Unpark()
			p.Unpark()
			if !p.ParkDone(closed) {
				m.Fatalf("the token is lost")
			}
			if p.ParkDone(closed) {
				m.Fatalf("there is a second token")
			}
		})
	})
}

// TestModelParkerOrder: who takes a token sees what all Unparks since the last
// one came after, also those that found the token there. Nothing else orders
// these threads: the waiter learns by a ghost that both have unparked, and by an
// attempt to take a second token that the first was for both.
func TestModelParkerOrder(t *testing.T) {
	explore(t, "parker-order", all, func(m *interleave.M) {
		p := lfsync.NewParker()
		var data [2]atomix.Cell[int]
		var unparked ghost
		for i, name := range []string{"u1", "u2"} {
			m.Go(name, func() {
				data[i].Set(1)
				p.Unpark()
				unparked.add(1)
			})
		}
		m.Go("waiter", func() {
			p.Park()
			if both := unparked.get() == 2; both && !p.ParkFor(0) {
				if data[0].Get() != 1 || data[1].Get() != 1 {
					m.Fatalf("the waiter does not see what an Unpark came after")
				}
			}
		})
	})
}
