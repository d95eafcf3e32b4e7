//go:build interleave

package transport_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// TestModelDoorbell: two goroutines have news and ring; the waiter waits for both.
// A lost wake is a deadlock: K-036, K-047.
func TestModelDoorbell(t *testing.T) {
	model := func(rings bool) func(*interleave.M) {
		return func(m *interleave.M) {
			d := transport.NewDoorbell(0)
			var news [2]atomix.Bool
			var data [2]atomix.Cell[int]
			for i, name := range []string{"first", "second"} {
				m.Go(name, func() {
					data[i].Set(1)
					news[i].Store(true)
					if rings {
						d.Ring()
					}
				})
			}
			m.Go("waiter", func() {
				for i := range news {
					d.Wait(news[i].Load, 0)
					if data[i].Get() != 1 {
						m.Fatalf("the waiter does not see what %d wrote", i)
					}
				}
			})
		}
	}
	interleave.Check(t, "doorbell", bounded(4), model(true))
	mustFind(t, "nobody rings", bounded(1), model(false))
}

// TestModelDoorbells: two sides ask and answer in turn, each parked while the other
// one works: K-036, K-040.
func TestModelDoorbells(t *testing.T) {
	interleave.Check(t, "doorbell-both-sides", bounded(3), func(m *interleave.M) {
		bells := [2]*transport.Doorbell{transport.NewDoorbell(0), transport.NewDoorbell(0)}
		var turn atomix.Uint32
		for side := range bells {
			m.Go("side", func() {
				for round := uint32(side); round < 4; round += 2 {
					bells[side].Wait(func() bool { return turn.Load() == round }, 0)
					turn.Store(round + 1)
					bells[1-side].Ring()
				}
			})
		}
		m.Final(func() {
			if got := turn.Load(); got != 4 {
				m.Fatalf("the turn is %d", got)
			}
		})
	})
}

// TestModelDoorbellGivesUp: a wait that ends by its time while a ring comes. The
// next one still sees the news: K-047, K-048.
func TestModelDoorbellGivesUp(t *testing.T) {
	o := bounded(3)
	o.Timeouts = true
	interleave.Check(t, "doorbell-timeout", o, func(m *interleave.M) {
		d := transport.NewDoorbell(0)
		var news atomix.Bool
		m.Go("ringer", func() {
			news.Store(true)
			d.Ring()
		})
		m.Go("waiter", func() {
			if !d.Wait(news.Load, time.Hour) {
				d.Wait(news.Load, 0)
			}
		})
	})
}

// TestModelLostWake: the two bugs of every protocol of this kind are found: a waiter
// that does not look again when it has said that it parks, and a ringer that looks
// whether anybody is parked before it has news.
func TestModelLostWake(t *testing.T) {
	model := func(noLook, early bool) func(*interleave.M) {
		return func(m *interleave.M) {
			var parked, news atomix.Bool
			var sema interleave.Sema
			sema.Init(1)
			m.Go("ringer", func() {
				p := early && parked.Load()
				news.Store(true)
				if p || !early && parked.Load() {
					sema.Post()
				}
			})
			m.Go("waiter", func() {
				if noLook && news.Load() {
					return
				}
				parked.Store(true)
				if noLook || !news.Load() {
					sema.Wait()
				}
			})
		}
	}
	interleave.Check(t, "lost-wake-none", everything, model(false, false))
	mustFind(t, "no look after the flag", everything, model(true, false))
	mustFind(t, "a look before the news", everything, model(false, true))
}
