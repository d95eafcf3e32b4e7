//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// stealFunc is a way for a thief to take a fork from a deque whose slots hold arguments.
// No thief of this package does so, see forkHead.
type stealFunc func(s *dequeSlot) (arg int32, ok bool)

// dequeSlot is a slot of such a deque. Its owner uses it again.
type dequeSlot struct {
	ready atomix.Bool
	arg   atomix.Int32
}

func (s *dequeSlot) push(arg int32) {
	s.arg.Store(arg)
	s.ready.Store(true)
}

func (s *dequeSlot) claim() bool { return s.ready.CompareAndSwap(true, false) }

// claimThenCopy is sound if the owner does not write a claimed slot before the thief has
// read the argument. The owner of stealModel complies.
func claimThenCopy(s *dequeSlot) (arg int32, ok bool) {
	if !s.claim() {
		return 0, false
	}
	return s.arg.Load(), true
}

func copyThenClaim(s *dequeSlot) (arg int32, ok bool) {
	arg = s.arg.Load()
	return arg, s.claim()
}

// stealModel is an owner that forks and joins twice in one slot, and a thief. The law:
// each fork runs once.
func stealModel(steal stealFunc) func(m *interleave.M) {
	return func(m *interleave.M) {
		var s dequeSlot
		var byOwner, byThief [2]int
		m.Go("owner", func() {
			for i := range int32(2) {
				s.push(i)
				if !s.claim() {
					return // stolen
				}
				byOwner[i]++
			}
		})
		m.Go("thief", func() {
			if arg, ok := steal(&s); ok {
				byThief[arg]++
			}
		})
		m.Final(func() {
			for i := range byOwner {
				if n := byOwner[i] + byThief[i]; n > 1 || n == 0 && byThief[0] == 0 {
					m.Fatalf("fork %d ran %d times", i, n)
				}
			}
		})
	}
}

// TestModelForkCopyThenClaim: the explorer finds that a thief which reads a slot before it
// claims the slot may read the argument of a joined fork and claim the next one. No thief
// of this package reads a slot for that reason.
func TestModelForkCopyThenClaim(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, "fork-claim-then-copy", all, stealModel(claimThenCopy))
	if r := interleave.Explore(all, stealModel(copyThenClaim)); r.Failure == nil {
		t.Errorf("copy, then claim: no failure in %d executions", r.Executions)
	}
}
