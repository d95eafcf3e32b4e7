//go:build interleave

package mpsc_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
)

// ops holds the operations of a model. A test can replace one of them with a mutant.
type ops struct {
	push    func(*mpsc.Queue, *mpsc.Node) bool
	acquire func(*mpsc.Queue, *mpsc.Consumer, mpsc.Order) mpsc.Status
	pop     func(*mpsc.Consumer) *mpsc.Node
	release func(*mpsc.Consumer) bool
	listAdd func(*mpsc.List, *mpsc.Node)
}

func realOps() ops {
	return ops{
		push:    (*mpsc.Queue).Push,
		acquire: (*mpsc.Queue).TryAcquire,
		pop:     (*mpsc.Consumer).Pop,
		release: (*mpsc.Consumer).Release,
		listAdd: (*mpsc.List).Push,
	}
}

// everything explores all interleavings.
var everything = interleave.Options{Preemptions: interleave.All, Reduce: true}

// bounded explores all interleavings of up to n preemptions. In short mode it is one
// less.
func bounded(n int) interleave.Options {
	if testing.Short() {
		n--
	}
	return interleave.Options{Preemptions: n}
}

// mustFind fails t unless an exploration of a program with a planted bug fails.
func mustFind(t *testing.T, bug string, o interleave.Options, body func(m *interleave.M)) {
	t.Helper()
	r := interleave.Explore(o, body)
	if r.Failure == nil {
		t.Errorf("%s: not found in %d executions, complete=%v", bug, r.Executions, r.Complete)
		return
	}
	t.Logf("%s: found after %d executions: %v", bug, r.Executions, r.Failure.Message)
}

// serve pops at most visit nodes at a time until the queue is empty or another
// consumer holds the token.
func (op ops) serve(q *mpsc.Queue, o mpsc.Order, visit int, take func(*mpsc.Node)) {
	for {
		var c mpsc.Consumer
		if op.acquire(q, &c, o) != mpsc.Acquired {
			return
		}
		for range visit {
			n := op.pop(&c)
			if n == nil {
				break
			}
			take(n)
		}
		if !op.release(&c) {
			return
		}
	}
}

// takes holds the nodes that each thread of a model took. Each thread has one slice.
type takes [][]*mpsc.Node

func (ts takes) by(thread int) func(*mpsc.Node) {
	return func(n *mpsc.Node) { ts[thread] = append(ts[thread], n) }
}

// check fails the execution unless each of the nodes was taken exactly once.
func (ts takes) check(m *interleave.M, nodes []mpsc.Node) {
	for i := range nodes {
		if got := ts.count(&nodes[i]); got != 1 {
			m.Fatalf("node %d was taken %d times", i, got)
		}
	}
}

// count returns the number of times that n was taken.
func (ts takes) count(n *mpsc.Node) (times int) {
	for _, list := range ts {
		for _, x := range list {
			if x == n {
				times++
			}
		}
	}
	return times
}

// queueModel runs producers that push and then serve the queue. Its consumers serve the
// queue at any time. Every node is taken exactly once. The queue is empty after all
// threads have ended, because every Release that returned true was answered.
func queueModel(op ops, o mpsc.Order, producers, consumers, visit int) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := new(mpsc.Queue)
		nodes := make([]mpsc.Node, producers)
		took := make(takes, producers+consumers)
		for i := range producers {
			m.Go("producer", func() {
				op.push(q, &nodes[i])
				op.serve(q, o, visit, took.by(i))
			})
		}
		for i := range consumers {
			m.Go("consumer", func() { op.serve(q, o, visit, took.by(producers+i)) })
		}
		m.Final(func() {
			if !q.Empty() {
				m.Fatalf("a node is left after every Release that returned true was answered")
			}
			took.check(m, nodes)
		})
	}
}

// TestModelQueue checks that each node is taken exactly once and that none is left. The
// bounded model has two producers and two consumers. The complete one has one consumer
// less. Z-042, Z-043, Z-045, Z-049, Z-054, B7.
func TestModelQueue(t *testing.T) {
	interleave.Check(t, "mpsc-queue", bounded(3), queueModel(realOps(), mpsc.LIFO, 2, 2, 1))
	interleave.Check(t, "mpsc-queue-all", everything, queueModel(realOps(), mpsc.FIFO, 2, 1, 1))
	if invariant.Enabled {
		for _, mark := range []string{"mpsc: TryAcquire: lost the token", "mpsc: Pop: grab retried"} {
			if invariant.Count(mark) == 0 {
				t.Errorf("the model never reached %q", mark)
			}
		}
	}
}

// listModel pushes lists and single nodes through FIFO consumers. The nodes of each
// producer are popped in order. Another push never divides a list.
func listModel(op ops) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := new(mpsc.Queue)
		nodes := make([]mpsc.Node, 5)
		took := make(takes, 3)
		m.Go("lists", func() {
			for i := 0; i < 4; i += 2 {
				var l mpsc.List
				op.listAdd(&l, &nodes[i])
				op.listAdd(&l, &nodes[i+1])
				q.PushList(&l)
			}
			op.serve(q, mpsc.FIFO, 9, took.by(0))
		})
		m.Go("single", func() {
			op.push(q, &nodes[4])
			op.serve(q, mpsc.FIFO, 9, took.by(1))
		})
		m.Go("consumer", func() { op.serve(q, mpsc.FIFO, 9, took.by(2)) })
		m.Final(func() {
			took.check(m, nodes)
			for _, list := range took { // each slice is in the order of the pops
				last := -1
				for _, n := range list {
					for i := range 4 {
						if n == &nodes[i] {
							if i < last {
								m.Fatalf("node %d came after node %d", i, last)
							}
							last = i
						}
					}
				}
			}
		})
	}
}

// TestModelList checks that the nodes of a list keep their order when a grab is
// reversed.
func TestModelList(t *testing.T) {
	interleave.Check(t, "mpsc-list", bounded(4), listModel(realOps()))
}

// moveModel runs consumers that move popped nodes to lists of their own. They move one
// node at a time and pop the lists again, as a refill does. Z-052, B4.
func moveModel(op ops) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := new(mpsc.Queue)
		nodes := make([]mpsc.Node, 2)
		took := make(takes, 3)
		move := func(take func(*mpsc.Node)) func(*mpsc.Node) {
			return func(n *mpsc.Node) {
				var l mpsc.List
				op.listAdd(&l, n)
				for x := l.Pop(); x != nil; x = l.Pop() {
					take(x)
				}
			}
		}
		for i := range nodes {
			m.Go("producer", func() {
				op.push(q, &nodes[i])
				op.serve(q, mpsc.LIFO, 1, move(took.by(i)))
			})
		}
		m.Final(func() { took.check(m, nodes) })
	}
}

// TestModelMove checks that a popped node brings no other node with it into the next
// list. B4.
func TestModelMove(t *testing.T) {
	interleave.Check(t, "mpsc-move", everything, moveModel(realOps()))
}

// sealModel seals a queue while producers push and a consumer pops. Every node is
// refused, taken, returned by Seal, or still queued. No push succeeds after the seal.
func sealModel(op ops) func(m *interleave.M) {
	return func(m *interleave.M) {
		q := new(mpsc.Queue)
		nodes := make([]mpsc.Node, 4)
		took := make(takes, 4) // consumer, sealer, refused nodes of each producer
		for p := range 2 {
			m.Go("producer", func() {
				refused := false
				for i := range 2 {
					n := &nodes[2*p+i]
					ok := op.push(q, n)
					if refused && ok {
						m.Fatalf("a push succeeded after one was refused")
					}
					if !ok {
						refused = true
						took.by(2 + p)(n)
					}
				}
			})
		}
		m.Go("consumer", func() { op.serve(q, mpsc.LIFO, 1, took.by(0)) })
		m.Go("sealer", func() {
			var l mpsc.List
			if !q.Seal(&l) {
				m.Fatalf("Seal = false")
			}
			for n := l.Pop(); n != nil; n = l.Pop() {
				took.by(1)(n)
			}
		})
		m.Final(func() {
			op.serve(q, mpsc.LIFO, 9, took.by(0))
			took.check(m, nodes)
			if q.Push(new(mpsc.Node)) {
				m.Fatalf("a push succeeded after the seal")
			}
		})
	}
}

// TestModelSeal checks that each push has one outcome when a seal races with producers
// and a consumer.
func TestModelSeal(t *testing.T) {
	interleave.Check(t, "mpsc-seal", bounded(4), sealModel(realOps()))
}

// TestModelQueueCrash checks that producers and other consumers never wait for a
// consumer that stops for ever at any step. Z-035, Z-036.
func TestModelQueueCrash(t *testing.T) {
	op := realOps()
	o := bounded(4)
	o.Crash = "crasher"
	interleave.Check(t, "mpsc-crash", o, func(m *interleave.M) {
		q := new(mpsc.Queue)
		nodes := make([]mpsc.Node, 2)
		took := make(takes, 3)
		m.Go("crasher", func() { op.serve(q, mpsc.LIFO, 1, took.by(0)) })
		for i := range nodes {
			m.Go("producer", func() {
				var l mpsc.List
				op.listAdd(&l, &nodes[i])
				if i == 0 && !op.push(q, l.Pop()) || i == 1 && !q.PushList(&l) {
					m.Fatalf("the push was refused")
				}
				op.serve(q, mpsc.LIFO, 1, took.by(1+i))
			})
		}
		m.Final(func() {
			for i := range nodes {
				if n := took.count(&nodes[i]); n > 1 {
					m.Fatalf("node %d was taken %d times", i, n)
				}
			}
		})
	})
}

// TestModelEmptyQueueLoads checks that the operations on an empty queue only load. A
// consumer holds the token or none does. The explorer leaves out executions that differ
// in the order of two loads. Two goroutines that only load therefore have one
// execution. Z-044, Z-053.
func TestModelEmptyQueueLoads(t *testing.T) {
	executions := func(name string, body func(m *interleave.M, q *mpsc.Queue)) {
		t.Helper()
		r := interleave.Explore(everything, func(m *interleave.M) {
			q := new(mpsc.Queue)
			body(m, q)
			m.Go("looks", func() { q.Empty(); q.Available(); q.Quiet() })
		})
		if r.Failure != nil {
			t.Fatal(r.Failure)
		}
		if r.Executions != 1 {
			t.Errorf("%s: %d executions, so an operation on an empty queue writes", name, r.Executions)
		}
	}
	executions("acquire", func(m *interleave.M, q *mpsc.Queue) {
		for range 2 {
			m.Go("acquires", func() {
				var c mpsc.Consumer
				q.TryAcquire(&c, mpsc.LIFO)
			})
		}
	})
	executions("pop", func(m *interleave.M, q *mpsc.Queue) {
		var c mpsc.Consumer
		q.Push(new(mpsc.Node))
		q.TryAcquire(&c, mpsc.LIFO) // the token of an empty queue is not taken
		c.Pop()
		m.Go("pops", func() {
			if c.Pop() != nil || c.More() {
				m.Fatalf("the queue is not empty")
			}
		})
	})
}

// TestModelQueueFindsPlantedBugs checks that each planted bug is found by its model.
func TestModelQueueFindsPlantedBugs(t *testing.T) {
	with := func(change func(*ops)) ops {
		op := realOps()
		change(&op)
		return op
	}
	queue := func(visit int, change func(*ops)) func(*interleave.M) {
		return queueModel(with(change), mpsc.LIFO, 2, 1, visit)
	}
	for _, tc := range []struct {
		bug  string
		body func(*interleave.M)
	}{
		{"release without a load of head", queue(2, func(op *ops) { op.release = (*mpsc.Consumer).ReleaseUnchecked })},
		{"load of head before the release", queue(2, func(op *ops) { op.release = (*mpsc.Consumer).ReleaseEarly })},
		{"cache written after the release", queue(1, func(op *ops) { op.release = (*mpsc.Consumer).ReleaseCacheLate })},
		{"push stores head", queue(1, func(op *ops) { op.push = (*mpsc.Queue).PushStore })},
		{"token taken by a store", queue(1, func(op *ops) { op.acquire = (*mpsc.Queue).TryAcquireStore })},
		{"stale link on a second push", moveModel(with(func(op *ops) {
			op.pop = (*mpsc.Consumer).PopLinked
			op.listAdd = (*mpsc.List).PushLinked
		}))},
		{"grab opens a sealed queue", sealModel(with(func(op *ops) { op.pop = (*mpsc.Consumer).PopSwap }))},
	} {
		mustFind(t, tc.bug, everything, tc.body)
	}
}

// TestModelAvailable checks that a goroutine does not miss the nodes that a consumer
// leaves when it searches once more by Available before it parks. Either Available
// returns true, or the consumer sees the parked goroutine after its Release.
func TestModelAvailable(t *testing.T) {
	interleave.Check(t, "mpsc-available", everything, func(m *interleave.M) {
		var q mpsc.Queue
		var parked atomix.Bool
		searched, woken := false, false
		for range 3 {
			q.Push(new(mpsc.Node))
		}
		m.Go("consumer", func() {
			for range 2 { // the first grabs, the second takes from the cache
				var c mpsc.Consumer
				if q.TryAcquire(&c, mpsc.FIFO) != mpsc.Acquired {
					m.Fatalf("the only consumer got no token")
				}
				c.Pop()
				if c.Release() && parked.Load() {
					woken = true
				}
			}
		})
		m.Go("searcher", func() {
			parked.Store(true)
			searched = q.Available()
		})
		m.Final(func() {
			if !searched && !woken {
				m.Fatalf("the searcher is parked, and a node is queued")
			}
		})
	})
}

// TestModelEmpty checks that TryAcquire returns Empty only for a queue that was empty.
// A consumer takes one of two nodes in between and leaves the other.
func TestModelEmpty(t *testing.T) {
	interleave.Check(t, "mpsc-empty", everything, func(m *interleave.M) {
		var q mpsc.Queue
		q.Push(new(mpsc.Node))
		q.Push(new(mpsc.Node))
		m.Go("consumer", func() {
			var c mpsc.Consumer
			if q.TryAcquire(&c, mpsc.FIFO) == mpsc.Acquired {
				c.Pop()
				c.Release()
			}
		})
		m.Go("other", func() {
			var c mpsc.Consumer
			switch q.TryAcquire(&c, mpsc.FIFO) {
			case mpsc.Empty:
				m.Fatalf("TryAcquire = empty after at most one pop from a queue of two nodes")
			case mpsc.Acquired:
				if !c.More() || c.Pop() == nil {
					m.Fatalf("the consumer holds the token and found no node")
				}
				c.Release()
			}
		})
	})
}
