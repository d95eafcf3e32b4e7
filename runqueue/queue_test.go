package runqueue_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// filledQueue returns a queue whose ring starts at i. The items 0 to n-1 were pushed to
// it one by one.
func filledQueue(i uint32, n int) *runqueue.Queue {
	q := runqueue.NewQueueAt(i)
	for _, it := range newItems(n) {
		q.Push(&it.node)
	}
	return q
}

// TestPushSpills checks that a push to a full ring moves the older half and the new
// node to the overflow queue. They keep their order there. Z-037.
func TestPushSpills(t *testing.T) {
	for _, start := range starts {
		q := filledQueue(start, capacity)
		if !q.Overflow().Empty() {
			t.Fatal("nodes went to the overflow queue before the ring was full")
		}
		if !q.Push(&(&item{seq: capacity}).node) {
			t.Error("spilled = false")
		}
		if got := q.Len(); got != half {
			t.Errorf("%d nodes are left in the ring, want %d", got, half)
		}
		if q.Push(&(&item{seq: capacity + 1}).node) { // Z-038
			t.Error("spilled = true with half of the ring free")
		}
		wantSeqs(t, "overflow", popOverflow(t, q), append(span(0, half), capacity))
		wantSeqs(t, "ring", seqs(q.Pop), append(span(half, capacity), capacity+1))
	}
}

// TestPushSpillsHeld checks that only the new nodes move to the overflow queue while a
// thief holds a full ring.
func TestPushSpillsHeld(t *testing.T) {
	for _, start := range starts {
		q := filledQueue(start, capacity)
		if s := q.Ring().Hold(); s != mpsc.Acquired {
			t.Fatalf("Hold = %v", s)
		}
		its := newItems(capacity + 3)[capacity:]
		if !q.Push(&its[0].node) || !q.PushList(listOf(its[1:]...)) {
			t.Error("spilled = false")
		}
		q.Ring().Release()
		wantSeqs(t, "overflow", popOverflow(t, q), []int{capacity + 1, capacity + 2, capacity})
		wantSeqs(t, "ring", seqs(q.Pop), span(0, capacity))
	}
}

// TestPushList checks that a list goes to the ring as far as it fits. The rest spills
// as a push does. Z-037.
func TestPushList(t *testing.T) {
	for _, tc := range []struct {
		name       string
		used, size int
		ring       []int
		overflow   []int
	}{
		{"empty", 1, 0, span(0, 1), nil},
		{"fits", 1, capacity - 1, span(0, capacity), nil},
		{"one more than fits", 1, capacity, span(half, capacity), append(span(0, half), capacity)},
		{"full", capacity, 3, span(half, capacity), append(span(0, half), span(capacity, capacity+3)...)},
		{"several rings", 0, 3 * capacity, span(half, capacity), append(span(0, half), span(capacity, 3*capacity)...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, start := range starts {
				q := filledQueue(start, tc.used)
				l := listOf(newItems(tc.used + tc.size)[tc.used:]...)
				if got := q.PushList(l); got != (tc.overflow != nil) {
					t.Errorf("spilled = %v", got)
				}
				if !l.Empty() {
					t.Errorf("%d nodes are left in the list", l.Len())
				}
				wantSeqs(t, "overflow", popOverflow(t, q), tc.overflow)
				wantSeqs(t, "ring", seqs(q.Pop), tc.ring)
			}
		})
	}
}

// TestAvailable checks that a held part of a queue with nodes is neither available nor
// empty. A queue is quiet when it is empty and no goroutine holds its overflow queue.
func TestAvailable(t *testing.T) {
	q := new(runqueue.Queue)
	want := func(what string, available, empty bool) {
		t.Helper()
		quiet := empty && what != "the consumer holds the last two"
		if a, e, z := q.Available(), q.Empty(), q.Quiet(); a != available || e != empty || z != quiet {
			t.Errorf("%s: Available = %v, Empty = %v, Quiet = %v, want %v, %v, %v", what, a, e, z, available, empty, quiet)
		}
	}
	want("new", false, true)
	q.Push(new(mpsc.Node))
	want("one in the ring", true, false)
	q.Ring().Hold()
	want("held", false, false)
	q.PushOverflow(listOf(newItems(2)...))
	want("held, two in overflow", true, false)
	var c mpsc.Consumer
	q.Overflow().TryAcquire(&c, mpsc.LIFO)
	want("both held", false, false)
	q.Ring().Release()
	want("overflow held", true, false)
	q.Pop()
	want("overflow held, ring empty", false, false)
	c.Pop()
	want("the consumer holds the last two", false, true)
	c.Release()
	want("one in the cache", true, false)
	popOverflow(t, q)
	want("all taken", false, true)
}

// TestRefill checks that a refill takes up to half a ring of nodes. The free slots
// limit it too. Z-039.
func TestRefill(t *testing.T) {
	for _, tc := range []struct {
		name         string
		used, queued int
		want         int // nodes that leave the overflow queue
	}{
		{"empty", 0, 0, 0},
		{"one", 0, 1, 1},
		{"two", 0, 2, 2},
		{"half", 0, half, half},
		{"half and one", 0, half + 1, half},
		{"many", 0, 5 * capacity, half},
		{"full ring", capacity, 5, 1},
		{"one slot free", capacity - 1, 5, min(2, half)},
		{"half a ring", half, capacity, half},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, start := range starts {
				q := filledQueue(start, tc.used)
				all := newItems(tc.used + tc.queued)
				if !q.PushOverflow(listOf(all[tc.used:]...)) {
					t.Fatal("PushOverflow = false")
				}
				n, pushed := q.Refill()
				if want := tc.queued > 1; pushed != want {
					t.Errorf("pushed = %v, want %v", pushed, want)
				}
				if (n != nil) != (tc.want > 0) || n != nil && itemOf(n).seq != tc.used {
					t.Fatalf("Refill = %v, want node %d", n, tc.used)
				}
				moved := max(0, tc.want-1)
				next := tc.used + 1
				wantSeqs(t, "ring", seqs(q.Pop), slices.Concat(span(0, tc.used), span(next, next+moved)))
				wantSeqs(t, "overflow", popOverflow(t, q), span(next+moved, len(all)))
			}
		})
	}
}

// TestRefillFrom checks that RefillFrom pops an injection queue in the order that it is
// given.
func TestRefillFrom(t *testing.T) {
	for o, want := range map[mpsc.Order][]int{mpsc.LIFO: {2, 1, 0}, mpsc.FIFO: {0, 1, 2}} {
		var inj mpsc.Queue
		q := new(runqueue.Queue)
		if n, pushed := q.RefillFrom(&inj, o); n != nil || pushed {
			t.Errorf("RefillFrom of an empty queue = %v, %v", n, pushed)
		}
		for _, it := range newItems(3) {
			inj.Push(&it.node)
		}
		var got []int
		for n, _ := q.RefillFrom(&inj, o); n != nil; n, _ = q.RefillFrom(&inj, o) {
			got = append(append(got, itemOf(n).seq), seqs(q.Pop)...)
		}
		wantSeqs(t, o.String(), got, want)
	}
}

// TestRefillContended checks that an overflow queue that another consumer holds counts
// as empty. Z-036, Z-040.
func TestRefillContended(t *testing.T) {
	q, thief := new(runqueue.Queue), new(runqueue.Queue)
	q.PushOverflow(listOf(newItems(3)...))
	var c mpsc.Consumer
	q.Overflow().TryAcquire(&c, mpsc.LIFO)
	for name, take := range map[string]func() (*mpsc.Node, bool){
		"Refill":       q.Refill,
		"TakeOverflow": q.TakeOverflow,
		"StealFrom":    func() (*mpsc.Node, bool) { return thief.StealFrom(q) },
	} {
		if n, pushed := take(); n != nil || pushed {
			t.Errorf("%s = %v, %v while another consumer holds the queue", name, n, pushed)
		}
	}
	var l mpsc.List
	if q.Drain(&l) || q.StealAll(&l) || !l.Empty() {
		t.Error("done = true while another consumer holds the queue")
	}
	if !c.Release() {
		t.Error("Release = false with nodes queued")
	}
	if !q.StealAll(&l) || l.Len() != 3 {
		t.Errorf("StealAll took %d of 3 nodes", l.Len())
	}
}

// TestTakeOverflow checks that TakeOverflow takes one node and reports whether more are
// left.
func TestTakeOverflow(t *testing.T) {
	q := new(runqueue.Queue)
	q.PushOverflow(listOf(newItems(2)...))
	for i, want := range []bool{true, false} {
		n, more := q.TakeOverflow()
		if n == nil || itemOf(n).seq != i || more != want || q.Len() != 0 {
			t.Fatalf("TakeOverflow = %v, %v, want node %d, %v", n, more, i, want)
		}
	}
	if n, more := q.TakeOverflow(); n != nil || more {
		t.Errorf("TakeOverflow of an empty queue = %v, %v", n, more)
	}
}

// TestStealFrom checks that a thief takes from the overflow queue of the victim before
// its ring. pushed reports whether nodes are left. Z-041, Z-055.
func TestStealFrom(t *testing.T) {
	for _, tc := range []struct {
		name           string
		ring, overflow int
		first          int // -1: none
		stolen         []int
		pushed         bool
		overflowLeft   []int
		ringLeft       []int
	}{
		{"nothing", 0, 0, -1, nil, false, nil, nil},
		{"one in the ring", 1, 0, 0, nil, false, nil, nil},
		{"two in the ring", 2, 0, 0, nil, true, nil, span(1, 2)},
		{"three in the ring", 3, 0, 0, span(1, 2), true, nil, span(2, 3)},
		{"one in overflow", 2, 1, 2, nil, false, nil, span(0, 2)},
		{"two in overflow", 2, 2, 2, span(3, 2+min(2, half)), true, span(2+min(2, half), 4), span(0, 2)},
		{"many", 2, capacity, 2, span(3, 2+half), true, span(2+half, 2+capacity), span(0, 2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			victim, thief := filledQueue(nearWrap, tc.ring), runqueue.NewQueueAt(1<<32-1)
			victim.PushOverflow(listOf(newItems(tc.ring + tc.overflow)[tc.ring:]...))
			n, pushed := thief.StealFrom(victim)
			if (n != nil) != (tc.first >= 0) || n != nil && itemOf(n).seq != tc.first || pushed != tc.pushed {
				t.Fatalf("StealFrom = %v, %v, want node %d, %v", n, pushed, tc.first, tc.pushed)
			}
			wantSeqs(t, "thief", seqs(thief.Pop), tc.stolen)
			wantSeqs(t, "victim's overflow", popOverflow(t, victim), tc.overflowLeft)
			wantSeqs(t, "victim's ring", seqs(victim.Pop), tc.ringLeft)
		})
	}
}

// TestStealFromHeld checks that a held ring counts as empty. A steal from the overflow
// queue does not need the hold.
func TestStealFromHeld(t *testing.T) {
	victim, thief := filledQueue(0, 2), new(runqueue.Queue)
	victim.Ring().Hold()
	if n, pushed := thief.StealFrom(victim); n != nil || pushed {
		t.Errorf("StealFrom = %v, %v", n, pushed)
	}
	var l mpsc.List
	if victim.StealAll(&l) || !l.Empty() {
		t.Error("StealAll took from a held ring")
	}
	victim.PushOverflow(listOf(newItems(1)...))
	if n, _ := thief.StealFrom(victim); n == nil {
		t.Error("StealFrom = nil with a node in the overflow queue")
	}
}

// TestStealFromSelf checks that a steal from the own queue panics.
func TestStealFromSelf(t *testing.T) {
	q := new(runqueue.Queue)
	wantPanic(t, "runqueue: StealFrom: a queue cannot steal from itself", func() { q.StealFrom(q) })
}

// TestDrain checks that Drain and StealAll move all nodes of the ring before those of
// the overflow queue. They move the oldest node of the ring first.
func TestDrain(t *testing.T) {
	for name, drain := range map[string]func(*runqueue.Queue, *mpsc.List) bool{
		"Drain":    (*runqueue.Queue).Drain,
		"StealAll": (*runqueue.Queue).StealAll,
	} {
		for _, start := range starts {
			q := filledQueue(start, 2*capacity)
			inRing := append([]int{-1}, seqs(filledQueue(start, 2*capacity).Pop)...)
			l := listOf(&item{seq: -1})
			if !drain(q, l) {
				t.Errorf("%s = false without another goroutine", name)
			}
			if !q.Empty() || l.Len() != 2*capacity+1 {
				t.Errorf("%s moved %d of %d nodes", name, l.Len()-1, 2*capacity)
			}
			got := seqs(l.Pop)
			wantSeqs(t, name+": ring", got[:len(inRing)], inRing)
			slices.Sort(got)
			wantSeqs(t, name, got, span(-1, 2*capacity))
		}
	}
}

// TestQueueNoAllocation checks that a run queue allocates nothing. Z-007.
func TestQueueNoAllocation(t *testing.T) {
	q, thief := new(runqueue.Queue), new(runqueue.Queue)
	its := newItems(3 * capacity)
	n := testing.AllocsPerRun(20, func() {
		for _, it := range its {
			q.Push(&it.node)
		}
		for n, _ := thief.StealFrom(q); n != nil; n, _ = thief.StealFrom(q) {
			for thief.Pop() != nil {
			}
		}
		for n := q.Pop(); n != nil; n, _ = q.Refill() {
			for q.Pop() != nil {
			}
		}
	})
	if n != 0 || !q.Empty() {
		t.Errorf("%v allocations, Empty = %v", n, q.Empty())
	}
}

// sliceQueue is an mpsc queue as slices. One slice has the rest of the last grab. The
// other one has the pushes since then, newest last.
type sliceQueue struct {
	cache  []int
	pushes [][]int
}

func (s *sliceQueue) empty() bool { return len(s.cache) == 0 && len(s.pushes) == 0 }

// take removes and returns the nodes that one consumer gets in at most k pops.
func (s *sliceQueue) take(o mpsc.Order, k int) (taken []int) {
	for ; k > 0; k-- {
		if len(s.cache) == 0 {
			if o == mpsc.LIFO {
				slices.Reverse(s.pushes)
			}
			s.cache, s.pushes = slices.Concat(s.pushes...), nil
		}
		if len(s.cache) == 0 {
			break
		}
		taken, s.cache = append(taken, s.cache[0]), s.cache[1:]
	}
	return taken
}

// TestQueueModel checks that random programs of two owners behave as slices do in place
// and order. The owners steal from each other and refill from an injection queue.
// Z-025, Z-028, Z-037, Z-039, Z-041.
func TestQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var qs [2]*runqueue.Queue
		var ring [2][]int
		var over [2]sliceQueue
		var inj mpsc.Queue
		var injected sliceQueue
		for i := range qs {
			qs[i] = runqueue.NewQueueAt(rapid.Uint32Range(nearWrap, 1<<32-1).Draw(t, "start"))
		}
		n := 0
		next := func() *item { n++; return &item{seq: n - 1} }
		owner := func() int { return rapid.IntRange(0, 1).Draw(t, "owner") }
		push := func(i int, ids []int) (spilled bool) {
			fits := min(capacity-len(ring[i]), len(ids))
			ring[i] = append(ring[i], ids[:fits]...)
			if fits == len(ids) {
				return false
			}
			over[i].pushes = append(over[i].pushes, slices.Concat(ring[i][:half], ids[fits:]))
			ring[i] = ring[i][half:]
			return true
		}
		check := func(what string, got *mpsc.Node, pushed bool, taken []int, left bool) {
			if (got != nil) != (len(taken) > 0) || got != nil && itemOf(got).seq != taken[0] {
				t.Fatalf("%s = %v, want one of %v", what, got, taken)
			}
			if want := len(taken) > 1 || left; pushed != want {
				t.Fatalf("%s: pushed = %v, want %v", what, pushed, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				i := owner()
				for range rapid.IntRange(1, half).Draw(t, "count") {
					it := next()
					if got, want := qs[i].Push(&it.node), push(i, []int{it.seq}); got != want {
						t.Fatalf("Push = %v, want %v", got, want)
					}
				}
			},
			"pushList": func(t *rapid.T) {
				i := owner()
				var l mpsc.List
				var ids []int
				for range rapid.IntRange(0, 2*capacity).Draw(t, "len") {
					it := next()
					l.Push(&it.node)
					ids = append(ids, it.seq)
				}
				if got, want := qs[i].PushList(&l), push(i, ids); got != want || !l.Empty() {
					t.Fatalf("PushList = %v, want %v; %d nodes are left", got, want, l.Len())
				}
			},
			"pushAll": func(t *rapid.T) {
				i := owner()
				var nodes []*mpsc.Node
				var ids []int
				for range rapid.IntRange(0, 2*capacity).Draw(t, "len") {
					it := next()
					nodes = append(nodes, &it.node)
					ids = append(ids, it.seq)
				}
				if got, want := qs[i].PushAll(nodes), push(i, ids); got != want {
					t.Fatalf("PushAll = %v, want %v", got, want)
				}
			},
			"inject": func(t *rapid.T) {
				it := next()
				inj.Push(&it.node)
				injected.pushes = append(injected.pushes, []int{it.seq})
			},
			"pop": func(t *rapid.T) {
				i := owner()
				for range rapid.IntRange(1, capacity).Draw(t, "count") {
					got := qs[i].Pop()
					if (got != nil) != (len(ring[i]) > 0) || got != nil && itemOf(got).seq != ring[i][0] {
						t.Fatalf("Pop = %v with %v", got, ring[i])
					}
					if got == nil {
						return
					}
					ring[i] = ring[i][1:]
				}
			},
			"refill": func(t *rapid.T) {
				i := owner()
				taken := over[i].take(mpsc.LIFO, 1+min(half-1, capacity-len(ring[i])))
				got, pushed := qs[i].Refill()
				check("Refill", got, pushed, taken, !over[i].empty())
				if got != nil {
					ring[i] = append(ring[i], taken[1:]...)
				}
			},
			"takeOverflow": func(t *rapid.T) {
				i := owner()
				taken := over[i].take(mpsc.LIFO, 1)
				got, pushed := qs[i].TakeOverflow()
				check("TakeOverflow", got, pushed, taken, !over[i].empty())
			},
			"refillFrom": func(t *rapid.T) {
				i := owner()
				taken := injected.take(mpsc.FIFO, 1+min(half-1, capacity-len(ring[i])))
				got, pushed := qs[i].RefillFrom(&inj, mpsc.FIFO)
				check("RefillFrom", got, pushed, taken, !injected.empty())
				if got != nil {
					ring[i] = append(ring[i], taken[1:]...)
				}
			},
			"steal": func(t *rapid.T) {
				i := owner()
				v := 1 - i
				taken := over[v].take(mpsc.LIFO, 1+min(half-1, capacity-len(ring[i])))
				got, pushed := qs[i].StealFrom(qs[v])
				if len(taken) > 0 {
					check("StealFrom", got, pushed, taken, !over[v].empty())
					ring[i] = append(ring[i], taken[1:]...)
					return
				}
				k := min(len(ring[v])-len(ring[v])/2, capacity-len(ring[i])+1)
				check("StealFrom", got, pushed, ring[v][:k], k < len(ring[v]))
				if k > 0 {
					ring[i] = append(ring[i], ring[v][1:k]...)
					ring[v] = ring[v][k:]
				}
			},
			"takeNewest": func(t *rapid.T) {
				i := owner()
				if len(ring[i]) == 0 {
					t.Skip("empty")
				}
				at := rapid.IntRange(0, len(ring[i])-1).Draw(t, "at")
				got := qs[i].TakeNewest(func(n *mpsc.Node) bool { return itemOf(n).seq == ring[i][at] }, capacity)
				if got == nil || itemOf(got).seq != ring[i][at] {
					t.Fatalf("TakeNewest = %v, want node %d", got, ring[i][at])
				}
				ring[i] = slices.Concat(ring[i][:at], ring[i][at+1:])
			},
			"drain": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") != 0 {
					t.Skip("not yet")
				}
				i := owner()
				var l mpsc.List
				if !qs[i].Drain(&l) {
					t.Fatal("Drain = false")
				}
				rest := over[i].take(mpsc.LIFO, n)
				wantSeqs(t, "drained", seqs(l.Pop), append(slices.Clone(ring[i]), rest...))
				ring[i] = nil
			},
			"": func(t *rapid.T) {
				for i, q := range qs {
					if q.Len() != len(ring[i]) || q.Empty() != (len(ring[i]) == 0 && over[i].empty()) {
						t.Fatalf("queue %d: Len = %d, Empty = %v; want %d in the ring, %v", i, q.Len(), q.Empty(), len(ring[i]), over[i])
					}
					if q.Available() == q.Empty() { // no goroutine holds a part
						t.Fatalf("queue %d: Available = %v, Empty = %v", i, q.Available(), q.Empty())
					}
				}
				if inj.Empty() != injected.empty() {
					t.Fatalf("injection: Empty = %v, want %v", inj.Empty(), injected)
				}
			},
		})
	})
}

// TestQueueAcrossWrap checks that spills, refills and steals across the wrap of the
// indices lose no node and double none. V-15a.
func TestQueueAcrossWrap(t *testing.T) {
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

// TestRunQueueNilPanics checks that a nil argument panics in the caller. It does so in
// all builds when it goes through a list. Otherwise it does so in builds with
// assertions. V-01.
func TestRunQueueNilPanics(t *testing.T) {
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
		"spill":        func(q *runqueue.Queue) { withNodes(q, capacity).Push(nil) },
	} {
		if !panics(func() { fn(new(runqueue.Queue)) }) {
			t.Errorf("%s of nil does not panic", name)
		}
	}
}

// withNodes pushes n nodes to q and returns q.
func withNodes(q *runqueue.Queue, n int) *runqueue.Queue {
	for range n {
		q.Push(new(mpsc.Node))
	}
	return q
}
