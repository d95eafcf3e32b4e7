package runqueue_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// The bad inputs of docs/VERIFICATION.md that concern the run queue.

// beforeWrap calls fn with every index from which one or two fills of the ring pass
// 2^32, and with the first one after it.
func beforeWrap(t *testing.T, fn func(t *testing.T, start uint32)) {
	t.Helper()
	for k := range uint32(2*capacity + 1) {
		t.Run(fmt.Sprintf("2^32-%d", k), func(t *testing.T) { fn(t, -k) })
		if t.Failed() {
			return
		}
	}
}

// TestRingAtEveryWrap runs all that a ring does from each index close to the wrap,
// against slices. V-15a.
func TestRingAtEveryWrap(t *testing.T) {
	beforeWrap(t, func(t *testing.T, start uint32) {
		t.Helper()
		r, thief := runqueue.NewRingAt(start), runqueue.NewRingAt(start+half)
		its := newItems(capacity)
		next := 0
		push := func() bool { ok := r.Push(&its[next%capacity].node); next++; return ok }
		var got []int
		pop := func(n int) {
			for range n {
				got = append(got, itemOf(r.Pop()).seq)
			}
		}
		for range capacity {
			if !push() {
				t.Fatalf("Push = false with %d nodes", r.Len())
			}
		}
		if push() || r.Len() != capacity {
			t.Fatalf("a full ring took a node, or has not %d but %d", capacity, r.Len())
		}
		pop(capacity)
		wantSeqs(t, "popped", got, span(0, capacity))
		if r.Pop() != nil || !r.Empty() {
			t.Fatal("there are nodes left")
		}

		if n := r.PushList(listOf(newItems(capacity + 1)...)); n != capacity {
			t.Fatalf("PushList = %d", n)
		}
		n, moved, s := r.StealInto(thief)
		if moved != half || s != mpsc.Acquired || itemOf(n).seq != 0 {
			t.Fatalf("StealInto = %d nodes, %v", moved, s)
		}
		wantSeqs(t, "stolen", seqs(thief.Pop), span(1, half))
		oldest := r.TakeNewest(func(n *mpsc.Node) bool { return itemOf(n).seq == half }, capacity)
		if oldest == nil || r.Len() != half-1 {
			t.Fatalf("TakeNewest = %v, %d are left", oldest, r.Len())
		}
		wantSeqs(t, "left", seqs(r.Pop), span(half+1, capacity))

		if s := r.Hold(); s != mpsc.Empty {
			t.Fatalf("Hold of an empty ring = %v", s)
		}
		r.Push(&(&item{}).node)
		if s := r.Hold(); s != mpsc.Acquired {
			t.Fatalf("Hold = %v", s)
		}
		if _, _, s := r.StealInto(thief); s != mpsc.Contended {
			t.Fatalf("StealInto of a held ring = %v", s)
		}
		r.Release()
		if _, moved, _ := r.StealInto(thief); moved != 1 || !r.Empty() {
			t.Fatalf("StealInto moved %d nodes of one", moved)
		}
	})
}

// TestQueueAtEveryWrap: spilling, refilling and stealing between queues whose rings
// are close to the wrap lose and double nothing. V-15a.
func TestQueueAtEveryWrap(t *testing.T) {
	beforeWrap(t, func(t *testing.T, start uint32) {
		t.Helper()
		q, thief := runqueue.NewQueueAt(start), runqueue.NewQueueAt(-start)
		const n = 2*capacity + 1
		for _, it := range newItems(n) {
			q.Push(&it.node)
		}
		var got []int
		take := func(n *mpsc.Node) bool {
			if n != nil {
				got = append(got, itemOf(n).seq)
			}
			return n != nil
		}
		for again := true; again; {
			stolen, _ := thief.StealFrom(q)
			again = take(stolen)
			again = take(thief.Pop()) || again
			again = take(q.Pop()) || again
			refilled, _ := q.Refill()
			again = take(refilled) || again
		}
		for take(thief.Pop()) {
		}
		slices.Sort(got)
		wantSeqs(t, "taken", got, span(0, n))
	})
}

// TestNilNode: a push of nil is the caller's mistake, and fails there: in builds
// with assertions, and when it goes through a list, in all. V-01.
func TestNilNode(t *testing.T) {
	panics := func(fn func()) (yes bool) {
		defer func() { yes = recover() != nil }()
		fn()
		return false
	}
	if invariant.Enabled && !panics(func() { new(runqueue.Ring).Push(nil) }) {
		t.Error("Ring.Push(nil) does not panic")
	}
	for name, fn := range map[string]func(q *runqueue.Queue){
		"PushList":     func(q *runqueue.Queue) { q.PushList(nil) },
		"PushOverflow": func(q *runqueue.Queue) { q.PushOverflow(nil) },
		"StealFrom":    func(q *runqueue.Queue) { q.StealFrom(nil) },
		"RefillFrom":   func(q *runqueue.Queue) { q.RefillFrom(nil, mpsc.FIFO) },
		"Drain":        func(q *runqueue.Queue) { q.Push(new(mpsc.Node)); q.Drain(nil) },
		"spill":        func(q *runqueue.Queue) { filledQueueOf(q, capacity).Push(nil) },
	} {
		if !panics(func() { fn(new(runqueue.Queue)) }) {
			t.Errorf("%s of nil does not panic", name)
		}
	}
}

// filledQueueOf pushes n nodes to q.
func filledQueueOf(q *runqueue.Queue, n int) *runqueue.Queue {
	for range n {
		q.Push(new(mpsc.Node))
	}
	return q
}
