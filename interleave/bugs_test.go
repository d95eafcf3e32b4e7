package interleave_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

var (
	bound0  = interleave.Options{Preemptions: interleave.None}
	bound1  = interleave.Options{Preemptions: 1}
	bound2  = interleave.Options{Preemptions: 2}
	bound3  = interleave.Options{Preemptions: 3}
	all     = interleave.Options{Preemptions: interleave.All}
	sleep   = interleave.Options{Preemptions: interleave.All, Reduce: true}
	random  = interleave.Options{Strategy: interleave.Random, Executions: 200_000, Seed: 1}
	pct2    = interleave.Options{Strategy: interleave.PCT, Executions: 50_000, Seed: 1, Depth: 2}
	pct3    = interleave.Options{Strategy: interleave.PCT, Executions: 50_000, Seed: 1, Depth: 3}
	optName = map[string]interleave.Options{
		"preemptions=0": bound0, "preemptions=1": bound1, "preemptions=2": bound2, "preemptions=3": bound3,
		"all": all, "all+sleep": sleep, "random": random, "pct2": pct2, "pct3": pct3,
	}
)

// TestPlantedBugsAreFound: the listed strategies find each planted bug, and a bound
// that is too low completes without it. The bugs are of the kinds that occur in
// schedulers and mailboxes. The log has the number of executions.
func TestPlantedBugsAreFound(t *testing.T) {
	tests := []struct {
		name  string
		prog  func(m *interleave.M)
		kinds string
		found []string
		not   []string // complete without finding it
	}{
		{
			"stack: node pushed again", stackProgram(true), "failed",
			[]string{"preemptions=1", "preemptions=2", "all", "all+sleep", "random", "pct2", "pct3"},
			[]string{"preemptions=0"},
		},
		{
			"mpsc: cache written after unlock", mpscProgram(mpscBugs{lateCache: true}, 2), "race",
			[]string{"preemptions=1", "preemptions=2", "all", "all+sleep", "random", "pct2", "pct3"},
			nil,
		},
		{
			"mpsc: cached bit cleared", mpscProgram(mpscBugs{noCached: true}, 2), "failed",
			[]string{"preemptions=0", "preemptions=1", "all", "all+sleep", "random", "pct2"},
			nil,
		},
		{
			"mailbox: publish before payload", mailboxProgram(mailboxBugs{earlyPublish: true}, 1, 2), "race",
			[]string{"preemptions=1", "preemptions=2", "all", "all+sleep", "random", "pct2"},
			[]string{"preemptions=0"},
		},
		{
			"mailbox: release before read", mailboxProgram(mailboxBugs{earlyRelease: true}, 1, 2), "race",
			[]string{"preemptions=1", "preemptions=2", "all", "all+sleep", "random", "pct2"},
			nil,
		},
		{
			"mailbox: doorbell read after poll", mailboxProgram(mailboxBugs{lateSignal: true}, 1, 2), "deadlock",
			[]string{"preemptions=1", "preemptions=2", "all", "all+sleep", "random", "pct2"},
			nil,
		},
		{
			"mailbox: two senders on one word", mailboxProgram(mailboxBugs{}, 2, 1), "race failed",
			[]string{"preemptions=1", "preemptions=2", "all+sleep", "random", "pct2"},
			nil,
		},
		{
			"wake: notification dropped", throttleProgram(throttleBugs{dropped: true}, 2, 2, 0), "deadlock",
			[]string{"preemptions=2", "preemptions=3", "random", "pct2", "pct3"},
			[]string{"preemptions=1"},
		},
		{
			"wake: waking status kept while parked", throttleProgram(throttleBugs{keepsWaking: true}, 2, 2, 0), "deadlock",
			[]string{"preemptions=2", "random", "pct2", "pct3"},
			nil,
		},
		{
			"wake: failed spawn leaves the latch closed", throttleProgram(throttleBugs{closedLatch: true}, 2, 2, 1), "deadlock",
			[]string{"preemptions=0", "preemptions=2", "random", "pct2"},
			nil,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, name := range tc.found {
				r := interleave.Explore(optName[name], tc.prog)
				if r.Failure == nil {
					t.Errorf("%s: not found in %d executions", name, r.Executions)
					continue
				}
				if !strings.Contains(tc.kinds, string(r.Failure.Kind)) {
					t.Errorf("%s: got a %s, want a %s: %v", name, r.Failure.Kind, tc.kinds, r.Failure)
				}
				t.Logf("%-14s %6d executions: %s", name, r.Executions+r.Pruned, r.Failure.Message)
			}
			for _, name := range tc.not {
				r := interleave.Explore(optName[name], tc.prog)
				if r.Failure != nil || !r.Complete {
					t.Errorf("%s: got %+v, want a complete search without a failure", name, r)
				}
				t.Logf("%-14s %6d executions, complete, not found", name, r.Executions)
			}
		})
	}
}

// TestCorrectProgramsPass: the same programs without the bugs have no failure, and
// each depth-first search is complete.
func TestCorrectProgramsPass(t *testing.T) {
	tests := []struct {
		name string
		prog func(m *interleave.M)
		opts []string
	}{
		{"stack", stackProgram(false), []string{"preemptions=2", "all+sleep", "random", "pct3"}},
		{"mpsc", mpscProgram(mpscBugs{}, 2), []string{"preemptions=3", "all+sleep", "random", "pct3"}},
		{"mpsc with one consumer", mpscProgram(mpscBugs{}, 1), []string{"all", "all+sleep"}},
		{"mailbox", mailboxProgram(mailboxBugs{}, 1, 2), []string{"preemptions=3", "all+sleep", "random", "pct3"}},
		{"wake", throttleProgram(throttleBugs{}, 2, 2, 0), []string{"preemptions=2", "random", "pct3"}},
		{"wake with failing spawns", throttleProgram(throttleBugs{}, 2, 2, 1), []string{"preemptions=2", "random", "pct3"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, name := range tc.opts {
				o := optName[name]
				if o.Strategy != interleave.DFS {
					o.Executions = 5_000
				}
				r := interleave.Explore(o, tc.prog)
				if r.Failure != nil {
					t.Fatalf("%s: %v", name, r.Failure)
				}
				if !r.Complete && o.Strategy == interleave.DFS {
					t.Errorf("%s: not complete after %d executions", name, r.Executions)
				}
				t.Logf("%-14s %7d executions, %6d pruned, complete %t", name, r.Executions, r.Pruned, r.Complete)
			}
		})
	}
}
