//go:build interleave

package transport_test

import (
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/transport"
)

// TestModelDoorbell lets two goroutines make a change and ring. The waiter waits for
// both changes. A lost wake-up is a deadlock. K-036, K-047, K-079 to K-082.
func TestModelDoorbell(t *testing.T) {
	model := func(rings bool) func(*interleave.M) {
		return func(m *interleave.M) {
			d := transport.NewDoorbell(0)
			var changed [2]atomix.Bool
			var data [2]atomix.Cell[int]
			for i, name := range []string{"first", "second"} {
				m.Go(name, func() {
					data[i].Set(1)
					changed[i].Store(true)
					if rings {
						d.Ring()
					}
				})
			}
			m.Go("waiter", func() {
				for i := range changed {
					d.Wait(changed[i].Load, 0)
					if data[i].Get() != 1 {
						m.Fatalf("the waiter does not see what %d wrote", i)
					}
				}
			})
		}
	}
	interleave.Check(t, "doorbell", bounded(4), model(true))
	mustFind(t, "no goroutine rings", bounded(1), model(false))
}

// TestModelDoorbells lets two sides ask and answer alternately. Each side is parked
// while the other one works. K-036, K-040.
func TestModelDoorbells(t *testing.T) {
	interleave.Check(t, "doorbell-both-sides", bounded(3), func(m *interleave.M) {
		bells := [2]*transport.Doorbell{transport.NewDoorbell(0), transport.NewDoorbell(0)}
		var next atomix.Uint32
		for side := range bells {
			m.Go("side", func() {
				for round := uint32(side); round < 4; round += 2 {
					bells[side].Wait(func() bool { return next.Load() == round }, 0)
					next.Store(round + 1)
					bells[1-side].Ring()
				}
			})
		}
		m.Final(func() {
			if got := next.Load(); got != 4 {
				m.Fatalf("%d rounds, want 4", got)
			}
		})
	})
}

// TestModelDoorbellLimit lets a ring come while a wait ends because its limit has
// passed. The next wait still sees the change. K-047, K-048.
func TestModelDoorbellLimit(t *testing.T) {
	o := bounded(3)
	o.Timeouts = true
	interleave.Check(t, "doorbell-timeout", o, func(m *interleave.M) {
		d := transport.NewDoorbell(0)
		var changed atomix.Bool
		m.Go("ringer", func() {
			changed.Store(true)
			d.Ring()
		})
		m.Go("waiter", func() {
			if !d.Wait(changed.Load, time.Hour) {
				d.Wait(changed.Load, 0)
			}
		})
	})
}

// TestModelLostWake checks that the explorer finds the two bugs of every protocol of
// this kind. One is a waiter that does not check again after it has announced that it
// parks. The other one is a ringer that looks for a parked waiter before it makes its
// change.
func TestModelLostWake(t *testing.T) {
	model := func(noLook, early bool) func(*interleave.M) {
		return func(m *interleave.M) {
			var parked, changed atomix.Bool
			var sema interleave.Sema
			sema.Init(1)
			m.Go("ringer", func() {
				p := early && parked.Load()
				changed.Store(true)
				if p || !early && parked.Load() {
					sema.Post()
				}
			})
			m.Go("waiter", func() {
				if noLook && changed.Load() {
					return
				}
				parked.Store(true)
				if noLook || !changed.Load() {
					sema.Wait()
				}
			})
		}
	}
	interleave.Check(t, "lost-wake-none", everything, model(false, false))
	mustFind(t, "no check after the flag", everything, model(true, false))
	mustFind(t, "flag loaded before the change", everything, model(false, true))
}
