package mpsc_test

import (
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
)

// The bad inputs of docs/VERIFICATION.md that concern the queue that all push to.

// TestNilNodes: what is nil panics at the caller, and leaves the queue or the list
// as it was. V-01.
func TestNilNodes(t *testing.T) {
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

// TestListsCrossed: lists that are appended to each other in turn make no cycle, and
// their length bounds every walk. V-03b.
func TestListsCrossed(t *testing.T) {
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
