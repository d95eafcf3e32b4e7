package runqueue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// TestTakeAllMachine checks that random programs of PushOverflow, Refill, Drain and
// StealAll behave as slices do. Refill takes the newest list of PushOverflow first.
// Drain and StealAll take the nodes of the ring before those of the overflow queue.
// They take the oldest node of the ring first.
func TestTakeAllMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := runqueue.NewQueueAt(rapid.Uint32Range(nearWrap, 1<<32-1).Draw(t, "start"))
		var ring []int
		var over sliceQueue
		n := 0
		generate := func(t *rapid.T, most int) (*mpsc.List, []int) {
			l := new(mpsc.List)
			var ids []int
			for range rapid.IntRange(0, most).Draw(t, "len") {
				it := &item{seq: n}
				n++
				l.Push(&it.node)
				ids = append(ids, it.seq)
			}
			return l, ids
		}
		all := func(t *rapid.T, what string, take func(*mpsc.List) bool) {
			before, ids := generate(t, 2) // the nodes of the list stay in front
			if !take(before) {
				t.Fatalf("%s = false without another goroutine", what)
			}
			wantSeqs(t, what, seqs(before.Pop), slices.Concat(ids, ring, over.take(mpsc.LIFO, n)))
			ring = nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				l, ids := generate(t, capacity-len(ring))
				if q.PushList(l) {
					t.Fatalf("PushList spilled with %d of %d in the ring", len(ring), capacity)
				}
				ring = append(ring, ids...)
			},
			"push to the overflow queue": func(t *rapid.T) {
				l, ids := generate(t, 3)
				if !q.PushOverflow(l) || !l.Empty() {
					t.Fatalf("PushOverflow left %d nodes", l.Len())
				}
				if len(ids) > 0 {
					over.pushes = append(over.pushes, ids)
				}
			},
			"pop": func(t *rapid.T) {
				if got := q.Pop(); (got != nil) != (len(ring) > 0) || got != nil && itemOf(got).seq != ring[0] {
					t.Fatalf("Pop = %v with %v", got, ring)
				}
				ring = ring[min(1, len(ring)):]
			},
			"refill": func(t *rapid.T) {
				taken := over.take(mpsc.LIFO, 1+min(half-1, capacity-len(ring)))
				got, pushed := q.Refill()
				if (got != nil) != (len(taken) > 0) || got != nil && itemOf(got).seq != taken[0] {
					t.Fatalf("Refill = %v, want the first of %v", got, taken)
				}
				if want := len(taken) > 1 || !over.empty(); pushed != want {
					t.Fatalf("Refill: pushed = %v, want %v", pushed, want)
				}
				ring = append(ring, taken[min(1, len(taken)):]...)
			},
			"drain":     func(t *rapid.T) { all(t, "Drain", q.Drain) },
			"steal all": func(t *rapid.T) { all(t, "StealAll", q.StealAll) },
			"": func(t *rapid.T) {
				least := len(ring)
				if !over.empty() {
					least++
				}
				if got := q.AtLeast(); got != least {
					t.Fatalf("AtLeast = %d with %d in the ring, want %d", got, len(ring), least)
				}
				empty := len(ring) == 0 && over.empty()
				if q.Len() != len(ring) || q.Empty() != empty || q.Available() == empty || q.Quiet() != empty {
					t.Fatalf("Len = %d, Empty = %v, Available = %v, Quiet = %v; want %d in the ring, %v", q.Len(), q.Empty(), q.Available(), q.Quiet(), len(ring), over)
				}
			},
		})
	})
}
