//go:build interleave

package sched

import "testing"

// TestModelForkDropsDemand: who has asked the last computation for a fork, and got none, has
// asked nothing of the next; nor has who got one of the outer computation.
func TestModelForkDropsDemand(t *testing.T) {
	w, f := newStack(t)
	f.SetDemand()
	w.leaveForks(&f.forkHead)
	f = takeForks[*int, int](w)
	w.enterForks(&f.forkHead)
	f.Push(new(int))
	if f.Wanted() {
		t.Error("the next computation is asked for a fork")
	}
	f.SetDemand()
	f.Promote()
	g := takeForks[int, int](w)
	w.enterForks(&g.forkHead)
	g.Push(1)
	if g.Wanted() {
		t.Error("the inner computation is asked for the fork that the outer one has fed")
	}
}
