//go:build interleave

package sched

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// claimModel is a promoted fork with its joiner and its runner. Their workers have no
// place, so the steps are few enough to explore all orders.
type claimModel struct {
	m              *interleave.M
	f              *Forks[int, int] // the stack of the joiner
	k              *fork[int, int]
	steps          interleave.Uint32 // of the body
	joinerReturned interleave.Bool   // the joiner has returned

	byJoiner, byRunner int // number of runs of the body
}

// exploreClaim explores a fork of 7 that join ends while a runner takes it.
func exploreClaim(t *testing.T, name string, join func(c *claimModel)) {
	t.Helper()
	all := interleave.Options{Preemptions: interleave.All, Reduce: true}
	interleave.Check(t, name, all, func(m *interleave.M) {
		s := spawnless(m)
		c := &claimModel{m: m}
		w := unplaced(s)
		c.f = takeForks[int, int](w)
		c.f.body = c.body
		c.f.enter(w)
		c.f.Push(7)
		c.f.detachOldest()
		c.k = c.f.promoted[0]
		m.Go("joiner", func() {
			join(c)
			c.joinerReturned.Store(true)
		})
		m.Go("runner", func() { runFork[int, int](unplaced(s), &c.k.task) })
		m.Final(func() {
			if c.k.arg != 0 {
				m.Fatalf("the argument of the fork is still reachable")
			}
			if c.byJoiner+c.byRunner > 1 {
				m.Fatalf("the fork ran %d times on its joiner, %d on the runner", c.byJoiner, c.byRunner)
			}
		})
	})
}

// body is the body of the fork. It takes a step, in which the joiner can end.
func (c *claimModel) body(f *Forks[int, int], arg int) int {
	if arg != 7 {
		c.m.Fatalf("the fork runs with %d", arg)
	}
	if c.joinerReturned.Load() {
		c.m.Fatalf("the fork runs after its joiner has returned")
	}
	if f == c.f {
		c.byJoiner++
	} else {
		c.byRunner++
	}
	c.steps.Add(1)
	if c.joinerReturned.Load() {
		c.m.Fatalf("the joiner did not wait for the fork")
	}
	return 2 * arg
}

// TestModelForkClaim: a fork that a joiner and a runner claim at the same time runs once.
// If the owner unwinds, it runs at most once. It has ended when the joiner continues.
func TestModelForkClaim(t *testing.T) {
	defer SetRequestRounds(0)() // the joiner parks at once
	exploreClaim(t, "fork-claim-join", func(c *claimModel) {
		if got := c.f.Await(); got != 14 || c.byJoiner+c.byRunner != 1 {
			c.m.Fatalf("the join returned %d; the fork ran %d and %d times", got, c.byJoiner, c.byRunner)
		}
	})
	exploreClaim(t, "fork-claim-close", func(c *claimModel) {
		c.f.close(false)
		if c.byJoiner != 0 {
			c.m.Fatalf("the fork ran on the stack of the body that unwinds")
		}
	})
}
