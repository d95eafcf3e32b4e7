package stress

import (
	"runtime"
	"sync/atomic"

	"github.com/lanewright/lanewright/mpsc"
)

// runRelease has producers that each push and then serve the queue, as the
// documentation of package mpsc describes: a producer that finds the token held relies
// on its holder. When all calls have returned, no node is left.
func runRelease(r *round) {
	producers, order := 2+r.rng.IntN(2), mpsc.Order(r.rng.IntN(2))
	rounds, per := r.size(1000), 1+r.rng.IntN(3)
	var q mpsc.Queue
	var popped atomic.Int64
	serve := func() {
		var c mpsc.Consumer
		for q.TryAcquire(&c, order) == mpsc.Acquired {
			for n := c.Pop(); n != nil; n = c.Pop() {
				popped.Add(1)
			}
			if !c.Release() {
				return
			}
		}
	}
	var arrived atomic.Int64 // at the end of a round, and at the start of the next
	meet := func(n int) {
		arrived.Add(1)
		for spins := 0; arrived.Load() < int64(n*producers); spins++ {
			if spins > 100 {
				runtime.Gosched()
			}
		}
	}
	r.concurrently(producers, func(i int) {
		nodes := make([]mpsc.Node, per)
		for n := range rounds {
			for k := range nodes {
				q.Push(&nodes[k])
				serve()
			}
			meet(2*n + 1)
			if got, want := popped.Load(), int64((n+1)*per*producers); got != want && i == 0 {
				r.Errorf("round %d: all calls have returned and %d of %d nodes were popped; queue empty: %v", n, got, want, q.Empty())
			}
			meet(2*n + 2)
			if r.Failed() {
				return
			}
		}
	})
	r.did(rounds * per * producers)
}
