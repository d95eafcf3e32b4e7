//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// TestModelForkAwait: the runner unparks a joiner that parks, and the joiner sees the
// result.
func TestModelForkAwait(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "fork-await", all, func(m *interleave.M) {
		s := spawnless(m)
		k := &fork[int, int]{}
		k.root = new(forkRoot)
		var result atomix.Cell[int]
		m.Go("runner", func() {
			result.Set(1)
			k.finish()
		})
		m.Go("joiner", func() {
			w := unplaced(s)
			k.park(w)
			if n := result.Get(); n != 1 {
				m.Fatalf("result %d, want 1", n)
			}
		})
	})
}

// spawnless returns a scheduler for workers without a place. It never starts a worker.
func spawnless(m *interleave.M) *Scheduler {
	return newFor(m, Config{MaxWorkers: 1, Spawner: sureSpawn{}})
}

// newFor returns a scheduler for a model.
func newFor(m *interleave.M, c Config) *Scheduler {
	s, err := New(c)
	if err != nil {
		m.Fatalf("New: %v", err)
	}
	return s
}

// sureSpawn is an infallible Spawner that must not be called.
type sureSpawn struct{ Infallible }

func (sureSpawn) Spawn(func()) error { panic("a worker was spawned") }
