package interleave_test

import (
	"fmt"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// explore runs a program of two threads in every order, and says how that went.
func explore(body func(m *interleave.M)) string {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All}, body)
	if r.Failure != nil {
		return r.Failure.Message
	}
	return fmt.Sprintf("complete: %t", r.Complete)
}

// A flag that is claimed by a compare-and-swap is claimed once; one that is read
// first and then set is claimed twice.
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

// Two transfers between two accounts: the sum is right at the end, and not at
// every moment.
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

// Each thread sets a bit of its own, and both find theirs at the end.
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

// Two halves of one word, changed by loops around a compare-and-swap.
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

// An owner is known by a number; the lock is given back by its owner only.
func ExampleUintptr() {
	fmt.Println(explore(func(m *interleave.M) {
		var owner interleave.Uintptr
		for id := range uintptr(2) {
			m.Go("worker", func() {
				if owner.CompareAndSwap(0, id+1) && owner.Swap(0) != id+1 {
					m.Fatalf("somebody else gave it back")
				}
			})
		}
	}))
	// Output: complete: true
}

// A stack that is pushed to with one compare-and-swap loses no node.
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
				m.Fatalf("the stack has not two nodes")
			}
		})
	}))
	// Output: complete: true
}

// The same executions on either backend.
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

// What goes wrong is told by kind.
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
				for {
					interleave.Yield()
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

// The body builds the program with an M: threads, names for the trace, and what
// must hold at the end.
func ExampleM() {
	interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var ready interleave.Bool
		m.Name(&ready, "ready")
		m.Go("writer", func() { ready.Store(true) })
		var never interleave.Sema
		never.Init(1)
		m.GoDaemon("idler", never.Wait) // need not end
		m.Final(func() { fmt.Println("ready:", ready.Load()) })
	})
	// Output: ready: true
}

func ExampleResult() {
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All, SleepSets: true}, func(m *interleave.M) {
		var a, b interleave.Int32 // which do not touch each other
		m.Go("a", func() { a.Add(1) })
		m.Go("b", func() { b.Add(1) })
	})
	fmt.Println(r.Executions, r.Complete, r.Failure)
	// Output: 1 true <nil>
}

// Random finds bugs that many orders have, and says nothing about the others.
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

// A *testing.T is a TB; so is anything else that tells of a failure.
func ExampleTB() {
	var _ interleave.TB = (*testing.T)(nil)
	r := interleave.Check(printTest{}, "nothing", interleave.Options{}, func(m *interleave.M) {
		m.Go("a", func() {})
	})
	fmt.Println(r.Failure == nil)
	// Output:
	// model nothing executions=1 pruned=0 preemptions=0 complete=true
	// true
}
