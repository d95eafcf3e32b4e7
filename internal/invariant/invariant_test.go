package invariant_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/invariant"
)

func TestAssert(t *testing.T) {
	value := func(cond bool) (v any) {
		defer func() { v = recover() }()
		invariant.Assert(cond, "p: Op: cause")
		return nil
	}
	if got := value(true); got != nil {
		t.Errorf("a rule that holds panics with %v", got)
	}
	want := any("invariant violated: p: Op: cause")
	if !invariant.Enabled {
		want = nil
	}
	if got := value(false); got != want {
		t.Errorf("a rule that is broken panics with %v, want %v", got, want)
	}
}

// TestReached: concurrent calls are counted when the package is on. No call is counted
// when it is off.
func TestReached(t *testing.T) {
	const goroutines, marks, each = 4, 20, 500
	name := func(i int) string { return fmt.Sprintf("TestReached: %d", i) }
	before := invariant.Count(name(0)) // -count runs the test again
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range marks * each {
				invariant.Reached(name(i % marks))
			}
		})
	}
	wg.Wait()
	for i := range marks {
		switch n := invariant.Count(name(i)); {
		case !invariant.Enabled && n != 0:
			t.Errorf("mark %d was counted %d times while counting is off", i, n)
		case invariant.Enabled && n <= before:
			t.Errorf("mark %d was not counted: %d", i, n)
		case invariant.Enabled && !raceEnabled && n-before != goroutines*each:
			t.Errorf("mark %d was counted %d times, want %d", i, n-before, goroutines*each)
		}
		if got := slices.Contains(invariant.Marks(), name(i)); got != invariant.Enabled {
			t.Errorf("mark %d is listed: %v", i, got)
		}
	}
	if n := invariant.Count("TestReached: never"); n != 0 {
		t.Errorf("a mark that was never reached has the count %d", n)
	}
	if !slices.IsSorted(invariant.Marks()) {
		t.Errorf("not sorted: %q", invariant.Marks())
	}
}

// TestNoAllocations: Assert and Reached do not allocate whether the package is on or off.
func TestNoAllocations(t *testing.T) {
	invariant.Reached("TestNoAllocations")
	if n := testing.AllocsPerRun(100, func() {
		invariant.Assert(true, "p: Op: cause")
		invariant.Reached("TestNoAllocations")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
