//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// queueOps are the operations of a model, so that a mutant can take the place of
// one.
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

// A worker of a model: its queue, and what it took.
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

// dequeue takes one node, in the order of a scheduler: own ring, own overflow
// queue, then the victim.
func (w *worker) dequeue(victim *runqueue.Queue) (n *mpsc.Node, pushed bool) {
	if n = w.q.Pop(); n != nil {
		return n, false
	}
	if n, pushed = w.op.refill(w.q); n != nil || victim == nil {
		return n, pushed
	}
	return w.op.stealFrom(w.q, victim)
}

// work takes nodes until there are none for it.
func (w *worker) work(victim *runqueue.Queue) {
	for {
		n, _ := w.dequeue(victim)
		if !w.took.add(w.id, n) {
			return
		}
	}
}

// search is what a worker does that was told of work: it takes one node, and is
// busy with it for good, unless it learns that there is more to be told of. Then
// it goes on, in the place of the worker that would be told, until there is none
// for it.
func (w *worker) search(victim *runqueue.Queue) {
	n, pushed := w.dequeue(victim)
	if w.took.add(w.id, n) && pushed {
		w.work(victim)
	}
}

// spillModel: the owner pushes more than its ring holds and takes all of it
// again, while thieves steal: Z-037, Z-039, Z-041.
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
			owner.work(nil) // what a thief put back after the owner had left
			owner.took.check(m, nodes)
			for i := range ws {
				if !ws[i].q.Empty() {
					m.Fatalf("queue %d is not empty", i)
				}
			}
		})
	}
}

// overflowModel: all nodes lie in the overflow queue of the owner, who refills
// while a thief steals. Everybody was told once. Whoever had the consumer token
// tells what is left, so that nothing is left in the end: Z-041, Z-055, B7.
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
		m.Go("outside", func() {
			push(1)
			push(2)
			ws[2].search(owner.q)
		})
		m.Final(func() { nothingLeft(m, ws, nodes) })
	}
}

// ringToldModel is overflowModel for the ring: two nodes, two thieves that were
// told, and an owner who pushes and pops.
func ringToldModel(op queueOps) func(m *interleave.M) {
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

// nothingLeft fails the execution unless every node was taken once.
func nothingLeft(m *interleave.M, ws []worker, nodes []mpsc.Node) {
	for i := range ws {
		if !ws[i].q.Empty() {
			m.Fatalf("a node is left in queue %d that nobody was told about", i)
		}
	}
	ws[0].took.check(m, nodes)
}

// newestQueueModel: a worker helps itself to the newest node of its queue while the
// ring overflows and a thief steals.
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

// drainModel: the owner's queue is emptied by its owner while another takes what
// it can get, and a thief steals.
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
		for i := range ws { // what was out of reach is where the next one finds it
			if !ws[i].q.Drain(&drained) {
				m.Fatalf("queue %d is held, and nobody is there", i)
			}
		}
		owner.took.all(0, drained.Pop)
		owner.took.all(0, stolen.Pop)
		nothingLeft(m, ws, nodes)
	})
}

// TestModelSpill: overflow and refill against two thieves: Z-037, Z-039, Z-041.
func TestModelSpill(t *testing.T) {
	interleave.Check(t, "runqueue-spill", bounded(3), spillModel(realQueue(), 2))
}

// TestModelSpillOne: the same with one thief and a higher bound.
func TestModelSpillOne(t *testing.T) {
	interleave.Check(t, "runqueue-spill-one", bounded(4), spillModel(realQueue(), 1))
}

// TestModelOverflow: stealing from an overflow queue while others push to it and
// its owner refills: Z-041, Z-055.
func TestModelOverflow(t *testing.T) {
	interleave.Check(t, "runqueue-overflow", bounded(3), overflowModel(realQueue()))
}

// TestModelStealTold: two thieves of one ring leave nothing that nobody was told
// about: Z-055, Z-057.
func TestModelStealTold(t *testing.T) {
	interleave.Check(t, "runqueue-told", bounded(3), ringToldModel(realQueue()))
}

// TestModelQueueNewest: TakeNewest, a spill, a refill and a thief.
func TestModelQueueNewest(t *testing.T) {
	interleave.Check(t, "runqueue-newest", bounded(3), newestQueueModel)
}

// TestModelDrain: the close path.
func TestModelDrain(t *testing.T) {
	interleave.Check(t, "runqueue-drain", bounded(3), drainModel)
}

// TestModelQueueMutants: each planted bug is found by the model that is there for
// it.
func TestModelQueueMutants(t *testing.T) {
	op := realQueue()
	op.stealFrom = (*runqueue.Queue).StealFromSilent
	mustFind(t, "a thief that does not tell what it leaves", ringToldModel(op))
	op = realQueue()
	op.refill = (*runqueue.Queue).RefillSilent
	mustFind(t, "a refill that does not tell what it leaves", overflowModel(op))
}
