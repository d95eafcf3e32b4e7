package mpsc_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/mpsc"
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
	return 500_000
}

// TestQueueExactlyOnce checks that every node is popped exactly once and that no node
// is left. With FIFO a node is popped in the order of its producer. Every producer
// serves the queue after its push. It returns when another producer holds the token.
// That holder continues while its Release returns true (B7). Z-036, Z-042, Z-043,
// Z-048, Z-054.
func TestQueueExactlyOnce(t *testing.T) {
	for _, o := range []mpsc.Order{mpsc.LIFO, mpsc.FIFO} {
		t.Run("order="+o.String(), func(t *testing.T) {
			rnd := newRand(t)
			const producers = 4
			n := stressItems() / producers
			var q mpsc.Queue
			// Plain memory: only the holder of the token accesses it.
			popped, last := 0, [producers]int{}
			serve := func(visit int) {
				for {
					var c mpsc.Consumer
					if q.TryAcquire(&c, o) != mpsc.Acquired {
						return
					}
					for range visit {
						x := c.Pop()
						if x == nil {
							break
						}
						it := itemOf(x)
						it.taken++
						popped++
						if o == mpsc.FIFO && it.seq != last[it.producer] {
							t.Errorf("producer %d: node %d came after %d", it.producer, it.seq, last[it.producer]-1)
						}
						last[it.producer] = it.seq + 1
					}
					if !c.Release() {
						return
					}
				}
			}
			stop := collect()
			defer stop()
			all := make([][]item, producers)
			var wg sync.WaitGroup
			for p := range producers {
				all[p] = make([]item, n)
				wg.Go(func() {
					rng := rnd(p)
					for i := 0; i < n; {
						size := min(rng.IntN(8), n-i)
						var l mpsc.List
						for range size {
							it := &all[p][i]
							it.producer, it.seq = p, i
							l.Push(&it.node)
							i++
						}
						if size == 1 {
							q.Push(l.Pop())
						} else {
							q.PushList(&l)
						}
						serve(1 + rng.IntN(16))
					}
				})
			}
			wg.Wait()
			if !q.Empty() {
				t.Error("nodes are left after every Release that returned true was answered")
			}
			if popped != producers*n {
				t.Errorf("popped %d of %d nodes", popped, producers*n)
			}
			for p := range all {
				for i := range all[p] {
					if got := all[p][i].taken; got != 1 {
						t.Fatalf("node %d of producer %d was popped %d times", i, p, got)
					}
				}
			}
		})
	}
}

// TestQueueSealStress has a seal between the pushes and checks that each push has
// exactly one of three outcomes. It is refused, its nodes are popped, or Seal returns
// them.
func TestQueueSealStress(t *testing.T) {
	rnd := newRand(t)
	rounds := stressItems() / 400
	for round := range rounds {
		const producers, consumers, n = 3, 2, 40
		var q mpsc.Queue
		var items [producers][n]item
		var refused [producers][]*item
		var popped [consumers][]*item
		var sealed mpsc.List
		var start, wg, prod sync.WaitGroup
		var over atomic.Bool
		start.Add(1)
		for p := range producers {
			prod.Go(func() {
				rng := rnd(round<<8 | p)
				start.Wait()
				for i := 0; i < n; {
					var l mpsc.List
					for range min(1+rng.IntN(3), n-i) {
						l.Push(&items[p][i].node)
						i++
					}
					if !q.PushList(&l) {
						for x := l.Pop(); x != nil; x = l.Pop() {
							refused[p] = append(refused[p], itemOf(x))
						}
					}
				}
			})
		}
		for k := range consumers {
			wg.Go(func() {
				rng := rnd(round<<8 | 100 + k)
				start.Wait()
				for !over.Load() {
					var c mpsc.Consumer
					if q.TryAcquire(&c, mpsc.Order(rng.IntN(2))) != mpsc.Acquired {
						runtime.Gosched()
						continue
					}
					for range rng.IntN(6) {
						if x := c.Pop(); x != nil {
							popped[k] = append(popped[k], itemOf(x))
						}
					}
					c.Release()
				}
			})
		}
		wg.Go(func() {
			rng := rnd(round<<8 | 200)
			start.Wait()
			for range rng.IntN(20) {
				runtime.Gosched()
			}
			if !q.Seal(&sealed) {
				t.Error("Seal = false")
			}
		})
		start.Done()
		prod.Wait()
		over.Store(true)
		wg.Wait()
		for x := sealed.Pop(); x != nil; x = sealed.Pop() {
			itemOf(x).taken++
		}
		for _, list := range append(refused[:], popped[:]...) {
			for _, it := range list {
				it.taken++
			}
		}
		var c mpsc.Consumer
		if q.TryAcquire(&c, mpsc.LIFO) == mpsc.Acquired {
			for x := c.Pop(); x != nil; x = c.Pop() {
				itemOf(x).taken++
			}
			c.Release()
		}
		for p := range items {
			for i := range items[p] {
				if got := items[p][i].taken; got != 1 {
					t.Fatalf("round %d: node %d of producer %d was seen %d times", round, i, p, got)
				}
			}
		}
	}
}
