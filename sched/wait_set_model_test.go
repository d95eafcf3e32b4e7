//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	lfsync "github.com/lanewright/lanewright/sync"
)

// TestModelWaitSet: a waiter that makes its entry and then finds its condition false is woken
// after the condition has changed. Each of two events ends one wait, and the events are of
// different moments. A waiter that is woken without its event waits again.
func TestModelWaitSet(t *testing.T) {
	interleave.Check(t, "wait-set", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		var set waitSet
		var events atomix.Int32
		for n := int32(1); n <= 2; n++ {
			m.Go("waiter", func() {
				p := lfsync.NewParker()
				for {
					set.add(p)
					if events.Load() >= n {
						set.drop(p)
						return
					}
					p.Park()
				}
			})
		}
		m.Go("waker", func() {
			for range 2 {
				events.Add(1)
				set.wakeAll()
			}
		})
		m.Final(func() {
			if n := set.entries.Load(); n != 0 || len(set.waiting) != 0 {
				m.Fatalf("%d entries are counted and %d exist after all waits", n, len(set.waiting))
			}
		})
	})
}
