package runqueue_test

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// starts are the first indices of the rings in the tests. Z-022.
var starts = []uint32{0, nearWrap, 1<<32 - capacity, 1<<32 - capacity/2, 1<<32 - 1}

// filled returns a ring that starts at i and holds the items 0 to n-1.
func filled(tb testing.TB, i uint32, n int) (*runqueue.Ring, []*item) {
	tb.Helper()
	r := runqueue.NewRingAt(i)
	its := newItems(n)
	for _, it := range its {
		if !r.Push(&it.node) {
			tb.Fatal("Push = false with free slots")
		}
	}
	return r, its
}

// TestRingFull checks that a ring takes exactly Capacity nodes and returns them in
// order. Z-021, Z-022, Z-025.
func TestRingFull(t *testing.T) {
	for _, start := range starts {
		t.Run("start="+strconv.FormatUint(uint64(start), 10), func(t *testing.T) {
			r, _ := filled(t, start, capacity-1)
			it := &item{seq: capacity - 1}
			if !r.Push(&it.node) {
				t.Error("Push = false with one slot left")
			}
			if r.Push(&new(item).node) {
				t.Error("Push = true when full")
			}
			if l := listOf(newItems(1)...); r.PushList(l) != 0 || l.Len() != 1 {
				t.Error("PushList moved a node into a full ring")
			}
			if r.Len() != capacity || r.Empty() {
				t.Errorf("Len = %d, Empty = %v, want %d nodes", r.Len(), r.Empty(), capacity)
			}
			wantSeqs(t, "popped", seqs(r.Pop), span(0, capacity))
			if r.Len() != 0 || !r.Empty() {
				t.Errorf("Len = %d, Empty = %v, want an empty ring", r.Len(), r.Empty())
			}
		})
	}
}

// TestRingPushList checks that PushList moves the nodes that fit and keeps their order.
func TestRingPushList(t *testing.T) {
	for _, start := range starts {
		for _, used := range []int{0, 1, capacity - 1} {
			for _, size := range []int{0, 1, capacity - used, capacity, 2 * capacity} {
				r, _ := filled(t, start, used)
				its := newItems(used + size)
				l := listOf(its[used:]...)
				fits := min(size, capacity-used)
				if got := r.PushList(l); got != fits {
					t.Fatalf("PushList of %d with %d used = %d, want %d", size, used, got, fits)
				}
				wantSeqs(t, "left", seqs(l.Pop), span(used+fits, used+size))
				wantSeqs(t, "popped", seqs(r.Pop), span(0, used+fits))
			}
		}
	}
}

// TestStealHalf checks for every n that a steal takes the ceil(n/2) oldest nodes. It
// returns the oldest one. Z-027, Z-028, Z-029.
func TestStealHalf(t *testing.T) {
	for _, start := range starts {
		for n := range capacity + 1 {
			r, _ := filled(t, start, n)
			dst := runqueue.NewRingAt(start + 3)
			want := (n + 1) / 2
			first, moved, s := r.StealInto(dst)
			if moved != want {
				t.Fatalf("StealInto of %d moved %d, want %d", n, moved, want)
			}
			if n == 0 {
				if first != nil || s != mpsc.Empty {
					t.Fatalf("StealInto of an empty ring = %v, %v", first, s)
				}
				continue
			}
			if s != mpsc.Acquired || itemOf(first).seq != 0 {
				t.Fatalf("StealInto = node %d, %v; want node 0, acquired", itemOf(first).seq, s)
			}
			if dst.Len() != want-1 || r.Len() != n-want {
				t.Fatalf("after a steal of %d the thief has %d nodes and the victim %d", n, dst.Len(), r.Len())
			}
			wantSeqs(t, "thief", seqs(dst.Pop), span(1, want))
			wantSeqs(t, "victim", seqs(r.Pop), span(want, n))
		}
	}
}

// TestStealFits checks that a thief takes no more nodes than fit into its ring. It
// takes at least one. Z-030.
func TestStealFits(t *testing.T) {
	for used := range capacity + 1 {
		r, _ := filled(t, nearWrap, capacity)
		dst, _ := filled(t, nearWrap+5, used)
		want := min(half, capacity-used+1)
		first, moved, s := r.StealInto(dst)
		if first == nil || moved != want || s != mpsc.Acquired {
			t.Fatalf("StealInto with %d used = %v, %d, %v; want %d nodes", used, first, moved, s, want)
		}
		wantSeqs(t, "thief", seqs(dst.Pop), append(span(0, used), span(1, want)...))
		wantSeqs(t, "victim", seqs(r.Pop), span(want, capacity))
	}
}

// TestRingHeld checks that the owner continues with one slot less while a thief has the
// hold. Other takers get no node.
func TestRingHeld(t *testing.T) {
	for _, start := range starts {
		r, _ := filled(t, start, 1)
		if s := r.Hold(); s != mpsc.Acquired {
			t.Fatalf("Hold = %v", s)
		}
		if first, moved, s := r.StealInto(new(runqueue.Ring)); first != nil || moved != 0 || s != mpsc.Contended {
			t.Errorf("StealInto a held ring = %v, %d, %v", first, moved, s)
		}
		if r.TakeNewest(func(*mpsc.Node) bool { return true }, capacity) != nil {
			t.Error("TakeNewest took from a held ring")
		}
		its := newItems(capacity)
		for i, it := range its[1:] {
			if ok := r.Push(&it.node); ok != (i < capacity-2) {
				t.Fatalf("Push with %d nodes in a held ring = %v", i+1, ok)
			}
		}
		wantSeqs(t, "popped", seqs(r.Pop), span(0, capacity-1))
		if r.Push(&its[0].node) {
			t.Error("Push into slots that the holder may be emptying")
		}
		r.Release()
		for _, it := range its {
			if !r.Push(&it.node) {
				t.Fatal("Push = false after the release")
			}
		}
		wantSeqs(t, "popped", seqs(r.Pop), span(0, capacity))
		if s := r.Hold(); s != mpsc.Empty {
			t.Errorf("Hold of an empty ring = %v", s)
		}
	}
}

// TestTakeNewest checks that TakeNewest takes the newest accepted node and closes the
// gap.
func TestTakeNewest(t *testing.T) {
	for _, tc := range []struct {
		name   string
		n      int
		accept []int
		limit  int
		want   int // -1: none
		seen   []int
	}{
		{"empty ring", 0, []int{0}, capacity, -1, nil},
		{"none", 3, nil, capacity, -1, []int{2, 1, 0}},
		{"no limit", 3, []int{2}, 0, -1, nil},
		{"limit below zero", 3, []int{2}, -1, -1, nil},
		{"newest", 4, []int{0, 1, 2, 3}, capacity, 3, []int{3}},
		{"inner", 4, []int{0, 1}, capacity, 1, []int{3, 2, 1}},
		{"oldest", 4, []int{0}, 4, 0, []int{3, 2, 1, 0}},
		{"beyond the limit", 4, []int{0}, 3, -1, []int{3, 2, 1}},
		{"full", capacity, []int{0}, math.MaxInt, 0, span(0, capacity)},
		{"only one", 1, []int{0}, 1, 0, []int{0}},
	} {
		for _, start := range starts {
			t.Run(tc.name+"/start="+strconv.FormatUint(uint64(start), 10), func(t *testing.T) {
				r, _ := filled(t, start, tc.n)
				var seen []int
				n := r.TakeNewest(func(n *mpsc.Node) bool {
					seen = append(seen, itemOf(n).seq)
					return slices.Contains(tc.accept, itemOf(n).seq)
				}, tc.limit)
				if (n == nil) != (tc.want < 0) || n != nil && itemOf(n).seq != tc.want {
					t.Fatalf("TakeNewest = %v, want node %d", n, tc.want)
				}
				if tc.name == "full" {
					slices.Reverse(seen)
				}
				wantSeqs(t, "passed to match", seen, tc.seen)
				rest := slices.DeleteFunc(span(0, tc.n), func(i int) bool { return i == tc.want })
				for i := r.Len(); i < capacity; i++ { // the slot is free again
					if !r.Push(&(&item{seq: tc.n}).node) {
						t.Fatalf("Push = false with %d nodes", i)
					}
					rest = append(rest, tc.n)
				}
				wantSeqs(t, "left", seqs(r.Pop), rest)
			})
		}
	}
}

// TestTakeNewestPanic checks that a panic of match leaves the ring unchanged.
func TestTakeNewestPanic(t *testing.T) {
	r, _ := filled(t, 0, 3)
	wantPanic(t, "match", func() { r.TakeNewest(func(*mpsc.Node) bool { panic("match") }, 1) })
	dst := new(runqueue.Ring)
	if _, moved, _ := r.StealInto(dst); moved != 2 {
		t.Errorf("StealInto afterwards moved %d nodes, want 2", moved)
	}
	wantSeqs(t, "left", seqs(r.Pop), []int{2})
}

// TestRingMisuse checks that a steal from the own ring panics.
func TestRingMisuse(t *testing.T) {
	r := new(runqueue.Ring)
	wantPanic(t, "runqueue: StealInto: a ring cannot steal from itself", func() { r.StealInto(r) })
}

// TestCapacity checks that Capacity is a power of two of at least 2. Z-033, V-16b.
func TestCapacity(t *testing.T) {
	if capacity < 2 || capacity > 256 || capacity&(capacity-1) != 0 {
		t.Errorf("Capacity = %d, want a power of two up to 256", capacity)
	}
}

// TestRingModel checks that random programs of an owner and a thief behave as slices
// do. Z-021, Z-022, Z-025, Z-028, Z-029, V-15a.
func TestRingModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.OneOf(rapid.Uint32Range(nearWrap, 1<<32-1), rapid.Uint32()).Draw(t, "start")
		r, thief := runqueue.NewRingAt(start), runqueue.NewRingAt(start/2)
		var want, stolen []int
		held, n := false, 0
		// lost counts the slots that the owner cannot use. While the ring is held, one slot
		// counts and so do the slots popped since.
		lost := 0
		next := func() *item { n++; return &item{seq: n - 1} }
		free := func() int { return max(0, capacity-len(want)-lost) }
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				it := next()
				ok := r.Push(&it.node)
				if ok != (free() > 0) {
					t.Fatalf("Push = %v with %d free slots", ok, free())
				}
				if ok {
					want = append(want, it.seq)
				}
			},
			"pushMany": func(t *rapid.T) {
				var l mpsc.List
				var ids []int
				for range rapid.IntRange(0, 2*capacity).Draw(t, "len") {
					it := next()
					l.Push(&it.node)
					ids = append(ids, it.seq)
				}
				got := r.PushList(&l)
				if got != min(len(ids), free()) {
					t.Fatalf("PushList of %d with %d free slots = %d", len(ids), free(), got)
				}
				want = append(want, ids[:got]...)
				wantSeqs(t, "not pushed", seqs(l.Pop), append([]int(nil), ids[got:]...))
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, capacity).Draw(t, "count") {
					got := r.Pop()
					if (got == nil) != (len(want) == 0) {
						t.Fatalf("Pop = %v with %d nodes", got, len(want))
					}
					if got == nil {
						return
					}
					if it := itemOf(got); it.seq != want[0] || it.node != (mpsc.Node{}) {
						t.Fatalf("Pop = node %d, want %d, without a link", it.seq, want[0])
					}
					want = want[1:]
					if held {
						lost++
					}
				}
			},
			"hold": func(t *rapid.T) {
				s, exp := r.Hold(), mpsc.Acquired
				switch {
				case held:
					exp = mpsc.Contended
				case len(want) == 0:
					exp = mpsc.Empty
				}
				if s != exp {
					t.Fatalf("Hold = %v, want %v", s, exp)
				}
				if s == mpsc.Acquired {
					held, lost = true, 1
				}
			},
			"release": func(t *rapid.T) {
				if !held {
					t.Skip("not held")
				}
				r.Release()
				held, lost = false, 0
			},
			"steal": func(t *rapid.T) {
				exp := min(len(want)-len(want)/2, capacity-len(stolen)+1)
				status := mpsc.Acquired
				switch {
				case held:
					exp, status = 0, mpsc.Contended
				case len(want) == 0:
					exp, status = 0, mpsc.Empty
				}
				first, moved, s := r.StealInto(thief)
				if moved != exp || s != status || (first != nil) != (exp > 0) {
					t.Fatalf("StealInto of %d = %v, %d, %v; want %d, %v", len(want), first, moved, s, exp, status)
				}
				if exp == 0 {
					return
				}
				if got := itemOf(first).seq; got != want[0] {
					t.Fatalf("StealInto = node %d, want %d", got, want[0])
				}
				stolen = append(stolen, want[1:exp]...)
				want = want[exp:]
			},
			"thiefPops": func(t *rapid.T) {
				wantSeqs(t, "stolen", seqs(thief.Pop), stolen)
				stolen = nil
			},
			"takeNewest": func(t *rapid.T) {
				mod := rapid.IntRange(1, 5).Draw(t, "mod")
				limit := rapid.IntRange(0, capacity+1).Draw(t, "limit")
				at := -1
				for i := len(want) - 1; !held && i >= max(0, len(want)-limit); i-- {
					if want[i]%mod == 0 {
						at = i
						break
					}
				}
				got := r.TakeNewest(func(n *mpsc.Node) bool { return itemOf(n).seq%mod == 0 }, limit)
				if (got == nil) != (at < 0) || got != nil && itemOf(got).seq != want[at] {
					t.Fatalf("TakeNewest = %v, want the node at %d", got, at)
				}
				if at >= 0 {
					want = slices.Delete(want, at, at+1)
				}
			},
			"": func(t *rapid.T) {
				if r.Len() != len(want) || r.Empty() != (len(want) == 0) {
					t.Fatalf("Len = %d, Empty = %v, want %d nodes", r.Len(), r.Empty(), len(want))
				}
			},
		})
	})
}

// TestRingAcrossWrap checks that every operation of a ring gives the same results
// across the wrap of the indices as elsewhere. V-15a.
func TestRingAcrossWrap(t *testing.T) {
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
			t.Fatalf("a full ring took a node, or has %d nodes, want %d", r.Len(), capacity)
		}
		pop(capacity)
		wantSeqs(t, "popped", got, span(0, capacity))
		if r.Pop() != nil || !r.Empty() {
			t.Fatal("nodes are left")
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
