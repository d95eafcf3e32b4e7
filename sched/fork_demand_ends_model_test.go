//go:build interleave

package sched

import "testing"

// TestModelForkDropsDemand: a request that a computation leaves unanswered does not affect
// the next one. A request that the outer computation has answered does not affect the
// inner one.
func TestModelForkDropsDemand(t *testing.T) {
	w, f := newStack(t)
	f.SetDemand()
	f.leave()
	f = takeForks[*int, int](w)
	f.enter(w)
	f.Push(new(int))
	if f.Wanted() {
		t.Error("a fork of the next computation is requested")
	}
	f.SetDemand()
	f.Promote()
	g := takeForks[int, int](w)
	g.enter(w)
	g.Push(1)
	if g.Wanted() {
		t.Error("a fork of the inner computation is requested after the outer one has answered")
	}
}
