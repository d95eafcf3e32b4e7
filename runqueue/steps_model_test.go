//go:build interleave

package runqueue_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// A batchOp moves several nodes at once. They are in a prepared list or in a prepared
// queue.
type batchOp struct {
	name    string
	prepare func(q *runqueue.Queue, l *mpsc.List)
	run     func(q, own *runqueue.Queue, l *mpsc.List)
	moves   func(n int) int                                // of n nodes
	moved   func(q, own *runqueue.Queue, l *mpsc.List) int // by run
}

// steps runs prepare for n nodes. It then runs run if withRun is true. It returns the
// number of atomic operations and the number of nodes that run has moved.
func (o batchOp) steps(t *testing.T, n int, withRun bool) (steps, moved int) {
	t.Helper()
	r := interleave.Explore(interleave.Options{Preemptions: interleave.None}, func(m *interleave.M) {
		var q, own runqueue.Queue
		l := new(mpsc.List)
		for range n {
			l.Push(new(mpsc.Node))
		}
		m.Go("caller", func() {
			o.prepare(&q, l)
			if withRun {
				o.run(&q, &own, l)
			}
		})
		m.Final(func() { moved = o.moved(&q, &own, l) })
	})
	if r.Failure != nil || r.Executions != 1 {
		t.Fatalf("%s: %d executions, failure %v", o.name, r.Executions, r.Failure)
	}
	return r.Steps, moved
}

// TestModelBatchSteps checks that an operation on several nodes takes no more atomic
// operations than the same operation on one node. A further node costs accesses to
// plain memory only. A batch therefore divides its cost by the number of nodes. Z-003,
// Z-038, Z-098.
func TestModelBatchSteps(t *testing.T) {
	keep := func(*runqueue.Queue, *mpsc.List) {}
	ring := func(q *runqueue.Queue, l *mpsc.List) { q.PushList(l) }
	overflow := func(q *runqueue.Queue, l *mpsc.List) { q.PushOverflow(l) }
	steal := func(q, own *runqueue.Queue, _ *mpsc.List) { own.StealFrom(q) }
	all := func(n int) int { return n }
	toRing := func(q, _ *runqueue.Queue, _ *mpsc.List) int { return q.Len() }
	// The operation returns one more node.
	returnsOne := func(n int) int { return min(n, half) - 1 }
	for _, o := range []batchOp{
		{"push a list", keep, func(q, _ *runqueue.Queue, l *mpsc.List) { q.PushList(l) }, all, toRing},
		{"steal from the ring", ring, steal, func(n int) int { return (n+1)/2 - 1 }, func(_, own *runqueue.Queue, _ *mpsc.List) int { return own.Len() }},
		{"steal from the overflow queue", overflow, steal, returnsOne, func(_, own *runqueue.Queue, _ *mpsc.List) int { return own.Len() }},
		{"refill", overflow, func(q, _ *runqueue.Queue, _ *mpsc.List) { q.Refill() }, returnsOne, toRing},
		{"steal all", ring, func(q, _ *runqueue.Queue, l *mpsc.List) { q.StealAll(l) }, all, func(_, _ *runqueue.Queue, l *mpsc.List) int { return l.Len() }},
	} {
		one := 0
		for n := 1; n <= capacity; n++ {
			before, _ := o.steps(t, n, false)
			after, moved := o.steps(t, n, true)
			if moved != o.moves(n) {
				t.Errorf("%s: %d of %d nodes were moved, want %d", o.name, moved, n, o.moves(n))
			}
			if n == 1 {
				one = after - before
			}
			if got := after - before; got > one {
				t.Errorf("%s: %d atomic operations for %d nodes, and %d for one", o.name, got, n, one)
			}
		}
	}
}
