package interleave_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
)

// A classic is a textbook program with the verdict that the explorer must give.
// The verdicts follow from the programs: why states the argument for each least
// bound. The bugs of a program are switches of its type, so that a right and a
// wrong program differ in the bug only.
type classic struct {
	name string
	prog func(m *interleave.M)
	opts interleave.Options // Timeouts and the like; the test adds the bound

	// A right program has no wrong kind. Its search is complete at the bound
	// upTo, which is interleave.All where the program is small enough. The reduced
	// search of a large one has more executions than a test can run.
	upTo  int
	large bool

	// The search of a wrong program is complete without a failure at each bound
	// below least, and fails with the kind wrong or also from least on.
	wrong interleave.Kind
	also  interleave.Kind
	least int
	why   string
}

var classics = slices.Concat(lockClassics, waitClassics, queueClassics, readerClassics, memoryClassics, roundClassics)

// within returns the options of a depth-first search with at most n preemptions,
// or without a bound if n is interleave.All.
func within(o interleave.Options, n int) interleave.Options {
	o.Strategy = interleave.DFS
	o.Preemptions = n
	if n == 0 {
		o.Preemptions = interleave.None
	}
	return o
}

// TestClassicsRight: the search of each right textbook program is complete without a failure.
func TestClassicsRight(t *testing.T) {
	for _, c := range classics {
		if c.wrong != "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			bound := c.upTo
			if testing.Short() && (bound == interleave.All || bound > 1) {
				bound = 1
			}
			r := interleave.Explore(within(c.opts, bound), c.prog)
			wantComplete(t, r)
			t.Logf("bound %d: %d executions", bound, r.Executions)
		})
	}
}

// TestClassicsWrong: the search of each wrong textbook program fails at its least
// bound and at each greater one, and is complete without a failure at each lower
// bound. The default search fails with the least number of preemptions.
func TestClassicsWrong(t *testing.T) {
	for _, c := range classics {
		if c.wrong == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			for bound := range c.least {
				r := interleave.Explore(within(c.opts, bound), c.prog)
				if r.Failure != nil {
					t.Fatalf("bound %d: got %v, want a complete search without a failure, because %s", bound, r.Failure, c.why)
				}
				wantComplete(t, r)
				t.Logf("bound %d: %d executions, complete", bound, r.Executions)
			}
			c.mustFail(t, within(c.opts, c.least))
			if r := interleave.Explore(c.opts, c.prog); r.Failure == nil || r.Preemptions != c.least {
				t.Errorf("the default: got a failure %v with %d preemptions, want %d", r.Failure, r.Preemptions, c.least)
			}
			if testing.Short() {
				return
			}
			for _, bound := range []int{c.least + 1, interleave.All} {
				c.mustFail(t, within(c.opts, bound))
			}
			o := c.opts
			o.Seed, o.Depth, o.Executions = 1, c.least+2, 20_000
			o.Strategy = interleave.Random
			c.mustFail(t, o)
			// PCT needs n*k^(d-1) executions for n threads, k steps and d ordered
			// steps, which are too many for the two bugs of five preemptions.
			if o.Strategy = interleave.PCT; c.least < 5 {
				c.mustFail(t, o)
			}
		})
	}
}

// TestClassicsReduced: the reduced search of each right textbook program is complete
// without a failure, unless the program is large, and that of each wrong one fails.
func TestClassicsReduced(t *testing.T) {
	for _, c := range classics {
		if c.opts.Timeouts { // refused
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			o := within(c.opts, interleave.All)
			o.Reduce = true
			if c.wrong != "" {
				c.mustFail(t, o)
				return
			}
			if c.large || testing.Short() {
				o.Budget = 100 * time.Millisecond
			}
			r := interleave.Explore(o, c.prog)
			t.Logf("%d executions, %d abandoned, complete=%t", r.Executions, r.Pruned, r.Complete)
			if r.Failure != nil || o.Budget == 0 {
				wantComplete(t, r)
			}
		})
	}
}

// mustFail fails the test unless the exploration fails with a kind of the program.
func (c *classic) mustFail(t *testing.T, o interleave.Options) {
	t.Helper()
	r := interleave.Explore(o, c.prog)
	switch {
	case r.Failure == nil:
		t.Errorf("%v, bound %d: got no failure in %d executions, want a %s, because %s", o.Strategy, o.Preemptions, r.Executions, c.wrong, c.why)
	case r.Failure.Kind != c.wrong && r.Failure.Kind != c.also:
		t.Errorf("%v, bound %d: got %s: %v\nwant a %s", o.Strategy, o.Preemptions, r.Failure.Kind, r.Failure, c.wrong)
	default:
		t.Logf("%v, bound %d: %d executions: %s", o.Strategy, o.Preemptions, r.Executions, r.Failure.Message)
	}
}

// TestClassicsAreHalfWrong: there are at least 56 textbook programs, and the wrong
// ones are neither fewer than half of them nor more than three quarters. Names are
// unique, because a failure names its program.
func TestClassicsAreHalfWrong(t *testing.T) {
	wrong := 0
	names := map[string]bool{}
	for _, c := range classics {
		if names[c.name] {
			t.Errorf("two programs have the name %q", c.name)
		}
		names[c.name] = true
		if c.wrong != "" {
			wrong++
			if c.why == "" {
				t.Errorf("%s: the reason of the least bound is missing", c.name)
			}
		}
	}
	if n := len(classics); n < 56 || 2*wrong < n || 4*wrong > 3*n {
		t.Errorf("%d programs, %d of them wrong", n, wrong)
	}
	t.Logf("%d programs, %d of them wrong", len(classics), wrong)
}
