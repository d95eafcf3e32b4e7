package interleave_test

import (
	"fmt"
	"strings"

	"github.com/lanewright/lanewright/interleave"
)

// A counter loses an update when a load and a store are two steps.
func Example() {
	r := interleave.Explore(interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var n interleave.Int32
		m.Name(&n, "n")
		for _, name := range []string{"a", "b"} {
			m.Go(name, func() { n.Store(n.Load() + 1) })
		}
		m.Final(func() {
			if n.Load() != 2 {
				m.Fatalf("counted %d", n.Load())
			}
		})
	})
	fmt.Println(r.Failure)
	// Output:
	// interleave: counted 1
	// execution 2, 1 preemption, schedule 0,1x2,0
	//     step  position            a(0)          b(1)
	//        1  example_test.go:16  n.Load() = 0
	// >>     2  example_test.go:16  |             n.Load() = 0
	//        3  example_test.go:16  |             n.Store(1)
	//  >     4  example_test.go:16  n.Store(1)
}

// A higher bound runs more executions. A complete exploration with All has run every
// order of the steps.
func ExampleExplore() {
	program := func(m *interleave.M) {
		var n interleave.Int32
		for range 3 {
			m.Go("add", func() {
				for range 2 {
					n.Add(1)
				}
			})
		}
		m.Final(func() {
			if n.Load() != 6 {
				m.Fatalf("counted %d", n.Load())
			}
		})
	}
	for _, bound := range []int{interleave.None, 1, 2, interleave.All} {
		r := interleave.Explore(interleave.Options{Preemptions: bound}, program)
		fmt.Println(r.Preemptions, r.Executions, r.Complete, r.Failure == nil)
	}
	// Output:
	// 0 6 true true
	// 1 24 true true
	// 2 60 true true
	// -1 90 true true
}

// printTest takes the place of the *testing.T of a test.
type printTest struct{}

func (printTest) Helper()                   {}
func (printTest) Name() string              { return "TestModelFlags" }
func (printTest) Logf(string, ...any)       {}
func (printTest) Errorf(s string, a ...any) { fmt.Printf(s, a...) }

// Two threads each set a flag and then load the flag of the other. At least one of
// them sees a set flag, because atomics are sequentially consistent.
func ExampleCheck() {
	t := printTest{} // in a test: its t *testing.T
	interleave.Check(t, "flags", interleave.Options{Preemptions: interleave.All}, func(m *interleave.M) {
		var flags [2]interleave.Bool
		var saw [2]bool
		for i := range flags {
			m.Go("thread", func() {
				flags[i].Store(true)
				saw[i] = flags[1-i].Load()
			})
		}
		m.Final(func() {
			if !saw[0] && !saw[1] {
				m.Fatalf("neither thread saw the flag of the other")
			}
		})
	})
	// Output:
	// model flags executions=6 pruned=0 preemptions=all complete=true
}

// Two threads that take two locks in opposite orders deadlock. The report names both
// threads and both locks.
func ExampleMutex() {
	r := interleave.Explore(interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		var left, right interleave.Mutex
		m.Name(&left, "left")
		m.Name(&right, "right")
		both := func(first, second *interleave.Mutex) func() {
			return func() {
				first.Lock()
				defer first.Unlock()
				second.Lock()
				defer second.Unlock()
			}
		}
		m.Go("a", both(&left, &right))
		m.Go("b", both(&right, &left))
	})
	for _, wait := range strings.Split(r.Failure.Message, "; ") {
		wait, _, _ = strings.Cut(wait, " at ")
		fmt.Println(wait)
	}
	// Output:
	// deadlock: thread a waits in Lock of right
	// thread b waits in Lock of left
}

// A buffer that is still used after its Put is shared with the thread that gets it.
func ExamplePool() {
	r := interleave.Explore(interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		buffers := interleave.Pool{New: func() any { return new(interleave.Cell[string]) }}
		m.Name(&buffers, "buffers")
		for _, name := range []string{"a", "b"} {
			m.Go(name, func() {
				b := buffers.Get().(*interleave.Cell[string])
				m.Name(b, "buffer")
				b.Set(name)
				buffers.Put(b)
				if got := b.Get(); got != name { // too late
					m.Fatalf("%s reads %s", name, got)
				}
			})
		}
	})
	for _, access := range strings.Split(r.Failure.Message, " is not ordered after ") {
		access, _, _ = strings.Cut(access, " at ")
		fmt.Println(access)
	}
	// Output:
	// data race on buffer: the write by thread b
	// the read by thread a
}

// A value that is published before it is written is a data race, also in an
// execution that reads the right value.
func ExampleCell() {
	r := interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var value interleave.Cell[string]
		var ready interleave.Bool
		m.Name(&value, "value")
		m.Go("writer", func() {
			ready.Store(true)
			value.Set("hello")
		})
		m.Go("reader", func() {
			if ready.Load() {
				_ = value.Get()
			}
		})
	})
	fmt.Println(r.Failure.Kind)
	fmt.Println(strings.Contains(r.Failure.Message, "the read by thread reader"))
	// Output:
	// race
	// true
}

// A worker that looks for work and then parks misses work that arrives in between,
// unless it looks again after it has announced that it parks.
func ExampleSema() {
	for _, again := range []bool{false, true} {
		r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
			var work, parked interleave.Bool
			var sema interleave.Sema
			sema.Init(1)
			m.Go("worker", func() {
				if work.Load() {
					return
				}
				parked.Store(true)
				if again && work.Load() {
					return
				}
				sema.Wait()
			})
			m.Go("caller", func() {
				work.Store(true)
				if parked.Load() {
					sema.Post()
				}
			})
		})
		if r.Failure != nil {
			fmt.Println(r.Failure.Kind)
		} else {
			fmt.Println("complete:", r.Complete)
		}
	}
	// Output:
	// deadlock
	// complete: true
}

// Choose makes a decision that is not up to the program: here, whether a spawn fails.
func ExampleChoose() {
	outcomes := map[string]int{}
	interleave.Explore(interleave.Options{}, func(m *interleave.M) {
		var ran interleave.Bool
		m.Go("caller", func() {
			if interleave.Choose(2) == 1 {
				outcomes["spawn failed"]++
				return
			}
			interleave.Go("worker", func() { ran.Store(true) })
		})
		m.Final(func() {
			if ran.Load() {
				outcomes["ran"]++
			}
		})
	})
	fmt.Println(outcomes)
	// Output: map[ran:1 spawn failed:1]
}

// The holder of a lock that stops blocks all other threads, so a lock is not
// lock-free.
func ExampleOptions_crash() {
	r := interleave.Explore(interleave.Options{Crash: "holder"}, func(m *interleave.M) {
		var lock interleave.Sema
		lock.Init(1)
		lock.Post()
		for _, name := range []string{"holder", "other"} {
			m.Go(name, func() {
				lock.Wait()
				lock.Post()
			})
		}
	})
	fmt.Println(r.Failure.Kind, r.Failure.Schedule)
	// Output: deadlock 0,0k
}

// Options.Replay runs the schedule of a failure again.
func ExampleFailure() {
	program := func(m *interleave.M) {
		var n interleave.Int32
		m.Go("a", func() { n.Store(1) })
		m.Go("b", func() { n.Store(2) })
		m.Final(func() {
			if n.Load() == 1 {
				m.Fatalf("a was last")
			}
		})
	}
	first := interleave.Explore(interleave.Options{Strategy: interleave.Random, Seed: 1}, program)
	again := interleave.Explore(interleave.Options{Replay: first.Failure.Schedule}, program)
	fmt.Println(again.Executions, again.Failure.Schedule, again.Failure.Message)
	// Output: 1 1,0 a was last
}

// A loop that waits for another thread calls Yield in each round.
func ExampleYield() {
	r := interleave.Explore(interleave.Options{Preemptions: 2}, func(m *interleave.M) {
		var ready interleave.Bool
		m.Go("waiter", func() {
			for !ready.Load() {
				interleave.Yield()
			}
		})
		m.Go("other", func() { ready.Store(true) })
	})
	fmt.Println(r.Complete, r.Failure == nil)
	// Output: true true
}
