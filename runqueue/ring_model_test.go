//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// ringOps holds the operations of a model. A test can replace one of them with a
// mutant.
type ringOps struct {
	push  func(*runqueue.Ring, *mpsc.Node) bool
	pop   func(*runqueue.Ring) *mpsc.Node
	steal func(r, dst *runqueue.Ring) (*mpsc.Node, int, mpsc.Status)
	take  func(*runqueue.Ring, func(*mpsc.Node) bool, int) *mpsc.Node
}

func realRing() ringOps {
	return ringOps{
		push:  (*runqueue.Ring).Push,
		pop:   (*runqueue.Ring).Pop,
		steal: (*runqueue.Ring).StealInto,
		take:  (*runqueue.Ring).TakeNewest,
	}
}

func ringWith(change func(*ringOps)) ringOps {
	op := realRing()
	change(&op)
	return op
}

// ringModel runs an owner that pushes and pops while thieves steal. The indices wrap in
// between. Each node is taken exactly once.
func ringModel(op ringOps, thieves, n int) func(m *interleave.M) {
	return func(m *interleave.M) {
		r := runqueue.NewRingAt(1<<32 - 3)
		nodes := make([]mpsc.Node, n)
		took := make(takes, 1+thieves)
		for i := range 2 {
			op.push(r, &nodes[i])
		}
		m.Go("owner", func() {
			for i := 2; i < len(nodes); i++ {
				for !op.push(r, &nodes[i]) {
					if !took.add(0, op.pop(r)) { // held, and no node is left to pop
						took.add(0, &nodes[i])
						break
					}
				}
				if i == 3 {
					took.add(0, op.pop(r))
				}
			}
		})
		for k := range thieves {
			m.Go("thief", func() {
				mine := runqueue.NewRingAt(1<<32 - 1)
				n, _, _ := op.steal(r, mine)
				took.add(1+k, n)
				took.all(1+k, mine.Pop)
			})
		}
		m.Final(func() {
			took.all(0, r.Pop)
			took.check(m, nodes)
			wantFree(m, r)
		})
	}
}

// wantFree fails the execution if the hold of r is taken.
func wantFree(m *interleave.M, r *runqueue.Ring) {
	if r.Hold() == mpsc.Contended {
		m.Fatalf("the ring is held after all threads have ended")
	}
	if !r.Empty() {
		r.Release()
	}
}

// orderModel runs an owner that pops and two thieves that steal. The owner and each
// thief take their nodes in the order of the pushes.
func orderModel(op ringOps) func(m *interleave.M) {
	return func(m *interleave.M) {
		r := runqueue.NewRingAt(1<<32 - capacity) // ends at 0
		nodes := make([]mpsc.Node, capacity)
		took := make(takes, 3)
		for i := range nodes {
			op.push(r, &nodes[i])
		}
		m.Go("owner", func() { took.all(0, func() *mpsc.Node { return op.pop(r) }) })
		for k := 1; k <= 2; k++ {
			m.Go("thief", func() {
				mine := new(runqueue.Ring)
				n, moved, s := op.steal(r, mine)
				if (n != nil) != (s == mpsc.Acquired) || (n != nil) != (moved > 0) {
					m.Fatalf("StealInto = %v, %d, %v", n, moved, s)
				}
				took.add(k, n)
				took.all(k, mine.Pop)
			})
		}
		m.Final(func() {
			wantFree(m, r)
			took.all(0, r.Pop)
			took.check(m, nodes)
			for k := range took {
				took.inOrder(m, k, nodes)
			}
		})
	}
}

// newestModel runs an owner that pushes and takes from both ends. A thief steals at the
// same time.
func newestModel(op ringOps) func(m *interleave.M) {
	return func(m *interleave.M) {
		r := runqueue.NewRingAt(1<<32 - 2)
		nodes := make([]mpsc.Node, 5)
		took := make(takes, 3)
		for i := range 3 {
			op.push(r, &nodes[i])
		}
		anyNode := func(*mpsc.Node) bool { return true }
		push := func(n *mpsc.Node) {
			if !op.push(r, n) { // a held ring has one slot less
				took.add(0, n)
			}
		}
		m.Go("owner", func() {
			took.add(0, op.take(r, anyNode, 1))
			push(&nodes[3])
			took.add(0, op.take(r, func(n *mpsc.Node) bool { return n == &nodes[1] }, capacity))
			push(&nodes[4])
			took.add(0, op.pop(r))
		})
		m.Go("thief", func() {
			for range 2 {
				mine := runqueue.NewRingAt(1<<32 - 1)
				n, _, _ := op.steal(r, mine)
				took.add(1, n)
				took.all(1, mine.Pop)
			}
		})
		m.Final(func() {
			took.all(2, r.Pop)
			took.check(m, nodes)
			took.inOrder(m, 2, nodes)
		})
	}
}

// ringNotifyModel runs an owner that pops a node, pushes another and notifies a
// searcher. An earlier thief may be at work. A searcher that gets a node continues only
// when the ring is not empty afterwards. A searcher that finds the ring held does not
// come back. No node is left in the ring. This is B7 for the hold.
func ringNotifyModel(op ringOps) func(m *interleave.M) {
	return func(m *interleave.M) {
		r := runqueue.NewRingAt(1<<32 - 1)
		nodes := make([]mpsc.Node, 2)
		took := make(takes, 3)
		op.push(r, &nodes[0])
		search := func(k int) {
			mine := new(runqueue.Ring)
			for {
				n, _, _ := op.steal(r, mine)
				if !took.add(k, n) {
					return
				}
				took.all(k, mine.Pop)
				if r.Empty() {
					return
				}
			}
		}
		m.Go("thief", func() { search(1) })
		m.Go("owner", func() {
			took.add(0, op.pop(r))
			op.push(r, &nodes[1])
			search(2) // as the searcher that the owner wakes
		})
		m.Final(func() {
			took.check(m, nodes)
			if !r.Empty() {
				m.Fatalf("a node is left after every notification was answered")
			}
		})
	}
}

// TestModelRing checks that one owner and two thieves take each node exactly once and
// in order. Z-022, Z-024, Z-025, Z-026, Z-028, Z-031, Z-032. A torn pair of head and
// tail cannot occur (Z-026), because steal is frozen when tail is loaded.
func TestModelRing(t *testing.T) {
	interleave.Check(t, "ring", bounded(3), ringModel(realRing(), 2, capacity+2))
	interleave.Check(t, "ring-order", bounded(3), orderModel(realRing()))
	if invariant.Enabled {
		for _, mark := range []string{
			"runqueue: tryHold: retried",
			"runqueue: claim: retried",
			"runqueue: release: retried",
			"runqueue: StealInto: emptied before the claim",
		} {
			if invariant.Count(mark) == 0 {
				t.Errorf("the models never reached %q", mark)
			}
		}
	}
}

// TestModelRingAll checks in all interleavings that one owner and one thief take each
// node exactly once.
func TestModelRingAll(t *testing.T) {
	interleave.Check(t, "ring-all", everything, ringModel(realRing(), 1, capacity))
}

// TestModelTakeNewest checks that TakeNewest lowers tail without losing or doubling a
// node while a thief steals.
func TestModelTakeNewest(t *testing.T) {
	interleave.Check(t, "ring-take-newest", bounded(4), newestModel(realRing()))
}

// TestModelRingNotifies checks that no node is left in a ring when each searcher that
// finds nodes left continues. Z-057.
func TestModelRingNotifies(t *testing.T) {
	interleave.Check(t, "ring-notify", bounded(5), ringNotifyModel(realRing()))
}

// TestModelRingEmpty checks that a ring that holds a node at every moment is available
// and not empty for a goroutine that loads head and tail at two moments.
func TestModelRingEmpty(t *testing.T) {
	interleave.Check(t, "ring-empty", everything, func(m *interleave.M) {
		q := runqueue.NewQueueAt(1<<32 - 1)
		nodes := make([]mpsc.Node, 3)
		q.Push(&nodes[0])
		m.Go("owner", func() {
			for i := range 2 {
				q.Push(&nodes[1+i])
				q.Pop()
			}
		})
		m.Go("observer", func() {
			if !q.Available() || q.Empty() {
				m.Fatalf("a ring that holds a node looks empty")
			}
		})
	})
}

// TestModelRingCrash checks that the owner continues when a thief stops for ever at any
// step. Only the nodes that the thief had claimed are lost. They are at most half a
// ring. Z-035.
func TestModelRingCrash(t *testing.T) {
	o := bounded(3)
	o.Crash = "crasher"
	interleave.Check(t, "ring-crash", o, func(m *interleave.M) {
		q := runqueue.NewQueueAt(1<<32 - 3)
		nodes := make([]mpsc.Node, 2*capacity)
		took := make(takes, 2)
		for i := range 3 {
			q.Push(&nodes[i])
		}
		m.Go("owner", func() {
			for i := 3; i < len(nodes); i++ {
				q.Push(&nodes[i])
			}
			for n := q.Pop(); n != nil; n = q.Pop() {
				took.add(0, n)
			}
			for n, _ := q.Refill(); n != nil; n, _ = q.Refill() {
				took.add(0, n)
				took.all(0, q.Pop)
			}
		})
		m.Go("crasher", func() {
			mine := new(runqueue.Ring)
			n, _, _ := q.Ring().StealInto(mine)
			took.add(1, n)
			took.all(1, mine.Pop)
		})
		m.Final(func() {
			lost := 0
			for i := range nodes {
				switch n := took.count(&nodes[i]); {
				case n == 0:
					lost++
				case n > 1:
					m.Fatalf("node %d was taken %d times", i, n)
				}
			}
			if lost > half {
				m.Fatalf("%d nodes are lost", lost)
			}
			if !q.Empty() {
				m.Fatalf("the owner left nodes in the queue")
			}
		})
	})
}

// TestModelThiefCrash checks that a thief continues when another thief of the same
// queue stops for ever at any step. It finds the ring or the overflow queue held. It
// then takes nothing from there. Z-035, Z-036.
func TestModelThiefCrash(t *testing.T) {
	o := bounded(3)
	o.Crash = "crasher"
	interleave.Check(t, "thief-crash", o, func(m *interleave.M) {
		victim := runqueue.NewQueueAt(1<<32 - 3)
		nodes := make([]mpsc.Node, 4)
		took := make(takes, 2)
		for i := range 3 {
			victim.Push(&nodes[i])
		}
		var l mpsc.List
		l.Push(&nodes[3])
		victim.PushOverflow(&l)
		for thread, name := range []string{"crasher", "thief"} {
			m.Go(name, func() {
				own := new(runqueue.Queue)
				for range 2 {
					n, _ := own.StealFrom(victim)
					took.add(thread, n)
					took.all(thread, own.Pop)
				}
				if thread == 1 {
					var l mpsc.List
					victim.StealAll(&l)
					took.all(thread, l.Pop)
				}
			})
		}
		m.Final(func() {
			for i := range nodes {
				if n := took.count(&nodes[i]); n > 1 || n == 0 && !m.Crashed() && victim.Empty() {
					m.Fatalf("node %d was taken %d times", i, n)
				}
			}
		})
	})
}

// TestModelRingFindsPlantedBugs checks that each planted bug is found by its model.
func TestModelRingFindsPlantedBugs(t *testing.T) {
	for _, tc := range []struct {
		bug    string
		model  func(ringOps) func(*interleave.M)
		change func(*ringOps)
	}{
		{"push into slots in use", ring2, func(op *ringOps) { op.push = (*runqueue.Ring).PushOverHeld }},
		{"publish before the slot is filled", ring2, func(op *ringOps) { op.push = (*runqueue.Ring).PushEarly }},
		{"pop stores head", ring2, func(op *ringOps) { op.pop = (*runqueue.Ring).PopStore }},
		{"carry between the indices", orderModel, func(op *ringOps) { op.pop = (*runqueue.Ring).PopCarry }},
		{"hold released before the slots are copied", ring2, func(op *ringOps) { op.steal = (*runqueue.Ring).StealReleaseEarly }},
		{"hold released by a store", orderModel, func(op *ringOps) { op.steal = (*runqueue.Ring).StealReleaseStore }},
		{"hold taken by a store", ring2, func(op *ringOps) { op.steal = (*runqueue.Ring).StealHoldStore }},
		{"claim without the hold", ring2, func(op *ringOps) { op.steal = (*runqueue.Ring).StealUnheld }},
		{"amount decided before the hold", newestModel, func(op *ringOps) { op.steal = (*runqueue.Ring).StealStaleTail }},
		{"tail lowered without the hold", newestModel, func(op *ringOps) { op.take = (*runqueue.Ring).TakeNewestUnheld }},
		{"tail lowered after the hold", newestModel, func(op *ringOps) { op.take = (*runqueue.Ring).TakeNewestGap }},
		{"no second search after an empty hold", ringNotifyModel, func(op *ringOps) { op.steal = (*runqueue.Ring).StealOnce }},
	} {
		mustFind(t, tc.bug, tc.model(ringWith(tc.change)))
	}
}

// ring2 is ringModel with two thieves and two nodes more than the ring holds.
func ring2(op ringOps) func(*interleave.M) { return ringModel(op, 2, capacity+2) }
