//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// queueOps holds the operations of a model. A test can replace one of them with a
// mutant.
type queueOps struct {
	refill    func(*runqueue.Queue) (*mpsc.Node, bool)
	stealFrom func(q, victim *runqueue.Queue) (*mpsc.Node, bool)
}

func realQueue() queueOps {
	return queueOps{
		refill:    (*runqueue.Queue).Refill,
		stealFrom: (*runqueue.Queue).StealFrom,
	}
}

// worker is a worker of a model: its queue and the nodes that it took.
type worker struct {
	op   queueOps
	q    *runqueue.Queue
	id   int
	took takes
}

func newWorkers(op queueOps, n int) []worker {
	ws := make([]worker, n)
	took := make(takes, n)
	for i := range ws {
		ws[i] = worker{op, runqueue.NewQueueAt(uint32(1<<32 - 2 - i)), i, took}
	}
	return ws
}

// dequeue takes one node in the order of a scheduler. It looks in the own ring, in the
// own overflow queue, and then at the victim.
func (w *worker) dequeue(victim *runqueue.Queue) (n *mpsc.Node, pushed bool) {
	if n = w.q.Pop(); n != nil {
		return n, false
	}
	if n, pushed = w.op.refill(w.q); n != nil || victim == nil {
		return n, pushed
	}
	return w.op.stealFrom(w.q, victim)
}

// work takes nodes until it finds none.
func (w *worker) work(victim *runqueue.Queue) {
	for {
		n, _ := w.dequeue(victim)
		if !w.took.add(w.id, n) {
			return
		}
	}
}

// search is the part of a notified worker. The worker takes one node and is busy with
// it for ever. When the take returns pushed, another worker would be notified. search
// then continues in the role of that worker until it finds no node.
func (w *worker) search(victim *runqueue.Queue) {
	n, pushed := w.dequeue(victim)
	if w.took.add(w.id, n) && pushed {
		w.work(victim)
	}
}

// spillModel runs an owner that pushes more nodes than its ring holds and takes all
// nodes again. Thieves steal at the same time. Z-037, Z-039, Z-041.
func spillModel(op queueOps, thieves int) func(m *interleave.M) {
	return func(m *interleave.M) {
		ws := newWorkers(op, 1+thieves)
		nodes := make([]mpsc.Node, capacity+3)
		owner := &ws[0]
		for i := range capacity - 1 {
			owner.q.Push(&nodes[i])
		}
		m.Go("owner", func() {
			for i := capacity - 1; i < len(nodes)-2; i++ {
				owner.q.Push(&nodes[i])
			}
			var l mpsc.List
			l.Push(&nodes[len(nodes)-2])
			l.Push(&nodes[len(nodes)-1])
			owner.q.PushList(&l)
			owner.work(nil)
		})
		for k := 1; k <= thieves; k++ {
			m.Go("thief", func() {
				n, _ := ws[k].op.stealFrom(ws[k].q, owner.q)
				if owner.took.add(k, n) {
					ws[k].work(nil)
				}
			})
		}
		m.Final(func() {
			owner.work(nil) // nodes that a thief put back after the owner had ended
			owner.took.check(m, nodes)
			for i := range ws {
				if !ws[i].q.Empty() {
					m.Fatalf("queue %d is not empty", i)
				}
			}
		})
	}
}

// overflowModel puts all nodes into the overflow queue of an owner, which refills while
// a thief steals. Each worker was notified once. The holder of the consumer token
// reports the nodes that it leaves. No node is therefore left at the end. Z-041, Z-055,
// B7.
func overflowModel(op queueOps) func(m *interleave.M) {
	return func(m *interleave.M) {
		ws := newWorkers(op, 3)
		nodes := make([]mpsc.Node, 3)
		owner := &ws[0]
		push := func(i int) {
			var l mpsc.List
			l.Push(&nodes[i])
			owner.q.PushOverflow(&l)
		}
		m.Go("owner", func() {
			push(0)
			owner.search(nil)
		})
		m.Go("thief", func() {
			ws[1].search(owner.q)
		})
		m.Go("external", func() {
			push(1)
			push(2)
			ws[2].search(owner.q)
		})
		m.Final(func() { nothingLeft(m, ws, nodes) })
	}
}

// stealNotifyModel is overflowModel for the ring. It has two nodes, two notified thieves,
// and an owner that pushes and pops.
func stealNotifyModel(op queueOps) func(m *interleave.M) {
	return func(m *interleave.M) {
		ws := newWorkers(op, 3)
		nodes := make([]mpsc.Node, 3)
		owner := &ws[0]
		owner.q.Push(&nodes[0])
		owner.q.Push(&nodes[1])
		for k := 1; k <= 2; k++ {
			m.Go("thief", func() { ws[k].search(owner.q) })
		}
		m.Go("owner", func() {
			owner.q.Push(&nodes[2])
			owner.took.add(0, owner.q.Pop())
		})
		m.Final(func() { nothingLeft(m, ws, nodes) })
	}
}

// nothingLeft fails the execution unless every queue is empty and every node was taken
// exactly once.
func nothingLeft(m *interleave.M, ws []worker, nodes []mpsc.Node) {
	for i := range ws {
		if !ws[i].q.Empty() {
			m.Fatalf("a node is left in queue %d after every notification was answered", i)
		}
	}
	ws[0].took.check(m, nodes)
}

// newestQueueModel runs an owner that takes the newest node of its queue and overflows
// the ring. A thief steals at the same time.
func newestQueueModel(m *interleave.M) {
	ws := newWorkers(realQueue(), 2)
	nodes := make([]mpsc.Node, capacity+2)
	owner := &ws[0]
	for i := range capacity {
		owner.q.Push(&nodes[i])
	}
	m.Go("owner", func() {
		owner.took.add(0, owner.q.TakeNewest(func(n *mpsc.Node) bool { return n == &nodes[capacity-2] }, 3))
		owner.q.Push(&nodes[capacity])
		owner.q.Push(&nodes[capacity+1])
		owner.work(nil)
	})
	m.Go("thief", func() {
		n, _ := ws[1].op.stealFrom(ws[1].q, owner.q)
		if owner.took.add(1, n) {
			ws[1].work(nil)
		}
	})
	m.Final(func() {
		owner.work(nil)
		nothingLeft(m, ws, nodes)
	})
}

// drainModel runs Drain by the owner, StealAll by another goroutine, and a steal by a
// thief. All three use one queue.
func drainModel(m *interleave.M) {
	ws := newWorkers(realQueue(), 2)
	nodes := make([]mpsc.Node, capacity+2)
	owner, thief := &ws[0], &ws[1]
	for i := range nodes {
		owner.q.Push(&nodes[i])
	}
	var drained, stolen mpsc.List
	m.Go("owner", func() { owner.q.Drain(&drained) })
	m.Go("closer", func() { owner.q.StealAll(&stolen) })
	m.Go("thief", func() {
		n, _ := thief.op.stealFrom(thief.q, owner.q)
		owner.took.add(1, n)
	})
	m.Final(func() {
		for i := range ws { // nodes that another goroutine held are left for the next Drain
			if !ws[i].q.Drain(&drained) {
				m.Fatalf("queue %d is held after all threads have ended", i)
			}
		}
		owner.took.all(0, drained.Pop)
		owner.took.all(0, stolen.Pop)
		nothingLeft(m, ws, nodes)
	})
}

// TestModelSpill checks that spills and refills lose and double no node while two
// thieves steal. Z-037, Z-039, Z-041.
func TestModelSpill(t *testing.T) {
	interleave.Check(t, "runqueue-spill", bounded(2), spillModel(realQueue(), 2))
}

// TestModelSpillOne checks that spills and refills lose and double no node while one
// thief steals. Its bound is higher.
func TestModelSpillOne(t *testing.T) {
	interleave.Check(t, "runqueue-spill-one", bounded(4), spillModel(realQueue(), 1))
}

// TestModelOverflow checks that no node is left in an overflow queue. Other goroutines
// push to it while its owner refills and a thief steals. Z-041, Z-055.
func TestModelOverflow(t *testing.T) {
	interleave.Check(t, "runqueue-overflow", bounded(3), overflowModel(realQueue()))
}

// TestModelStealNotifies checks that two thieves of one ring report every node that
// they leave. Z-055, Z-057.
func TestModelStealNotifies(t *testing.T) {
	interleave.Check(t, "runqueue-notify", bounded(3), stealNotifyModel(realQueue()))
}

// TestModelQueueNewest checks that TakeNewest, a spill and a refill lose and double no
// node while a thief steals.
func TestModelQueueNewest(t *testing.T) {
	interleave.Check(t, "runqueue-newest", bounded(3), newestQueueModel)
}

// TestModelDrain checks that Drain, StealAll and a steal from one queue take each node
// exactly once.
func TestModelDrain(t *testing.T) {
	interleave.Check(t, "runqueue-drain", bounded(3), drainModel)
}

// TestModelQueueFindsPlantedBugs checks that each planted bug is found by its model.
func TestModelQueueFindsPlantedBugs(t *testing.T) {
	op := realQueue()
	op.stealFrom = (*runqueue.Queue).StealFromSilent
	mustFind(t, "a thief that does not report the nodes that it leaves", stealNotifyModel(op))
	op = realQueue()
	op.refill = (*runqueue.Queue).RefillSilent
	mustFind(t, "a refill that does not report the nodes that it leaves", overflowModel(op))
}
