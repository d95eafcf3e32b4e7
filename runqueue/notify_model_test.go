//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
)

// publishModel: the owner of a queue makes three nodes visible in its ring, in
// one step, while a thief steals from it. The nodes are there when they are seen,
// and each is taken once.
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

func chainOf(nodes []mpsc.Node) *mpsc.List {
	l := new(mpsc.List)
	for i := range nodes {
		l.Push(&nodes[i])
	}
	return l
}

// TestModelPushAll: several nodes are pushed with one store.
func TestModelPushAll(t *testing.T) {
	interleave.Check(t, "runqueue-push-all", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushAll([]*mpsc.Node{&nodes[0], &nodes[1], &nodes[2]})
	}))
}

// TestModelPushList: so is a list.
func TestModelPushList(t *testing.T) {
	interleave.Check(t, "runqueue-push-list", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushList(chainOf(nodes))
	}))
}

// TestModelRefillChain: a thief steals from a ring that is being refilled.
func TestModelRefillChain(t *testing.T) {
	interleave.Check(t, "runqueue-refill-chain", bounded(4), publishModel(func(owner *worker, nodes []mpsc.Node) {
		owner.q.PushOverflow(chainOf(nodes))
		n, _ := owner.q.Refill()
		owner.took.add(0, n)
	}))
}

// TestModelStealChain: a thief steals from a thief.
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
