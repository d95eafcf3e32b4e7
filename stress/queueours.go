package stress

import (
	"fmt"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// queueItem is what our queues hold in the laws: a node first, as in a task.
type queueItem struct {
	node  mpsc.Node
	value uint64
}

func queueNode(v uint64) *mpsc.Node { return &(&queueItem{value: v}).node }

func queueNodes(vs []uint64) (l *mpsc.List) {
	l = new(mpsc.List)
	for _, v := range vs {
		l.Push(queueNode(v))
	}
	return l
}

// queuePopped is the result of a Pop that took n.
func queuePopped(n *mpsc.Node) (uint64, bool) {
	if n == nil {
		return 0, false
	}
	return queueItemOf(n).value, true
}

// Overflow returns [mpsc.Queue], whose consumers all pop in the order o and take
// the consumer token for each Pop.
func Overflow(o mpsc.Order) QueueKind {
	return QueueKind{
		Name: fmt.Sprintf("mpsc.Queue, %v", o),
		New:  func(QueueShape) Queue { return &queueOverflow{order: o} },
		FIFO: o == mpsc.FIFO,
	}
}

type queueOverflow struct {
	q     mpsc.Queue
	order mpsc.Order
}

func (q *queueOverflow) Producer(int) Producer { return q }
func (q *queueOverflow) Consumer(int) Consumer { return q }

func (q *queueOverflow) Push(v uint64) bool { return q.q.Push(queueNode(v)) }

func (q *queueOverflow) PushAll(vs []uint64) int {
	if !q.q.PushList(queueNodes(vs)) {
		return 0
	}
	return len(vs)
}

func (q *queueOverflow) Pop() (uint64, bool) {
	var c mpsc.Consumer
	if q.q.TryAcquire(&c, q.order) != mpsc.Acquired {
		return 0, false
	}
	defer c.Release() // nobody parks: consumers come back
	return queuePopped(c.Pop())
}

func (q *queueOverflow) Close() (left []uint64) {
	var l mpsc.List
	q.q.Seal(&l)
	for n := l.Pop(); n != nil; n = l.Pop() {
		left = append(left, queueItemOf(n).value)
	}
	return left
}

// Ring returns [runqueue.Ring] with its owner. The other consumers steal from it
// into rings of their own.
func Ring() QueueKind {
	return QueueKind{
		Name:         "runqueue.Ring",
		New:          func(s QueueShape) Queue { return &queueRings{make([]runqueue.Ring, s.Consumers)} },
		MaxProducers: 1,
		Owned:        true,
		FIFO:         true,
		Capacity:     runqueue.Capacity,
	}
}

type queueRings struct{ rings []runqueue.Ring }

func (q *queueRings) Producer(i int) Producer { return queueRing{q, i} }
func (q *queueRings) Consumer(i int) Consumer { return queueRing{q, i} }

// queueRing is the owner's side of one ring.
type queueRing struct {
	q *queueRings
	i int
}

func (r queueRing) Push(v uint64) bool { return r.q.rings[r.i].Push(queueNode(v)) }

func (r queueRing) PushAll(vs []uint64) int { return r.q.rings[r.i].PushList(queueNodes(vs)) }

// Pop steals when the own ring is empty, and from the first ring only: two
// thieves that steal from each other would get older values after newer ones.
func (r queueRing) Pop() (uint64, bool) {
	own := &r.q.rings[r.i]
	n := own.Pop()
	if n == nil && r.i > 0 {
		n, _, _ = r.q.rings[0].StealInto(own)
	}
	return queuePopped(n)
}

// RunQueue returns [runqueue.Queue], one for each consumer, beside an injection
// queue, used as a scheduler uses them. Producers are workers that push to their
// run queue, to its overflow queue, and to the injection queue.
func RunQueue() QueueKind {
	return QueueKind{
		Name:  "runqueue.Queue",
		New:   func(s QueueShape) Queue { return &queueRunQueues{workers: make([]runqueue.Queue, s.Consumers)} },
		Owned: true,
	}
}

type queueRunQueues struct {
	injection mpsc.Queue
	workers   []runqueue.Queue
}

func (q *queueRunQueues) Producer(i int) Producer { return queueWorker{q, i} }
func (q *queueRunQueues) Consumer(i int) Consumer { return queueWorker{q, i} }

// queueWorker is the owner of one run queue.
type queueWorker struct {
	q *queueRunQueues
	i int
}

func (w queueWorker) Push(v uint64) bool {
	if v>>16%8 == 0 {
		return w.q.injection.Push(queueNode(v))
	}
	w.q.workers[w.i].Push(queueNode(v))
	return true
}

func (w queueWorker) PushAll(vs []uint64) int {
	l := queueNodes(vs)
	if own := &w.q.workers[w.i]; len(vs)%2 == 0 {
		own.PushOverflow(l)
	} else {
		own.PushList(l)
	}
	return len(vs)
}

func (w queueWorker) Pop() (uint64, bool) {
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
	return queuePopped(n)
}
