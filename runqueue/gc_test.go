package runqueue_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// TestQueueRetainsNothing checks that a taken node is collectable at once while the
// queues stay alive. The node takes every way through the queues.
func TestQueueRetainsNothing(t *testing.T) {
	anyNode := func(*mpsc.Node) bool { return true }
	for _, tc := range []struct {
		name string
		n    int // nodes pushed
		take func(q, other *runqueue.Queue) int
		want int // nodes that take returns, or -1: any number
	}{
		{"queued", capacity, func(_, _ *runqueue.Queue) int { return 0 }, 0},
		{"queued in overflow", 3 * capacity, func(_, _ *runqueue.Queue) int { return 0 }, 0},
		{"Pop", capacity, func(q, _ *runqueue.Queue) int { return pops(q) }, capacity},
		{"Refill", 2 * capacity, func(q, _ *runqueue.Queue) int {
			taken := pops(q)
			for n, _ := q.Refill(); n != nil; n, _ = q.Refill() {
				taken += 1 + pops(q)
			}
			return taken
		}, 2 * capacity},
		{"one Refill", 2 * capacity, func(q, _ *runqueue.Queue) int {
			taken := pops(q)
			q.Refill()
			return taken + 1
		}, -1},
		{"StealFrom", capacity, func(q, other *runqueue.Queue) int {
			other.StealFrom(q)
			return 1 + pops(other)
		}, half},
		{"TakeNewest", 4, func(q, _ *runqueue.Queue) int {
			q.TakeNewest(anyNode, 1)
			q.TakeNewest(anyNode, 1)
			return 2
		}, 2},
		{"TakeOverflow", capacity + 1, func(q, _ *runqueue.Queue) int {
			q.TakeOverflow()
			return 1
		}, 1},
		{"Drain", 2 * capacity, func(q, _ *runqueue.Queue) int {
			var l mpsc.List
			q.Drain(&l)
			return l.Len()
		}, 2 * capacity},
		{"StealAll", 2 * capacity, func(q, _ *runqueue.Queue) int {
			var l mpsc.List
			q.StealAll(&l)
			return l.Len()
		}, 2 * capacity},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, other := runqueue.NewQueueAt(nearWrap), runqueue.NewQueueAt(nearWrap)
			ptrs := make([]weak.Pointer[item], tc.n)
			for i := range ptrs {
				it := &item{seq: i}
				ptrs[i] = weak.Make(it)
				q.Push(&it.node)
			}
			taken := tc.take(q, other)
			if tc.want >= 0 && taken != tc.want {
				t.Fatalf("took %d nodes, want %d", taken, tc.want)
			}
			runtime.GC()
			runtime.GC()
			alive := 0
			for _, p := range ptrs {
				if p.Value() != nil {
					alive++
				}
			}
			if want := tc.n - taken; alive != want {
				t.Errorf("%d nodes are alive, want %d", alive, want)
			}
			runtime.KeepAlive(q)
			runtime.KeepAlive(other)
		})
	}
}

// pops takes all nodes of the ring and returns their number.
func pops(q *runqueue.Queue) (n int) {
	for q.Pop() != nil {
		n++
	}
	return n
}
