package mpsc_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/lanewright/lanewright/mpsc"
)

// alive returns the number of items that the garbage collector has not freed.
func alive(ptrs []weak.Pointer[item]) int {
	runtime.GC()
	runtime.GC()
	n := 0
	for _, p := range ptrs {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// TestQueueRetainsNothing checks that a popped node is collectable at once. Other nodes
// of its push may still be queued.
func TestQueueRetainsNothing(t *testing.T) {
	var q mpsc.Queue
	var c mpsc.Consumer
	var ptrs []weak.Pointer[item]
	push := func(sizes ...int) {
		for _, n := range sizes {
			its := newItems(n)
			for _, it := range its {
				ptrs = append(ptrs, weak.Make(it))
			}
			q.PushList(listOf(its...))
		}
	}
	pop := func(n int) {
		t.Helper()
		for range n {
			if c.Pop() == nil {
				t.Fatal("Pop = nil")
			}
		}
	}
	push(4, 1, 3)
	for _, o := range []mpsc.Order{mpsc.LIFO, mpsc.FIFO} {
		q.TryAcquire(&c, o)
		pop(3)
		if got := alive(ptrs); got != len(ptrs)-3 {
			t.Errorf("%v: %d nodes are alive after 3 of %d were popped", o, got, len(ptrs))
		}
		c.Release()
		q.TryAcquire(&c, o)
		pop(len(ptrs) - 3)
		if got := alive(ptrs); got != 0 {
			t.Errorf("%v: %d nodes are alive after all were popped", o, got)
		}
		if c.Pop() != nil {
			t.Error("nodes are left")
		}
		c.Release()
		ptrs = nil
		push(1, 5, 1)
	}
	var l mpsc.List
	q.Seal(&l)
	for l.Pop() != nil {
	}
	if got := alive(ptrs); got != 0 {
		t.Errorf("%d nodes are alive after they were sealed and dropped", got)
	}
	runtime.KeepAlive(&l)
	runtime.KeepAlive(&q)
	runtime.KeepAlive(&c)
}

// TestQueueRetainsAll checks that nodes that only links of the queue point at are not
// collected. The nodes are pushed, grabbed, or in the cache.
func TestQueueRetainsAll(t *testing.T) {
	var q mpsc.Queue
	var ptrs []weak.Pointer[item]
	const lists, size = 64, 8
	for i := range lists {
		its := newItems(size)
		for k, it := range its {
			it.seq = i*size + k
			ptrs = append(ptrs, weak.Make(it))
		}
		q.PushList(listOf(its...))
	}
	next := 0
	for range 4 {
		check := func(where string) {
			t.Helper()
			if got := alive(ptrs[next:]); got != len(ptrs)-next {
				t.Fatalf("%s: %d of %d nodes are alive", where, got, len(ptrs)-next)
			}
		}
		check("queued")
		var c mpsc.Consumer
		q.TryAcquire(&c, mpsc.FIFO)
		for range len(ptrs) / 4 {
			if got := itemOf(c.Pop()).seq; got != next {
				t.Fatalf("got node %d, want %d", got, next)
			}
			next++
		}
		check("grabbed")
		c.Release()
	}
	if next != len(ptrs) || !q.Empty() {
		t.Errorf("popped %d of %d nodes", next, len(ptrs))
	}
}
