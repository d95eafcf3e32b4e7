package queuelaw

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// item is what the adapters queue. The node is the first field, as in a task.
type item struct {
	node  mpsc.Node
	value uint64
}

func nodeOf(v uint64) *mpsc.Node { return &(&item{value: v}).node }

func listOf(vs []uint64) (l *mpsc.List) {
	l = new(mpsc.List)
	for _, v := range vs {
		l.Push(nodeOf(v))
	}
	return l
}

// valueOfNode returns what Pop returns for a node.
func valueOfNode(n *mpsc.Node) (uint64, bool) {
	if n == nil {
		return 0, false
	}
	return itemOf(n).value, true
}

// MPSC returns the kind of [mpsc.Queue]. All consumers pop in the order o and take the
// consumer token for each Pop.
func MPSC(o mpsc.Order) Kind {
	return Kind{
		Name: fmt.Sprintf("mpsc.Queue, %v", o),
		New:  func(Shape) Queue { return &mpscAdapter{order: o} },
		FIFO: o == mpsc.FIFO,
	}
}

type mpscAdapter struct {
	q     mpsc.Queue
	order mpsc.Order
}

func (q *mpscAdapter) Producer(int) Producer { return q }
func (q *mpscAdapter) Consumer(int) Consumer { return q }

func (q *mpscAdapter) Push(v uint64) bool { return q.q.Push(nodeOf(v)) }

func (q *mpscAdapter) PushAll(vs []uint64) int {
	if !q.q.PushList(listOf(vs)) {
		return 0
	}
	return len(vs)
}

func (q *mpscAdapter) Pop() (uint64, bool) {
	var c mpsc.Consumer
	if q.q.TryAcquire(&c, q.order) != mpsc.Acquired {
		return 0, false
	}
	defer c.Release() // its result is not needed: consumers do not park
	return valueOfNode(c.Pop())
}

func (q *mpscAdapter) Close() (rest []uint64) {
	var l mpsc.List
	q.q.Seal(&l)
	for n := l.Pop(); n != nil; n = l.Pop() {
		rest = append(rest, itemOf(n).value)
	}
	return rest
}

// Ring returns the kind of [runqueue.Ring] with its owner. The other consumers steal
// from the ring of the owner into rings of their own.
func Ring() Kind {
	return Kind{
		Name:         "runqueue.Ring",
		New:          func(s Shape) Queue { return &ringAdapter{make([]runqueue.Ring, s.Consumers)} },
		MaxProducers: 1,
		Owned:        true,
		FIFO:         true,
		Capacity:     runqueue.Capacity,
	}
}

type ringAdapter struct{ rings []runqueue.Ring }

func (q *ringAdapter) Producer(i int) Producer { return ringHandle{q, i} }
func (q *ringAdapter) Consumer(i int) Consumer { return ringHandle{q, i} }

// ringHandle is the owner of one ring.
type ringHandle struct {
	q *ringAdapter
	i int
}

func (r ringHandle) Push(v uint64) bool { return r.q.rings[r.i].Push(nodeOf(v)) }

func (r ringHandle) PushAll(vs []uint64) int { return r.q.rings[r.i].PushList(listOf(vs)) }

// Pop steals when its own ring is empty, and only from the first ring: two thieves that
// steal from each other would pop older values after newer ones.
func (r ringHandle) Pop() (uint64, bool) {
	own := &r.q.rings[r.i]
	n := own.Pop()
	if n == nil && r.i > 0 {
		n, _, _ = r.q.rings[0].StealInto(own)
	}
	return valueOfNode(n)
}

// RunQueue returns the kind of [runqueue.Queue], used as a scheduler uses it: each
// consumer has a run queue, and all share an injection queue. A producer is a worker
// that pushes to its run queue, to its overflow queue, and to the injection queue.
func RunQueue() Kind {
	return Kind{
		Name:  "runqueue.Queue",
		New:   func(s Shape) Queue { return &runQueueAdapter{workers: make([]runqueue.Queue, s.Consumers)} },
		Owned: true,
	}
}

type runQueueAdapter struct {
	injection mpsc.Queue
	workers   []runqueue.Queue
}

func (q *runQueueAdapter) Producer(i int) Producer { return runQueueHandle{q, i} }
func (q *runQueueAdapter) Consumer(i int) Consumer { return runQueueHandle{q, i} }

// runQueueHandle is the owner of one run queue.
type runQueueHandle struct {
	q *runQueueAdapter
	i int
}

func (w runQueueHandle) Push(v uint64) bool {
	if v>>16%8 == 0 {
		return w.q.injection.Push(nodeOf(v))
	}
	w.q.workers[w.i].Push(nodeOf(v))
	return true
}

func (w runQueueHandle) PushAll(vs []uint64) int {
	l := listOf(vs)
	if own := &w.q.workers[w.i]; len(vs)%2 == 0 {
		own.PushOverflow(l)
	} else {
		own.PushList(l)
	}
	return len(vs)
}

func (w runQueueHandle) Pop() (uint64, bool) {
	own := &w.q.workers[w.i]
	n := own.Pop()
	if n == nil {
		n, _ = own.Refill()
	}
	if n == nil {
		n, _ = own.RefillFrom(&w.q.injection, mpsc.FIFO)
	}
	for i := 1; n == nil && i < len(w.q.workers); i++ {
		n, _ = own.StealFrom(&w.q.workers[(w.i+i)%len(w.q.workers)])
	}
	return valueOfNode(n)
}
