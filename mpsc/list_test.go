package mpsc_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/mpsc"
)

// TestListOrder checks that Append keeps the order of both lists and empties its
// argument.
func TestListOrder(t *testing.T) {
	its := newItems(6)
	for _, tc := range []struct {
		name string
		a, b []*item // b is appended to a
		want []int
	}{
		{"both empty", nil, nil, nil},
		{"one", its[:1], nil, []int{0}},
		{"to empty", nil, its[:2], []int{0, 1}},
		{"empty to one", its[3:4], nil, []int{3}},
		{"one to one", its[3:4], its[1:2], []int{3, 1}},
		{"many", its[:3], its[3:], []int{0, 1, 2, 3, 4, 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := listOf(tc.a...), listOf(tc.b...)
			a.Append(b)
			if !b.Empty() || b.Len() != 0 || b.Front() != nil || b.Pop() != nil {
				t.Error("the argument of Append is not empty")
			}
			if a.Len() != len(tc.want) || a.Empty() != (len(tc.want) == 0) {
				t.Errorf("Len = %d, Empty = %v, want %d nodes", a.Len(), a.Empty(), len(tc.want))
			}
			if len(tc.want) > 0 && itemOf(a.Front()).seq != tc.want[0] {
				t.Errorf("Front = %d, want %d", itemOf(a.Front()).seq, tc.want[0])
			}
			wantSeqs(t, "nodes", seqs(a.Pop), tc.want...)
			if !a.Empty() || a.Len() != 0 {
				t.Error("a list is not empty after all nodes were popped")
			}
			b.Push(&its[0].node) // both lists are usable again
			a.Append(b)
			wantSeqs(t, "nodes", seqs(a.Pop), 0)
		})
	}
}

// TestListAppendSelf checks that appending a list to itself panics. V-03b.
func TestListAppendSelf(t *testing.T) {
	l := listOf(newItems(1)...)
	wantPanic(t, "mpsc: List.Append: a list cannot be appended to itself", func() { l.Append(l) })
}

// TestPushDropsStaleLink checks that a node brings no other node with it when it is
// pushed again. The node still carries the link of a dropped list.
func TestPushDropsStaleLink(t *testing.T) {
	its := newItems(4)
	listOf(its...) // links all of them; the list is dropped
	l := listOf(its[0], its[2])
	if l.Len() != 2 {
		t.Errorf("Len = %d, want 2", l.Len())
	}
	wantSeqs(t, "nodes", seqs(l.Pop), 0, 2)

	listOf(its...)
	var q mpsc.Queue
	q.Push(&its[1].node)
	var c mpsc.Consumer
	q.TryAcquire(&c, mpsc.LIFO)
	wantSeqs(t, "popped", seqs(c.Pop), 1)
}

// TestListModel checks that random programs over three lists behave as slices do.
func TestListModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lists [3]mpsc.List
		var want [3][]int
		var items []*item
		var free []int // items in no list
		pick := func(t *rapid.T, what string) int { return rapid.IntRange(0, len(lists)-1).Draw(t, what) }
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				i := pick(t, "list")
				if len(free) == 0 {
					free = append(free, len(items))
					items = append(items, &item{seq: len(items)})
				}
				n := free[0]
				free = free[1:]
				lists[i].Push(&items[n].node)
				want[i] = append(want[i], n)
			},
			"pop": func(t *rapid.T) {
				i := pick(t, "list")
				n := lists[i].Pop()
				if (n == nil) != (len(want[i]) == 0) {
					t.Fatalf("Pop = %v with %d nodes", n, len(want[i]))
				}
				if n == nil {
					return
				}
				if got := itemOf(n).seq; got != want[i][0] {
					t.Fatalf("Pop = node %d, want %d", got, want[i][0])
				}
				free = append(free, want[i][0])
				want[i] = want[i][1:]
			},
			"append": func(t *rapid.T) {
				i := pick(t, "to")
				j := (i + 1 + rapid.IntRange(0, len(lists)-2).Draw(t, "from")) % len(lists)
				lists[i].Append(&lists[j])
				want[i] = slices.Concat(want[i], want[j])
				want[j] = nil
			},
			"": func(t *rapid.T) {
				for i := range lists {
					l := &lists[i]
					if l.Len() != len(want[i]) || l.Empty() != (len(want[i]) == 0) || (l.Front() == nil) != l.Empty() {
						t.Fatalf("list %d: Len = %d, Empty = %v, Front = %v; want %d nodes",
							i, l.Len(), l.Empty(), l.Front(), len(want[i]))
					}
				}
			},
		})
	})
}

// TestListAppendMakesNoCycle checks that lists that are appended to each other in turn
// contain no cycle. Their length bounds every walk. V-03b.
func TestListAppendMakesNoCycle(t *testing.T) {
	its := newItems(6)
	a, b := listOf(its[:3]...), listOf(its[3:]...)
	for range 3 {
		a.Append(b)
		b.Append(a)
	}
	if a.Len() != 0 || b.Len() != 6 {
		t.Fatalf("the lists have %d and %d nodes, want 0 and 6", a.Len(), b.Len())
	}
	wantPanic(t, "mpsc: List.Append: a list cannot be appended to itself", func() { b.Append(b) })
	wantSeqs(t, "left", seqs(b.Pop), 0, 1, 2, 3, 4, 5)
}
