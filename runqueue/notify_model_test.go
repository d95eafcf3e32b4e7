//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
)

// publishModel runs an owner that publishes three nodes in its ring by one store. A
// thief steals from the ring. A thief that sees the store also sees the slots. Each
// node is taken exactly once.
func publishModel(publish func(owner *worker, nodes []mpsc.Node)) func(m *interleave.M) {
	return func(m *interleave.M) {
		ws := newWorkers(realQueue(), 2)
		nodes := make([]mpsc.Node, 3)
		owner, thief := &ws[0], &ws[1]
		m.Go("owner", func() {
			publish(owner, nodes)
			owner.work(nil)
		})
		m.Go("thief", func() {
			n, _ := thief.op.stealFrom(thief.q, owner.q)
			if thief.took.add(1, n) {
				thief.work(nil)
			}
		})
		m.Final(func() {
			for i := range ws {
				ws[i].work(nil)
			}
			nothingLeft(m, ws, nodes)
		})
	}
}

// chainOf returns a list of the nodes.
func chainOf(nodes []mpsc.Node) *mpsc.List {
	l := new(mpsc.List)
	for i := range nodes {
		l.Push(&nodes[i])
	}
	return l
}

// TestModelPushAll checks that PushAll fills the slots before one store publishes them.
func TestModelPushAll(t *testing.T) {
	interleave.Check(t, "runqueue-push-all", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushAll([]*mpsc.Node{&nodes[0], &nodes[1], &nodes[2]})
	}))
}

// TestModelPushList checks that PushList fills the slots before one store publishes
// them.
func TestModelPushList(t *testing.T) {
	interleave.Check(t, "runqueue-push-list", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushList(chainOf(nodes))
	}))
}

// TestModelRefillChain checks that Refill fills the slots before one store publishes
// them to a thief.
func TestModelRefillChain(t *testing.T) {
	interleave.Check(t, "runqueue-refill-chain", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushOverflow(chainOf(nodes))
		n, _ := owner.q.Refill()
		owner.took.add(0, n)
	}))
}

// TestModelStealChain checks that a thief fills the slots of its ring before one store
// publishes them to another thief.
func TestModelStealChain(t *testing.T) {
	interleave.Check(t, "runqueue-steal-chain", bounded(4), func(m *interleave.M) {
		ws := newWorkers(realQueue(), 3)
		nodes := make([]mpsc.Node, capacity)
		for i := range nodes {
			ws[0].q.Push(&nodes[i])
		}
		for k := 1; k <= 2; k++ {
			m.Go("thief", func() {
				n, _ := ws[k].op.stealFrom(ws[k].q, ws[k-1].q)
				ws[k].took.add(k, n)
			})
		}
		m.Final(func() {
			for i := range ws {
				ws[i].work(nil)
			}
			nothingLeft(m, ws, nodes)
		})
	})
}
