package linear_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var seed = flag.Uint64("stress.seed", 0, "seed of the sampled programs; 0 chooses one")

// sampled runs random programs on goroutines and checks each history. The seed
// determines the programs, but not the interleaving.
func sampled(t *testing.T, fresh func() subject, w words) {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with -run '^%s$' -stress.seed=%d", t.Name(), s)
	rounds := 8000
	if testing.Short() {
		rounds = 800
	}
	rng := rand.New(rand.NewPCG(s, 0))
	overlapping := 0
	for round := range rounds {
		p := randomProgram(rng, w)
		r := run{fresh(), new(history)}
		r.do(0, p.setup, func() {})
		var ready atomic.Int32
		var wg sync.WaitGroup
		for th, ops := range p.threads {
			wg.Go(func() {
				ready.Add(1)
				for i := 1; int(ready.Load()) < len(p.threads); i++ { // the operations have to overlap
					if i%1000 == 0 {
						runtime.Gosched()
					}
				}
				r.do(th, ops, func() {})
			})
		}
		wg.Wait()
		r.finish()
		if !r.linearizable() {
			t.Fatalf("round %d: the history of %v is not linearizable:\n%v", round, p, r.history)
		}
		for th := range r.events {
			for i := range r.events[th] {
				if r.overlaps(&r.events[th][i], func(*event) bool { return true }) {
					overlapping++
				}
			}
		}
	}
	t.Logf("%d operations overlapped in %d histories", overlapping, rounds)
}

// randomProgram makes a program of two to four threads. Some programs begin with pushes
// that fill a ring, fewer of them when the ring is larger.
func randomProgram(rng *rand.Rand, w words) program {
	pick := func(_ string, n int) int { return rng.IntN(n) }
	var p program
	setup := rng.IntN(4)
	if rng.IntN(capacity/2) == 0 {
		setup = capacity - rng.IntN(3)
	}
	for range setup {
		p.setup = append(p.setup, op{"push", -1})
	}
	threads := 2 + rng.IntN(2)*rng.IntN(maxThreads-1) // two in most cases: the machine may have two processors
	for th := range threads {
		var ops []op
		for range 2 + rng.IntN(8/threads) {
			ops = append(ops, w.ops(th, threads, pick)...)
		}
		p.threads = append(p.threads, ops)
	}
	return p
}

// TestLinearQueue checks sampled histories of an mpsc.Queue.
func TestLinearQueue(t *testing.T) { sampled(t, newQueueSubject, queueWords) }

// TestLinearRing checks sampled histories of rings, one of each thread.
func TestLinearRing(t *testing.T) { sampled(t, newRingSubject, ringWords) }

// TestLinearRunQueue checks sampled histories of run queues, one of each thread.
func TestLinearRunQueue(t *testing.T) { sampled(t, newRunSubject, runWords) }
