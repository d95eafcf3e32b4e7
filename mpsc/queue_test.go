package mpsc_test

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/mpsc"
)

// take acquires the token, pops until nil, and releases. It returns the numbers of the
// popped nodes.
func take(t *testing.T, q *mpsc.Queue, o mpsc.Order) []int {
	t.Helper()
	var c mpsc.Consumer
	if s := q.TryAcquire(&c, o); s != mpsc.Acquired {
		t.Fatalf("TryAcquire = %v, want acquired", s)
	}
	got := seqs(c.Pop)
	if c.Release() {
		t.Error("Release = true for a queue that was popped until nil")
	}
	return got
}

// TestQueueOrder checks that LIFO pops the latest push first and FIFO the oldest push
// first. Lists keep their order in both. Z-042, Z-047.
func TestQueueOrder(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pushes []int // sizes; 1 by Push, others by PushList
		lifo   []int
		fifo   []int
	}{
		{"one", []int{1}, []int{0}, []int{0}},
		{"singles", []int{1, 1, 1}, []int{2, 1, 0}, []int{0, 1, 2}},
		{"list", []int{3}, []int{0, 1, 2}, []int{0, 1, 2}},
		{"empty lists", []int{0, 2, 0}, []int{0, 1}, []int{0, 1}},
		{"lists", []int{2, 3}, []int{2, 3, 4, 0, 1}, []int{0, 1, 2, 3, 4}},
		{"mixed", []int{1, 2, 1, 3, 1}, []int{7, 4, 5, 6, 3, 1, 2, 0}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		for o, want := range map[mpsc.Order][]int{mpsc.LIFO: tc.lifo, mpsc.FIFO: tc.fifo} {
			t.Run(tc.name+"/"+o.String(), func(t *testing.T) {
				var q mpsc.Queue
				its := newItems(8)
				for _, n := range tc.pushes {
					ok := false
					if n == 1 {
						ok = q.Push(&its[0].node)
					} else {
						l := listOf(its[:n]...)
						ok = q.PushList(l)
						if !l.Empty() || l.Len() != 0 {
							t.Error("PushList left nodes in the list")
						}
					}
					if !ok {
						t.Errorf("push of %d nodes = false", n)
					}
					its = its[n:]
				}
				wantSeqs(t, "popped", take(t, &q, o), want...)
			})
		}
	}
}

// TestQueuePopsGrabFirst checks that the nodes of a grab are popped before later
// pushes. The law also holds for the next consumer. Z-051, Z-052, Z-054.
func TestQueuePopsGrabFirst(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	its := newItems(5)
	q.Push(&its[0].node)
	q.Push(&its[1].node)
	q.Push(&its[2].node)
	if s := q.TryAcquire(&c, mpsc.LIFO); s != mpsc.Acquired {
		t.Fatalf("TryAcquire = %v", s)
	}
	if got := itemOf(c.Pop()).seq; got != 2 {
		t.Errorf("first pop: got %d, want 2", got)
	}
	q.Push(&its[3].node)
	q.Push(&its[4].node)
	if !c.Release() {
		t.Error("Release = false with nodes in the cache")
	}
	if q.Empty() {
		t.Error("Empty = true with nodes in the cache")
	}
	wantSeqs(t, "second consumer", take(t, &q, mpsc.FIFO), 1, 0, 3, 4)
	if !q.Empty() {
		t.Error("Empty = false after all was popped")
	}
	q.Push(&its[0].node)
	q.TryAcquire(&c, mpsc.LIFO)
	for i := range 3 { // a consumer grabs again as often as its grab is used up
		wantSeqs(t, "grab", seqs(c.Pop), i)
		q.Push(&its[i+1].node)
	}
	wantSeqs(t, "last grab", seqs(c.Pop), 3)
	c.Release()
}

// TestQueueStatus checks that TryAcquire returns Empty, Acquired or Contended as its
// doc comment states. Z-036, Z-044, Z-050.
func TestQueueStatus(t *testing.T) {
	var q mpsc.Queue
	var a, b mpsc.Consumer
	want := func(c *mpsc.Consumer, want mpsc.Status) {
		t.Helper()
		if got := q.TryAcquire(c, mpsc.LIFO); got != want {
			t.Fatalf("TryAcquire = %v, want %v", got, want)
		}
	}
	its := newItems(3)
	want(&a, mpsc.Empty)
	q.Push(&its[0].node)
	want(&a, mpsc.Acquired)
	want(&b, mpsc.Contended)
	a.Pop()
	want(&b, mpsc.Contended) // also when there is nothing left
	q.Push(&its[1].node)
	if !a.Release() {
		t.Error("Release = false after a push during the visit") // B7
	}
	want(&b, mpsc.Acquired)
	b.Pop()
	if b.Release() {
		t.Error("Release = true with nothing left")
	}
	want(&a, mpsc.Empty)
	q.PushList(listOf(its...))
	want(&a, mpsc.Acquired)
	a.Pop()
	a.Release()
	want(&b, mpsc.Acquired) // from the cache alone
	wantSeqs(t, "rest", seqs(b.Pop), 1, 2)
}

// TestQueueAvailable checks that Available is true exactly when the token is free and a
// consumer would pop a node. The node is pushed or cached. The law also holds after a
// seal.
func TestQueueAvailable(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	want := func(when string, want bool) {
		t.Helper()
		if got := q.Available(); got != want {
			t.Errorf("%s: Available = %v, want %v", when, got, want)
		}
	}
	its := newItems(4)
	want("new", false)
	q.PushList(listOf(its[:3]...))
	want("pushed", true)
	q.TryAcquire(&c, mpsc.FIFO)
	want("held", false)
	c.Pop()
	want("grabbed", false)
	c.Release()
	want("cached, nothing pushed", true)
	q.Push(&its[3].node)
	want("cached and pushed", true)
	q.Seal(new(mpsc.List))
	want("cached and sealed", true)
	wantSeqs(t, "rest", take(t, &q, mpsc.FIFO), 1, 2)
	want("popped and sealed", false)
}

// TestQueueQuiet checks that Quiet is true exactly when the queue has no node and no
// consumer holds the token. The rest of a grab counts as nodes of the queue.
func TestQueueQuiet(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	want := func(when string, want bool) {
		t.Helper()
		if got := q.Quiet(); got != want {
			t.Errorf("%s: Quiet = %v, want %v", when, got, want)
		}
	}
	want("new", true)
	q.PushList(listOf(newItems(2)...))
	want("pushed", false)
	q.TryAcquire(&c, mpsc.FIFO)
	c.Pop()
	want("held", false)
	c.Release()
	want("cached", false)
	wantSeqs(t, "rest", take(t, &q, mpsc.FIFO), 1)
	want("popped", true)
	q.Seal(new(mpsc.List))
	want("sealed", true)
}

// TestConsumerMore checks that More reports whether the next Pop returns a node. The
// node is pushed, or it is in the rest of a grab.
func TestConsumerMore(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	want := func(when string, want bool) {
		t.Helper()
		if got := c.More(); got != want {
			t.Errorf("%s: More = %v, want %v", when, got, want)
		}
	}
	its := newItems(4)
	q.PushList(listOf(its[:2]...))
	q.TryAcquire(&c, mpsc.FIFO)
	want("pushed", true)
	c.Pop()
	want("grabbed, nothing pushed", true)
	c.Release()
	q.TryAcquire(&c, mpsc.FIFO)
	want("cached, nothing pushed", true)
	c.Pop()
	want("popped", false)
	q.PushList(listOf(its[2:]...))
	want("pushed again", true)
	c.Pop()
	q.Seal(new(mpsc.List))
	want("grabbed and sealed", true)
	c.Pop()
	want("popped and sealed", false)
	c.Release()
}

// TestQueueSeal checks that Seal returns the pushed nodes and leaves the grabbed nodes
// to consumers. Later pushes fail.
func TestQueueSeal(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	its := newItems(12)
	q.PushList(listOf(its[:3]...))
	q.TryAcquire(&c, mpsc.LIFO)
	c.Pop() // grabs; the consumer holds 1 and 2
	q.Push(&its[3].node)
	q.PushList(listOf(its[4:7]...))
	q.Push(&its[7].node)

	l := listOf(its[11])
	if !q.Seal(l) {
		t.Fatal("Seal = false the first time")
	}
	wantSeqs(t, "sealed", seqs(l.Pop), 11, 3, 4, 5, 6, 7)
	if q.Seal(l) || !l.Empty() {
		t.Error("Seal = true the second time")
	}
	if q.Push(&its[8].node) {
		t.Error("Push = true on a sealed queue")
	}
	refused := listOf(its[9], its[10])
	if q.PushList(refused) || refused.Len() != 2 {
		t.Error("PushList took from its list on a sealed queue")
	}
	if q.PushList(new(mpsc.List)) {
		t.Error("PushList of an empty list = true on a sealed queue")
	}
	wantSeqs(t, "refused", seqs(refused.Pop), 9, 10)

	if !c.Release() {
		t.Error("Release = false with nodes in the cache of a sealed queue")
	}
	if q.Empty() {
		t.Error("Empty = true with nodes in the cache of a sealed queue")
	}
	wantSeqs(t, "cached", take(t, &q, mpsc.LIFO), 1, 2)
	if s := q.TryAcquire(&c, mpsc.LIFO); s != mpsc.Empty || !q.Empty() {
		t.Errorf("TryAcquire = %v, Empty = %v on a sealed queue with nothing left", s, q.Empty())
	}
}

// TestQueueUnlinksRefusedNode checks that a refused node carries no link.
func TestQueueUnlinksRefusedNode(t *testing.T) {
	its := newItems(3)
	listOf(its...) // leaves links in the nodes
	var q mpsc.Queue
	q.Seal(new(mpsc.List))
	q.Push(&its[0].node)
	if its[0].node != (mpsc.Node{}) {
		t.Error("a refused node carries a link")
	}
}

// TestQueueMisuse checks that a call that needs the token panics without it. A second
// TryAcquire of the holder panics too. Z-046.
func TestQueueMisuse(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	wantPanic(t, "mpsc: Release: the consumer holds no token", func() { c.Release() })
	wantPanic(t, "mpsc: Pop: the consumer holds no token", func() { c.Pop() })
	wantPanic(t, "mpsc: More: the consumer holds no token", func() { c.More() })
	q.Push(new(mpsc.Node))
	q.TryAcquire(&c, mpsc.LIFO)
	wantPanic(t, "mpsc: TryAcquire: the consumer holds a token already", func() { q.TryAcquire(&c, mpsc.LIFO) })
	c.Pop()
	c.Release()
	wantPanic(t, "mpsc: Release: the consumer holds no token", func() { c.Release() })
}

// TestNodeSize checks that a node takes one word. Z-007.
func TestNodeSize(t *testing.T) {
	if got := unsafe.Sizeof(mpsc.Node{}); got != unsafe.Sizeof(uintptr(0)) {
		t.Errorf("a Node takes %d bytes", got)
	}
}

// TestNoAllocation checks that the queues allocate nothing. Z-007.
func TestNoAllocation(t *testing.T) {
	var q mpsc.Queue
	its := newItems(4)
	n := testing.AllocsPerRun(100, func() {
		var l mpsc.List
		for _, it := range its[1:] {
			l.Push(&it.node)
		}
		q.Push(&its[0].node)
		q.PushList(&l)
		var c mpsc.Consumer
		q.TryAcquire(&c, mpsc.FIFO)
		for c.Pop() != nil {
		}
		c.Release()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestStrings checks that orders and statuses print their names. Unknown values print
// their numbers.
func TestStrings(t *testing.T) {
	for want, s := range map[string]interface{ String() string }{
		"LIFO": mpsc.LIFO, "FIFO": mpsc.FIFO, "Order(7)": mpsc.Order(7),
		"acquired": mpsc.Acquired, "empty": mpsc.Empty, "contended": mpsc.Contended, "Status(9)": mpsc.Status(9),
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestQueueModel checks that random programs of two consumers in both orders behave as
// slices do. Z-042, Z-044, Z-047, Z-050, Z-052, Z-054.
func TestQueueModel(t *testing.T) {
	orders := []mpsc.Order{mpsc.LIFO, mpsc.FIFO}
	rapid.Check(t, func(t *rapid.T) {
		var (
			q      mpsc.Queue
			cons   [2]mpsc.Consumer
			holder = -1
			order  mpsc.Order
			pushes [][]int // not grabbed
			grab   []int   // held by the consumer, or cached
			sealed bool
			n      int
			loose  []*item // popped or refused: pushed again with the links that they carry
		)
		fresh := func() *item {
			if len(loose) > 0 && rapid.Bool().Draw(t, "reuse") {
				it := loose[0]
				loose = loose[1:]
				it.seq = n
				n++
				return it
			}
			n++
			return &item{seq: n - 1}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				it := fresh()
				if ok := q.Push(&it.node); ok == sealed {
					t.Fatalf("Push = %v, sealed = %v", ok, sealed)
				}
				if sealed {
					loose = append(loose, it)
					return
				}
				pushes = append(pushes, []int{it.seq})
			},
			"pushList": func(t *rapid.T) {
				var l mpsc.List
				var ids []int
				for range rapid.IntRange(0, 4).Draw(t, "len") {
					it := fresh()
					l.Push(&it.node)
					ids = append(ids, it.seq)
				}
				if ok := q.PushList(&l); ok == sealed {
					t.Fatalf("PushList = %v, sealed = %v", ok, sealed)
				}
				if sealed {
					wantSeqs(t, "refused list", seqs(l.Pop), ids...)
					return
				}
				if !l.Empty() {
					t.Fatalf("PushList left %d nodes", l.Len())
				}
				if len(ids) > 0 {
					pushes = append(pushes, ids)
				}
			},
			"acquire": func(t *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(t, "consumer")
				if i == holder {
					t.Skip("the consumer holds the token")
				}
				o := rapid.SampledFrom(orders).Draw(t, "order")
				want := mpsc.Acquired
				switch {
				case holder >= 0:
					want = mpsc.Contended
				case len(grab)+len(pushes) == 0:
					want = mpsc.Empty
				}
				if got := q.TryAcquire(&cons[i], o); got != want {
					t.Fatalf("TryAcquire = %v, want %v", got, want)
				}
				if want == mpsc.Acquired {
					holder, order = i, o
				}
			},
			"pop": func(t *rapid.T) {
				if holder < 0 {
					t.Skip("the token is free")
				}
				if len(grab) == 0 {
					if order == mpsc.LIFO {
						slices.Reverse(pushes)
					}
					grab = slices.Concat(pushes...)
					pushes = nil
				}
				got := cons[holder].Pop()
				if (got == nil) != (len(grab) == 0) {
					t.Fatalf("Pop = %v with %d nodes", got, len(grab))
				}
				if got == nil {
					return
				}
				it := itemOf(got)
				if it.seq != grab[0] {
					t.Fatalf("Pop = node %d, want %d", it.seq, grab[0])
				}
				if it.node != (mpsc.Node{}) {
					t.Fatalf("Pop left a link in node %d", it.seq)
				}
				grab = grab[1:]
				loose = append(loose, it)
			},
			"release": func(t *rapid.T) {
				if holder < 0 {
					t.Skip("the token is free")
				}
				want := len(grab)+len(pushes) > 0
				if got := cons[holder].Release(); got != want {
					t.Fatalf("Release = %v, want %v", got, want)
				}
				holder = -1
			},
			"seal": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") != 0 {
					t.Skip("not yet")
				}
				var l mpsc.List
				if got := q.Seal(&l); got == sealed {
					t.Fatalf("Seal = %v, sealed = %v", got, sealed)
				}
				wantSeqs(t, "sealed", seqs(l.Pop), slices.Concat(pushes...)...)
				pushes, sealed = nil, true
			},
			"": func(t *rapid.T) {
				want := len(pushes) == 0 && (holder >= 0 || len(grab) == 0)
				if got := q.Empty(); got != want {
					t.Fatalf("Empty = %v, want %v", got, want)
				}
				if got, want := q.Available(), holder < 0 && len(pushes)+len(grab) > 0; got != want {
					t.Fatalf("Available = %v, want %v", got, want)
				}
				if got, want := q.Quiet(), holder < 0 && len(pushes)+len(grab) == 0; got != want {
					t.Fatalf("Quiet = %v, want %v", got, want)
				}
			},
		})
	})
}

// TestQueueNilPanics checks that a nil argument or receiver panics in the caller. The
// queue or the list stays unchanged. V-01.
func TestQueueNilPanics(t *testing.T) {
	its := newItems(2)
	var q mpsc.Queue
	q.Push(&its[0].node)
	l := listOf(its[1])
	var c mpsc.Consumer
	for name, fn := range map[string]func(){
		"Queue.Push":     func() { q.Push(nil) },
		"Queue.PushList": func() { q.PushList(nil) },
		"TryAcquire":     func() { q.TryAcquire(nil, mpsc.LIFO) },
		"List.Push":      func() { l.Push(nil) },
		"List.Append":    func() { l.Append(nil) },
		"nil queue":      func() { (*mpsc.Queue)(nil).Push(&its[0].node) },
		"nil consumer":   func() { (*mpsc.Consumer)(nil).Pop() },
	} {
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Errorf("%s of nil does not panic", name)
				}
			}()
			fn()
		}()
	}
	if l.Len() != 1 || !q.PushList(l) {
		t.Errorf("the list has %d nodes, want 1", l.Len())
	}
	if s := q.TryAcquire(&c, mpsc.FIFO); s != mpsc.Acquired {
		t.Fatalf("TryAcquire = %v", s)
	}
	wantSeqs(t, "popped", seqs(c.Pop), 0, 1)
	c.Release()
}

// TestPutBack checks that nodes that are put back are popped first and in their order.
// The law also holds for the next consumer.
func TestPutBack(t *testing.T) {
	var q mpsc.Queue
	var nodes [6]mpsc.Node
	for i := range 4 {
		q.Push(&nodes[i])
	}
	var c mpsc.Consumer
	if q.TryAcquire(&c, mpsc.FIFO) != mpsc.Acquired {
		t.Fatal("the token is taken")
	}
	var l mpsc.List
	c.PutBack(&l) // no node
	l.Push(c.Pop())
	l.Push(c.Pop())
	q.Push(&nodes[4])
	c.PutBack(&l)
	if !l.Empty() {
		t.Error("the list has nodes")
	}
	if c.Pop() != &nodes[0] || !c.Release() {
		t.Error("the first node is not the next one, or none is left")
	}
	q.Push(&nodes[5])
	if q.TryAcquire(&c, mpsc.FIFO) != mpsc.Acquired {
		t.Fatal("the token is taken")
	}
	for i := 1; i < 6; i++ {
		if c.Pop() != &nodes[i] {
			t.Fatalf("node %d is not the next one", i)
		}
	}
	if c.Release() {
		t.Error("nodes are left")
	}
	defer func() {
		if recover() == nil {
			t.Error("a consumer without the token puts nodes back")
		}
	}()
	c.PutBack(&l)
}
