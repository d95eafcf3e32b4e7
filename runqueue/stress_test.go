package runqueue_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
	"github.com/lanewright/lanewright/runqueue"
)

// collect runs the garbage collector until stop is called.
func collect() (stop func()) {
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			runtime.GC()
		}
	})
	return func() {
		done.Store(true)
		wg.Wait()
	}
}

// stressItems returns the number of nodes of a stress test.
func stressItems() int {
	if testing.Short() {
		return 4_000
	}
	return 600_000
}

// checkOnce fails the test unless each item was taken exactly once.
func checkOnce(t *testing.T, items []item) {
	t.Helper()
	for i := range items {
		if got := items[i].taken; got != 1 {
			t.Fatalf("node %d was taken %d times", i, got)
		}
	}
}

// TestRingExactlyOnce checks that the owner or a thief takes every node exactly once
// while the indices wrap. The owner and each steal take nodes in order. Z-020, Z-022,
// Z-023, Z-024, Z-025, Z-028, Z-032.
func TestRingExactlyOnce(t *testing.T) {
	rnd := newRand(t)
	const thieves = 3
	items := make([]item, stressItems())
	var left atomic.Int64
	left.Store(int64(len(items)))
	take := func(n *mpsc.Node) int {
		it := itemOf(n)
		it.taken++ // plain memory: the goroutine that took the node owns it
		left.Add(-1)
		return it.seq
	}
	stop := collect()
	defer stop()
	r := runqueue.NewRingAt(nearWrap)
	var wg sync.WaitGroup
	for k := range thieves {
		wg.Go(func() {
			rng := rnd(k)
			mine := runqueue.NewRingAt(nearWrap)
			for left.Load() > 0 {
				n, moved, s := r.StealInto(mine)
				if (n != nil) != (s == mpsc.Acquired) || (moved > 0) != (n != nil) || moved > half {
					t.Errorf("StealInto = %v, %d, %v", n, moved, s)
					return
				}
				if n == nil {
					runtime.Gosched()
					continue
				}
				last := take(n)
				for range moved - 1 {
					n = mine.Pop()
					if n == nil {
						t.Errorf("StealInto moved fewer than the %d nodes that it returned", moved)
						return
					}
					seq := take(n)
					if seq <= last {
						t.Errorf("a thief got node %d after node %d", seq, last)
					}
					last = seq
				}
				if rng.IntN(8) == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	rng := rnd(thieves)
	last := -1
	pop := func() bool {
		n := r.Pop()
		if n == nil {
			return false
		}
		seq := take(n)
		if seq <= last {
			t.Errorf("the owner popped node %d after node %d", seq, last)
		}
		last = seq
		return true
	}
	var waiting mpsc.List
	for i := 0; i < len(items) || !waiting.Empty(); {
		switch x := rng.IntN(16); {
		case x < 5:
			pop()
		case x < 6:
			want := rng.IntN(3)
			n := r.TakeNewest(func(n *mpsc.Node) bool { return itemOf(n).seq%3 == want }, 4)
			if n != nil {
				take(n)
			}
		case x < 9:
			for range rng.IntN(half) {
				if i < len(items) {
					items[i].seq = i
					waiting.Push(&items[i].node)
					i++
				}
			}
			r.PushList(&waiting)
		case !waiting.Empty() || i == len(items): // otherwise the order would be lost
			if r.PushList(&waiting) == 0 && !pop() {
				runtime.Gosched()
			}
		default:
			items[i].seq = i
			if r.Push(&items[i].node) {
				i++
			} else if !pop() {
				runtime.Gosched()
			}
		}
	}
	for pop() {
	}
	wg.Wait()
	checkOnce(t, items)
}

// TestQueueExactlyOnce checks that every node is taken exactly once. Workers push nodes
// and lists to their own queues and to an injection queue. They take in the order of a
// scheduler. Z-032, Z-037, Z-039, Z-041.
func TestQueueExactlyOnce(t *testing.T) {
	rnd := newRand(t)
	const workers = 4
	items := make([]item, stressItems())
	var left atomic.Int64
	left.Store(int64(len(items)))
	stop := collect()
	defer stop()
	var inj mpsc.Queue
	var qs [workers]*runqueue.Queue
	for k := range qs {
		qs[k] = runqueue.NewQueueAt(nearWrap)
	}
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			rng := rnd(k)
			q := qs[k]
			own := items[k*len(items)/workers : (k+1)*len(items)/workers]
			list := func() *mpsc.List {
				l := new(mpsc.List)
				for range min(len(own), rng.IntN(2*capacity)) {
					l.Push(&own[0].node)
					own = own[1:]
				}
				return l
			}
			next := func() *mpsc.Node {
				if n := q.Pop(); n != nil {
					return n
				}
				if n, _ := q.Refill(); n != nil {
					return n
				}
				if n, _ := q.RefillFrom(&inj, mpsc.Order(rng.IntN(2))); n != nil {
					return n
				}
				for i := range workers - 1 {
					if n, _ := q.StealFrom(qs[(k+1+i)%workers]); n != nil {
						return n
					}
				}
				return nil
			}
			for left.Load() > 0 {
				switch x := rng.IntN(64); {
				case len(own) == 0 || x < 26:
					for range 1 + rng.IntN(4) {
						if n := next(); n != nil {
							itemOf(n).taken++
							left.Add(-1)
						} else {
							runtime.Gosched()
						}
					}
				case x < 58:
					q.Push(&own[0].node)
					own = own[1:]
				case x < 59:
					q.PushList(list())
				case x < 60:
					qs[rng.IntN(workers)].PushOverflow(list())
				case x < 61:
					inj.PushList(list())
				case x < 62:
					if n, _ := q.TakeOverflow(); n != nil {
						q.Push(n)
					}
				case x < 63:
					if n := q.TakeNewest(func(*mpsc.Node) bool { return rng.IntN(2) == 0 }, 8); n != nil {
						q.Push(n)
					}
				default:
					var l mpsc.List
					if rng.IntN(2) == 0 {
						q.Drain(&l)
					} else {
						qs[(k+1)%workers].StealAll(&l)
					}
					q.PushList(&l)
				}
			}
		})
	}
	wg.Wait()
	checkOnce(t, items)
	for k, q := range qs {
		if !q.Empty() || q.Len() != 0 {
			t.Errorf("queue %d: Len = %d, Empty = %v at the end", k, q.Len(), q.Empty())
		}
	}
}

// TestQueueNotifies checks that no node is left when workers act on pushed. A worker
// that has pushed, or that gets pushed from a take, looks for one node in all queues.
// It ends when it finds none. Z-055, Z-057.
func TestQueueNotifies(t *testing.T) {
	rnd := newRand(t)
	const workers = 4
	rounds := stressItems() / 100
	for round := range rounds {
		var qs [workers]runqueue.Queue
		items := make([]item, workers*8)
		var start, wg sync.WaitGroup
		start.Add(1)
		for k := range workers {
			wg.Go(func() {
				rng := rnd(round*workers + k)
				q := &qs[k]
				search := func() bool {
					for i := range workers {
						var n *mpsc.Node
						var pushed bool
						if i == 0 {
							if n = q.Pop(); n == nil {
								n, pushed = q.Refill()
							} else {
								pushed = !q.Empty()
							}
						} else {
							n, pushed = q.StealFrom(&qs[(k+i)%workers])
						}
						if n != nil {
							itemOf(n).taken++
							return pushed
						}
					}
					return false
				}
				start.Wait()
				for i := range 8 {
					it := &items[k*8+i]
					if rng.IntN(2) == 0 {
						q.Push(&it.node)
					} else {
						q.PushOverflow(listOf(it))
					}
					for search() {
					}
				}
			})
		}
		start.Done()
		wg.Wait()
		for k := range qs {
			if !qs[k].Empty() {
				t.Fatalf("round %d: a node is left in queue %d after every notification was answered", round, k)
			}
		}
		checkOnce(t, items)
	}
}
