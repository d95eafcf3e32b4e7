//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// TestModelRunOnce: of two calls of run, or of a call and the end of a failed spawn, exactly one
// claims the start of the worker.
func TestModelRunOnce(t *testing.T) {
	interleave.Check(t, "sched-run-once", interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		w := new(Worker)
		var first, second interleave.Cell[bool]
		m.Go("first", func() { first.Set(w.start.claim()) })
		m.Go("second", func() { second.Set(w.start.claim()) })
		m.Final(func() {
			if first.Get() == second.Get() {
				m.Fatalf("both calls have claimed the start: %t", first.Get())
			}
		})
	})
}
