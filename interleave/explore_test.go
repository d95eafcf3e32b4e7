package interleave_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// countOrders returns the number of interleavings of threads that have left[i]
// steps each, with at most bound preemptions. A preemption is a switch away from a
// thread that has steps left.
func countOrders(left []int, last, bound int) int {
	n, stepsLeft := 0, false
	for i := range left {
		if left[i] == 0 {
			continue
		}
		stepsLeft = true
		cost := 0
		if last >= 0 && i != last && left[last] > 0 {
			cost = 1
		}
		if cost > bound {
			continue
		}
		left[i]--
		n += countOrders(left, i, bound-cost)
		left[i]++
	}
	if !stepsLeft {
		return 1
	}
	return n
}

// TestDFSRunsEveryOrderOnce: a depth-first search runs each order of the steps
// within the bound once. countOrders counts the orders by another method.
func TestDFSRunsEveryOrderOnce(t *testing.T) {
	tests := []struct {
		steps []int
		bound int
	}{
		{[]int{1}, interleave.None},
		{[]int{3, 3}, interleave.None},
		{[]int{3, 3}, 1},
		{[]int{3, 3}, 2},
		{[]int{3, 3}, interleave.All},
		{[]int{1, 2, 3}, interleave.All},
		{[]int{2, 2, 2, 2}, interleave.All},
		{[]int{4, 4, 4}, interleave.None},
		{[]int{4, 4, 4}, 1},
		{[]int{4, 4, 4}, 2},
		{[]int{4, 4, 4}, 3},
		{[]int{4, 4, 4}, interleave.All},
		{[]int{0, 2, 0, 2}, interleave.All},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprint(tc.steps, tc.bound), func(t *testing.T) {
			seen := map[string]int{}
			r := interleave.Explore(interleave.Options{Preemptions: tc.bound}, func(m *interleave.M) {
				var x interleave.Int32
				order := ""
				for i, n := range tc.steps {
					m.Go("t", func() {
						for range n {
							x.Add(1)
							order += string(rune('a' + i))
						}
					})
				}
				m.Final(func() { seen[order]++ })
			})
			wantComplete(t, r)
			bound := tc.bound
			switch bound {
			case interleave.All:
				bound = 1 << 30
			case interleave.None:
				bound = 0
			}
			n := countOrders(slices.Clone(tc.steps), -1, bound)
			if r.Executions != n || len(seen) != n {
				t.Errorf("got %d executions and %d different orders, want %d", r.Executions, len(seen), n)
			}
		})
	}
}

// TestSleepSetsKeepEveryOutcome: a search with sleep sets has the same outcomes as
// one without them, and fewer executions.
func TestSleepSetsKeepEveryOutcome(t *testing.T) {
	programs := 300
	if testing.Short() || interleave.RaceBuild {
		programs = 40
	}
	full, less := 0, 0
	for seed := range uint64(programs) {
		p := generate(seed)
		for _, crash := range []string{"", "t0"} {
			a, b := all, sleep
			a.Crash, b.Crash = crash, crash
			seenAll, seenSleep := map[string]int{}, map[string]int{}
			r := interleave.Explore(a, p.body(seenAll))
			wantComplete(t, r)
			s := interleave.Explore(b, p.body(seenSleep))
			wantComplete(t, s)
			for k := range seenAll {
				if seenSleep[k] == 0 {
					t.Errorf("seed %d: the search with sleep sets lacks the outcome %s of %+v", seed, k, p)
				}
			}
			for k := range seenSleep {
				if seenAll[k] == 0 {
					t.Errorf("seed %d: only the search with sleep sets has the outcome %s of %+v", seed, k, p)
				}
			}
			full += r.Executions
			less += s.Executions
			if s.Executions > r.Executions {
				t.Errorf("seed %d: %d executions with sleep sets, %d without", seed, s.Executions, r.Executions)
			}
		}
	}
	if less*2 > full {
		t.Errorf("got %d executions with sleep sets and %d without, want at most half", less, full)
	}
	t.Logf("%d programs: %d executions, %d with sleep sets", programs, full, less)
}

// TestHigherBoundKeepsOutcomes: a search has all outcomes of a search with a lower
// bound, and a bound as large as the program has those of All.
func TestHigherBoundKeepsOutcomes(t *testing.T) {
	for seed := range uint64(40) {
		p := generate(seed)
		var last map[string]int
		for _, bound := range []int{interleave.None, 1, 2, 9, interleave.All} {
			seen := map[string]int{}
			wantComplete(t, interleave.Explore(interleave.Options{Preemptions: bound}, p.body(seen)))
			for k := range last {
				if seen[k] == 0 {
					t.Errorf("seed %d: the search with %d preemptions lacks the outcome %s", seed, bound, k)
				}
			}
			if bound == interleave.All && !maps.Equal(seen, last) {
				t.Errorf("seed %d: 9 preemptions have %d outcomes, all have %d", seed, len(last), len(seen))
			}
			last = seen
		}
	}
}

// strategies has one element for each kind of search.
var strategies = []interleave.Options{
	{Preemptions: interleave.All},
	{Preemptions: interleave.All, Reduce: true},
	{Preemptions: 2},
	{Strategy: interleave.PCT, Executions: 300, Seed: 3},
	{Strategy: interleave.Random, Executions: 300, Seed: 3},
}

// sequence returns the outcomes of an exploration in the order of its executions.
func sequence(t *testing.T, o interleave.Options, seed uint64) string {
	t.Helper()
	var b strings.Builder
	p := generate(seed)
	r := interleave.Explore(o, func(m *interleave.M) {
		seen := map[string]int{}
		p.body(seen)(m)
		m.Final(func() { b.WriteString(fmt.Sprintln(slices.Collect(maps.Keys(seen)))) })
	})
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	return fmt.Sprint(r.Executions, r.Pruned, r.Steps, r.Complete, "\n", b.String())
}

// TestSameOptionsGiveSameExecutions: the same options give the same executions in
// the same order with both backends. Another seed gives other executions.
func TestSameOptionsGiveSameExecutions(t *testing.T) {
	for _, o := range strategies {
		other := 0
		for seed := range uint64(10) {
			first := sequence(t, o, seed)
			if again := sequence(t, o, seed); again != first {
				t.Fatalf("%+v: the second exploration is\n%s\nwant that of the first:\n%s", o, again, first)
			}
			b := o
			b.Backend = interleave.Baton
			if baton := sequence(t, b, seed); baton != first {
				t.Fatalf("%+v: the exploration with Baton is\n%s\nwant that with Coroutines:\n%s", o, baton, first)
			}
			b = o
			b.Seed++
			if sequence(t, b, seed) != first {
				other++
			}
		}
		if seeded := o.Strategy != interleave.DFS; seeded != (other > 0) {
			t.Errorf("%+v: another seed changed the executions of %d programs of 10", o, other)
		}
	}
}

// TestChooseTriesEveryValue: a depth-first search tries each value of Choose in the
// body, in a thread and in Final. Outside an exploration Choose returns 0.
func TestChooseTriesEveryValue(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		seen := map[string]int{}
		r := interleave.Explore(o, func(m *interleave.M) {
			a := interleave.Choose(2) // in the body
			b := 0
			m.Go("t", func() {
				b = interleave.Choose(3)
				if b == 2 {
					b += interleave.Choose(2)
				}
				interleave.Choose(1)
			})
			m.Final(func() { seen[fmt.Sprint(a, b, interleave.Choose(2))]++ })
		})
		wantComplete(t, r)
		if r.Executions != 16 || len(seen) != 16 {
			t.Errorf("got %d executions and the outcomes %v", r.Executions, seen)
		}
	})
	if v := interleave.Choose(5); v != 0 {
		t.Errorf("outside an exploration got %d", v)
	}
	mustPanic(t, "less than 1", func() { interleave.Choose(0) })
	o := interleave.Options{Preemptions: interleave.All, Executions: 2}
	r := interleave.Explore(o, func(*interleave.M) { interleave.Choose(1 << 30) })
	wantFailure(t, r, interleave.Panic, "Choose: n is too large")
}

// TestFatalfEndsExecution: Fatalf ends its caller, runs its deferred functions, and
// no other code of the execution runs after it.
func TestFatalfEndsExecution(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		after, deferred := false, 0
		r := interleave.Explore(o, func(m *interleave.M) {
			m.Go("t", func() {
				defer func() { deferred++ }()
				m.Fatalf("number %d", 1)
				after = true
			})
			m.Go("u", func() { after = true })
			m.Final(func() { after = true })
		})
		wantFailure(t, r, interleave.Failed, "number 1")
		if r.Failure.Thread != "t" || r.Failure.Execution != 1 || after || deferred != 2 {
			t.Errorf("got the failure %+v, code after Fatalf: %t, deferred functions: %d", r.Failure, after, deferred)
		}
		r = interleave.Explore(o, func(m *interleave.M) { m.Fatalf("number %d", 2) })
		wantFailure(t, r, interleave.Failed, "number 2")
		r = interleave.Explore(o, func(m *interleave.M) {
			m.Final(func() { m.Fatalf("number %d", 3) })
			m.Final(func() { m.Fatalf("number %d", 4) })
		})
		wantFailure(t, r, interleave.Failed, "number 3")
	})
}

// TestGoexitEndsExploration: a Goexit of the body or of Final, as in t.FailNow, ends
// the caller of Explore, and a later exploration works.
func TestGoexitEndsExploration(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		for _, inBody := range []bool{true, false} {
			left := make(chan bool)
			go func() {
				defer close(left)
				interleave.Explore(o, func(m *interleave.M) {
					var s interleave.Sema
					s.Init(1)
					m.GoDaemon("t", func() { s.Wait() })
					if inBody {
						runtime.Goexit()
					}
					m.Final(func() { runtime.Goexit() })
				})
				panic("Explore returned")
			}()
			<-left
		}
		wantComplete(t, interleave.Explore(o, mpscProgram(mpscBugs{}, 1)))
	})
}

// TestLimitsEndSearchIncomplete: Executions and Budget end a search, which is then not
// complete. PCT runs 10,000 executions by default.
func TestLimitsEndSearchIncomplete(t *testing.T) {
	prog := throttleProgram(throttleBugs{}, 3, 3, 0)
	r := interleave.Explore(interleave.Options{Preemptions: interleave.All, Executions: 100}, prog)
	if r.Failure != nil || r.Executions != 100 || r.Complete {
		t.Errorf("got %+v, want 100 executions", r)
	}
	r = interleave.Explore(interleave.Options{Preemptions: interleave.All, Budget: time.Millisecond}, prog)
	if r.Failure != nil || r.Executions == 0 || r.Complete {
		t.Errorf("got %+v, want an end after a millisecond", r)
	}
	r = interleave.Explore(interleave.Options{Strategy: interleave.PCT}, mpscProgram(mpscBugs{}, 1))
	if r.Failure != nil || r.Executions != 10_000 || r.Complete || r.Preemptions != interleave.All {
		t.Errorf("got %+v, want 10,000 executions", r)
	}
}

// TestNondeterminismIsUnsteady: the search fails as Unsteady when the threads that
// can run, or the n of Choose, differ between two executions of the same path.
func TestNondeterminismIsUnsteady(t *testing.T) {
	n := 0
	r := interleave.Explore(all, func(m *interleave.M) {
		n++
		var x interleave.Int32
		m.Go("a", func() { x.Add(1); x.Add(1) })
		m.Go("b", func() { x.Add(1) })
		if n > 1 {
			m.Go("c", func() { x.Add(1) })
		}
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		n++
		interleave.Choose(1 + n)
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		var x interleave.Int32
		m.Go("a", func() { x.Add(1) })
		if n++; n == 1 {
			m.Go("b", func() { x.Add(1) })
		}
	})
	wantFailure(t, r, interleave.Unsteady, "not deterministic")
	n = 0
	r = interleave.Explore(all, func(m *interleave.M) {
		if n++; n == 1 {
			m.Fatalf("only the first time")
		}
	})
	wantFailure(t, r, interleave.Failed, "the second run of this execution was different")
}

// TestActiveOnlyInsideExploration: Active is true in the body, in a thread and in
// Final, and false outside an exploration.
func TestActiveOnlyInsideExploration(t *testing.T) {
	var seen []bool
	interleave.Explore(bound0, func(m *interleave.M) {
		seen = append(seen, interleave.Active())
		m.Go("t", func() { seen = append(seen, interleave.Active()) })
		m.Final(func() { seen = append(seen, interleave.Active()) })
	})
	if fmt.Sprint(seen) != "[true true true]" || interleave.Active() {
		t.Errorf("inside %v, outside %t", seen, interleave.Active())
	}
}

// TestPCTAndRandomReachEveryOutcome: PCT and Random find every outcome of a small
// program, and no other outcome.
func TestPCTAndRandomReachEveryOutcome(t *testing.T) {
	programs := uint64(5)
	if testing.Short() || interleave.RaceBuild {
		programs = 1
	}
	for seed := range programs {
		p := generate(seed)
		full := map[string]int{}
		wantComplete(t, interleave.Explore(all, p.body(full)))
		for _, o := range []interleave.Options{
			{Strategy: interleave.Random, Executions: 20_000, Seed: 1},
			{Strategy: interleave.PCT, Executions: 20_000, Seed: 1, Depth: 5},
		} {
			seen := map[string]int{}
			interleave.Explore(o, p.body(seen))
			for k := range full {
				if seen[k] == 0 {
					t.Errorf("seed %d: %v lacks the outcome %s in %d executions", seed, o.Strategy, k, o.Executions)
				}
			}
			for k := range seen {
				if full[k] == 0 {
					t.Errorf("seed %d: only %v has the outcome %s", seed, o.Strategy, k)
				}
			}
		}
	}
}

// TestExploreFromLockedThread: Explore works on a goroutine that is locked to a
// thread of the operating system.
func TestExploreFromLockedThread(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range 3 {
			r := interleave.Explore(o, func(m *interleave.M) {
				var s interleave.Sema
				var x interleave.Int32
				s.Init(1)
				for range 3 {
					m.GoDaemon("t", func() {
						x.Add(1)
						x.Add(1)
						s.Wait()
					})
				}
			})
			wantComplete(t, r)
		}
	})
}
