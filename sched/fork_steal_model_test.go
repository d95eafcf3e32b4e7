//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
)

// stealFunc is how a thief takes a fork from a deque whose slots hold arguments. Here
// no thief does: see Forks.
type stealFunc func(s *dequeSlot) (arg int32, ok bool)

// dequeSlot is such a slot. Its owner uses it again.
type dequeSlot struct {
	ready atomix.Bool
	arg   atomix.Int32
}

func (s *dequeSlot) push(arg int32) {
	s.arg.Store(arg)
	s.ready.Store(true)
}

func (s *dequeSlot) claim() bool { return s.ready.CompareAndSwap(true, false) }

// claimThenCopy is sound as long as the owner of a slot that was claimed leaves it
// alone until the thief has the argument, as the one of stealModel does.
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

// stealModel is an owner that forks and joins twice in one slot, and a thief. Each
// fork runs once.
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

// TestModelForkCopyThenClaim: a thief that reads a slot before it claims it may have
// the argument of a fork that was joined, and claim the next one in that slot. The
// explorer sees it. It is why no thief ever reads a slot here.
func TestModelForkCopyThenClaim(t *testing.T) {
	all := interleave.Options{Preemptions: interleave.All, SleepSets: true}
	interleave.Check(t, "fork-claim-then-copy", all, stealModel(claimThenCopy))
	if r := interleave.Explore(all, stealModel(copyThenClaim)); r.Failure == nil {
		t.Errorf("copy, then claim: not found in %d executions", r.Executions)
	}
}
