package interleave_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// explore explores a program without a bound and returns the result as text.
func explore(body func(m *interleave.M)) string {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, body)
	if r.Failure != nil {
		return r.Failure.Message
	}
	return fmt.Sprintf("complete: %t", r.Complete)
}

// Only one thread claims a flag by compare-and-swap. Two threads that load the flag
// and then store it can both claim it.
func ExampleBool() {
	for _, atomic := range []bool{true, false} {
		fmt.Println(explore(func(m *interleave.M) {
			var taken interleave.Bool
			var winners [2]bool
			for i := range winners {
				m.Go("claim", func() {
					if atomic {
						winners[i] = taken.CompareAndSwap(false, true)
					} else if !taken.Load() {
						taken.Store(true)
						winners[i] = true
					}
				})
			}
			m.Final(func() {
				if winners[0] == winners[1] {
					m.Fatalf("winners: %v", winners)
				}
			})
		}))
	}
	// Output:
	// complete: true
	// winners: [true true]
}

// Two atomic additions in any order have the same sum.
func ExampleInt32() {
	fmt.Println(explore(func(m *interleave.M) {
		var n interleave.Int32
		m.Go("up", func() { n.Add(2) })
		m.Go("down", func() { n.Add(-2) })
		m.Final(func() {
			if n.Load() != 0 {
				m.Fatalf("n = %d", n.Load())
			}
		})
	}))
	// Output: complete: true
}

// A transfer between two accounts keeps their sum at its end, and not between its two
// steps.
func ExampleInt64() {
	fmt.Println(explore(func(m *interleave.M) {
		var a, b interleave.Int64
		a.Store(100)
		m.Go("transfer", func() {
			a.Add(-30)
			b.Add(30)
		})
		m.Go("audit", func() {
			if sum := a.Load() + b.Load(); sum != 100 {
				m.Fatalf("the sum is %d", sum)
			}
		})
	}))
	// Output: the sum is 70
}

// Each thread sets a bit of its own. Both bits are set at the end.
func ExampleUint32() {
	fmt.Println(explore(func(m *interleave.M) {
		var bits interleave.Uint32
		m.Go("low", func() { bits.Or(1) })
		m.Go("high", func() { bits.Or(1 << 31) })
		m.Final(func() {
			if got := bits.Load(); got != 1|1<<31 {
				m.Fatalf("bits = %#x", got)
			}
		})
	}))
	// Output: complete: true
}

// Two threads change the halves of one word by loops around a compare-and-swap.
func ExampleUint64() {
	fmt.Println(explore(func(m *interleave.M) {
		var word interleave.Uint64
		for _, one := range []uint64{1, 1 << 32} {
			m.Go("add", func() {
				for {
					old := word.Load()
					if word.CompareAndSwap(old, old+one) {
						return
					}
				}
			})
		}
		m.Final(func() {
			if got := word.Load(); got != 1<<32+1 {
				m.Fatalf("word = %#x", got)
			}
		})
	}))
	// Output: complete: true
}

// The word holds the number of the owner of a lock. Only the owner releases the
// lock.
func ExampleUintptr() {
	fmt.Println(explore(func(m *interleave.M) {
		var owner interleave.Uintptr
		for id := range uintptr(2) {
			m.Go("worker", func() {
				if owner.CompareAndSwap(0, id+1) && owner.Swap(0) != id+1 {
					m.Fatalf("another worker has released the lock")
				}
			})
		}
	}))
	// Output: complete: true
}

// Two pushes to a stack, each by one compare-and-swap, lose no node.
func ExamplePointer() {
	type node struct{ next *node }
	fmt.Println(explore(func(m *interleave.M) {
		var top interleave.Pointer[node]
		for range 2 {
			m.Go("push", func() {
				n := new(node)
				for {
					n.next = top.Load()
					if top.CompareAndSwap(n.next, n) {
						return
					}
				}
			})
		}
		m.Final(func() {
			if n := top.Load(); n == nil || n.next == nil || n.next.next != nil {
				m.Fatalf("the stack does not have two nodes")
			}
		})
	}))
	// Output: complete: true
}

// Both backends run the same executions.
func ExampleBackend() {
	for _, b := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Backend: b}, func(m *interleave.M) {
			var n interleave.Int32
			m.Go("a", func() { n.Add(1) })
			m.Go("b", func() { n.Add(1) })
		})
		fmt.Println(b, r.Executions, r.Complete)
	}
	// Output:
	// coroutines 2 true
	// baton 2 true
}

// The kind of a failure distinguishes a panic, a deadlock and a livelock.
func ExampleKind() {
	for _, body := range []func(m *interleave.M){
		func(m *interleave.M) { m.Go("a", func() { panic("oops") }) },
		func(m *interleave.M) {
			var sema interleave.Sema
			sema.Init(1)
			m.Go("a", sema.Wait)
		},
		func(m *interleave.M) {
			m.Go("a", func() {
				var n interleave.Int32
				for {
					n.Add(1)
				}
			})
		},
	} {
		r := interleave.Explore(interleave.Options{MaxSteps: 50}, body)
		fmt.Println(r.Failure.Kind, r.Failure.Kind == interleave.Deadlock)
	}
	// Output:
	// panic false
	// deadlock true
	// livelock false
}

// The body builds the program with an M: its threads, the names for reports, and the
// check for the end.
func ExampleM() {
	interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var ready interleave.Bool
		m.Name(&ready, "ready")
		m.Go("writer", func() { ready.Store(true) })
		var never interleave.Sema
		never.Init(1)
		m.GoDaemon("idle", never.Wait) // a daemon need not end
		m.Final(func() { fmt.Println("ready:", ready.Load()) })
	})
	// Output: ready: true
}

// With sleep sets two steps on different objects need one execution.
func ExampleResult() {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
		var a, b interleave.Int32
		m.Go("a", func() { a.Add(1) })
		m.Go("b", func() { b.Add(1) })
	})
	fmt.Println(r.Executions, r.Complete, r.Failure)
	// Output: 1 true <nil>
}

// The zero options deepen: there is one search for each bound, and the first failure has
// the fewest preemptions.
func ExampleSearch() {
	r := interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var n interleave.Int32
		for range 2 {
			m.Go("add", func() { n.Store(n.Load() + 1) })
		}
		m.Final(func() {
			if n.Load() != 2 {
				m.Fatalf("counted %d", n.Load())
			}
		})
	})
	for _, s := range r.Searches {
		fmt.Println(s)
	}
	// Output:
	// executions=2 pruned=0 preemptions=0 complete=true
	// executions=2 pruned=0 preemptions=1 complete=false
}

// Each strategy finds the lost update of a counter.
func ExampleStrategy() {
	for _, s := range []interleave.Strategy{interleave.DFS, interleave.PCT, interleave.Random} {
		r := interleave.Explore(interleave.Options{Strategy: s, Preemptions: 1, Executions: 100}, func(m *interleave.M) {
			var n interleave.Int32
			for range 2 {
				m.Go("add", func() { n.Store(n.Load() + 1) })
			}
			m.Final(func() {
				if n.Load() != 2 {
					m.Fatalf("counted %d", n.Load())
				}
			})
		})
		fmt.Println(s, r.Failure.Message, r.Complete)
	}
	// Output:
	// dfs counted 1 false
	// pct counted 1 false
	// random counted 1 false
}

// A *testing.T is a TB, as is any other type with its methods.
func ExampleTB() {
	var _ interleave.TB = (*testing.T)(nil)
	r := interleave.Check(printTest{}, "nothing", interleave.Options{}, func(m *interleave.M) {
		m.Go("a", func() {})
	})
	fmt.Println(r.Failure == nil)
	// Output:
	// model nothing executions=1 pruned=0 preemptions=all complete=true
	// true
}
