package interleave_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// lostUpdate loses an update with one preemption.
func lostUpdate(m *interleave.M) {
	var n interleave.Int32
	for range 2 {
		m.Go("add", func() { n.Store(n.Load() + 1) })
	}
	m.Final(func() {
		if n.Load() != 2 {
			m.Fatalf("counted %d", n.Load())
		}
	})
}

// TestDefaultDeepens: the zero Options search with 0 preemptions, with 1 and so on. The
// search ends at the first bound that leaves out no execution, and is then complete
// without a bound.
func TestDefaultDeepens(t *testing.T) {
	eachBackend(t, func(t *testing.T, o interleave.Options) {
		t.Helper()
		o.Preemptions = 0
		r := interleave.Explore(o, independent(2))
		wantComplete(t, r)
		if r.Preemptions != interleave.All {
			t.Errorf("complete at %d preemptions, want without a bound", r.Preemptions)
		}
		total := 0
		for i, s := range r.Searches {
			total += s.Executions
			last := i == len(r.Searches)-1
			if bound := s.Preemptions; last != (bound == interleave.All) || !last && bound != i || !s.Complete || s.Strategy != interleave.DFS {
				t.Errorf("search %d is %v", i, s)
			}
		}
		// Two threads of 4 steps switch at most 7 times. The first switch away is free at the
		// end of a thread only, so 6 of them are preemptions.
		if len(r.Searches) != 7 || total != r.Executions {
			t.Errorf("got %d searches with %d executions, want 7 and %d", len(r.Searches), total, r.Executions)
		}
		all := interleave.Options{Preemptions: interleave.All, Backend: o.Backend}
		if n := interleave.Explore(all, independent(2)).Executions; n != r.Searches[len(r.Searches)-1].Executions {
			t.Errorf("the last search has %d executions, All has %d", r.Searches[len(r.Searches)-1].Executions, n)
		}
	})
}

// TestDefaultFindsFewestPreemptions: the failure of the zero Options has as few preemptions as
// any, and the bounds below are complete.
func TestDefaultFindsFewestPreemptions(t *testing.T) {
	r := interleave.Explore(interleave.Options{}, lostUpdate)
	wantFailure(t, r, interleave.Failed, "counted 1")
	if r.Failure.Preemptions != 1 || r.Preemptions != 1 || r.Complete || len(r.Searches) != 2 || !r.Searches[0].Complete {
		t.Errorf("got a failure with %d preemptions in %v", r.Failure.Preemptions, r.Searches)
	}
}

// TestDefaultEndsWithPCT: a search that deepens and does not end within its Budget is followed
// by executions of PCT. The result has the highest bound that is complete.
func TestDefaultEndsWithPCT(t *testing.T) {
	f, r, out := check(t, "large", interleave.Options{Budget: 200 * time.Millisecond}, throttleProgram(throttleBugs{}, 3, 3, 0))
	if len(f.errors) != 0 {
		t.Fatal(f.errors)
	}
	n := len(r.Searches)
	if n < 2 {
		t.Fatalf("got the searches %v", r.Searches)
	}
	pct, cut := r.Searches[n-1], r.Searches[n-2]
	if pct.Strategy != interleave.PCT || pct.Complete || pct.Executions == 0 {
		t.Errorf("got the searches %v, want PCT at their end", r.Searches)
	}
	highest := n - 2 // the bound of the last search before PCT
	if !cut.Complete {
		highest--
	}
	if want := highest >= 0; r.Complete != want || want && r.Preemptions != highest {
		t.Errorf("complete = %t with %d preemptions after %v", r.Complete, r.Preemptions, r.Searches)
	}
	if strings.Count(out, "model large executions=") != n {
		t.Errorf("printed %q, want a line for each of %d searches", out, n)
	}
}

// TestExecutionsBoundTheDefault: Options.Executions bounds the executions of all bounds of the
// zero Options together. When that limit is reached, no execution of PCT follows.
func TestExecutionsBoundTheDefault(t *testing.T) {
	for limit := 1; limit <= 4; limit++ {
		r := interleave.Explore(interleave.Options{Executions: limit}, independent(2))
		if r.Failure != nil || r.Executions != limit {
			t.Errorf("a limit of %d: got %d executions in %v", limit, r.Executions, r.Searches)
		}
	}
}
