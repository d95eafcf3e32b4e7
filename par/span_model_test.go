//go:build interleave

package par_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/par"
)

// TestModelEndFalls: the end of a loop is the lowest index to which a worker has lowered
// it, and it never rises. An index that is excluded once stays excluded.
func TestModelEndFalls(t *testing.T) {
	o := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "par-end", o, func(m *interleave.M) {
		e := par.NewEnd()
		for _, i := range []int{3, 5, 7} {
			m.Go("worker", func() {
				e.Lower(i)
				if !e.Excludes(i) {
					m.Fatalf("the end is above %d after it was lowered to %d", i, i)
				}
			})
		}
		m.Final(func() {
			if e.Excludes(2) || !e.Excludes(3) {
				m.Fatalf("the end is not 3 after it was lowered to 3, 5 and 7")
			}
		})
	})
}
