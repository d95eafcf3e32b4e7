package stress

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is what a run of the scenarios has done and found.
type Report struct {
	Seed    uint64        // of the Config
	Rounds  int           // complete ones
	Elapsed time.Duration // until the last scenario ended

	Played     uint64 // scenarios
	Programs   uint64 // drawn programs of tasks that were run
	Tasks      uint64 // callbacks that were entered
	Calls      uint64 // calls of lanes that have ended, other than those of laws
	Operations uint64 // calls of the packages under test, as far as they are counted

	// The counters of all schedulers: see the Stats of package sched.
	Steals, Spilled, Refilled, Promoted, Wakes, EmptyWakes, Parks, Spawns, SpawnFailures, Stalls uint64

	Faults     Faults      // of all scenarios
	Violations []Violation // at most one for each scenario
}

// Faults counts what was done to schedulers and lanes on purpose.
type Faults struct {
	SpawnFailures uint64 // spawns that returned an error
	SpawnPanics   uint64 // spawns that panicked
	Panics        uint64 // tasks that panicked
	Goexits       uint64 // tasks that called runtime.Goexit
	Blocks        uint64 // tasks that blocked
	Closes        uint64 // schedulers that were closed in the middle of their work
	Shutdowns     uint64 // schedulers that were shut down in the middle of their work
	Cancels       uint64 // contexts that ended a Run, a wait or a call
	Aborts        uint64 // calls that were aborted
	Timeouts      uint64 // calls whose time was over
	Pauses        uint64 // of a pool
	Resizes       uint64 // of a pool
	Leases        uint64 // of a lane
}

// Violation is a law that a scenario saw broken.
type Violation struct {
	Scenario string // its name
	Seed     uint64 // of the round
	Short    bool   // the scenario was a small one
	Text     string // what was seen
}

// Replay returns the command that plays the round again. The seed repeats the
// program and the faults; the interleaving is the machine's.
func (v Violation) Replay() string {
	short := ""
	if v.Short {
		short = " -short"
	}
	return fmt.Sprintf("lanewright stress -seed %#x -only %s%s -rounds 1", v.Seed, v.Scenario, short)
}

// String returns the text and how to see it again.
func (v Violation) String() string {
	again := strings.TrimSuffix(v.Replay(), " -rounds 1")
	return fmt.Sprintf("violation in %s:\n%s\n"+
		"replay with: %s\n"+
		"The seed repeats the program and the faults; the interleaving is the machine's.\n"+
		"To repeat the round until it fails: %s -fixed-seed -rounds 1000\n",
		v.Scenario, v.Text, v.Replay(), again)
}

// result returns the report, and an error for its violations.
func (r Report) result() (Report, error) {
	if len(r.Violations) == 0 {
		return r, nil
	}
	var text strings.Builder
	for _, v := range r.Violations {
		fmt.Fprintf(&text, "\n%v", v)
	}
	return r, fmt.Errorf("%w:%s", ErrViolation, &text)
}

// Rate returns operations a second.
func (r Report) Rate() float64 { return float64(r.Operations) / max(r.Elapsed.Seconds(), 1e-9) }

// Line returns the report in one line.
func (r Report) Line() string {
	return fmt.Sprintf("%8s  %d rounds, %d scenarios, %d programs, %d tasks, %d operations (%.0f/s), %d violations",
		r.Elapsed.Round(100*time.Millisecond), r.Rounds, r.Played, r.Programs, r.Tasks, r.Operations, r.Rate(), len(r.Violations))
}

// String returns the report as a table.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n any) { _, _ = fmt.Fprintf(w, "%s\t%v\t\n", name, n) }
	row("seed", fmt.Sprintf("%#x", r.Seed))
	row("elapsed", r.Elapsed.Round(time.Millisecond))
	row("rounds", r.Rounds)
	row("scenarios", r.Played)
	row("programs", r.Programs)
	row("tasks", r.Tasks)
	row("calls", r.Calls)
	row("operations", r.Operations)
	row("steals", r.Steals)
	row("spills", r.Spilled)
	row("refills", r.Refilled)
	row("promotions", r.Promoted)
	row("wakes", r.Wakes)
	row("empty wakes", r.EmptyWakes)
	row("parks", r.Parks)
	row("spawns", r.Spawns)
	row("spawn failures", r.SpawnFailures)
	row("stalls", r.Stalls)
	row("faults: spawns failed", r.Faults.SpawnFailures)
	row("faults: spawns panicked", r.Faults.SpawnPanics)
	row("faults: panics", r.Faults.Panics)
	row("faults: goexits", r.Faults.Goexits)
	row("faults: blocks", r.Faults.Blocks)
	row("faults: closes", r.Faults.Closes)
	row("faults: shutdowns", r.Faults.Shutdowns)
	row("faults: cancels", r.Faults.Cancels)
	row("faults: aborts", r.Faults.Aborts)
	row("faults: timeouts", r.Faults.Timeouts)
	row("faults: pauses", r.Faults.Pauses)
	row("faults: resizes", r.Faults.Resizes)
	row("faults: leases", r.Faults.Leases)
	row("violations", len(r.Violations))
	_ = w.Flush()
	return b.String()
}
