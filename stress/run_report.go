package stress

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Report states what a run of the scenarios did and found.
type Report struct {
	Seed    uint64        // of the Config
	Rounds  int           // complete rounds
	Elapsed time.Duration // until the last scenario ended

	Scenarios  uint64 // scenarios that were run
	Programs   uint64 // generated programs of tasks that were run
	Tasks      uint64 // callbacks that were entered
	Calls      uint64 // calls of lanes that have ended, without those of laws
	Operations uint64 // calls of the packages under test that the scenarios count

	// These are of the calls to worker processes.
	Deaths  uint64 // processes that have ended before their pool was closed
	Lost    uint64 // calls that a process may have run and has not answered before it died
	Resent  uint64 // calls that went to another process, because theirs had not started them before it died
	Doubles uint64 // calls whose handler was entered more than once, which violates a law

	// These are the sums over all schedulers of the Stats of package sched.
	Steals, Spilled, Refilled, Promoted, Wakes, EmptyWakes, Parks, Spawns, SpawnFailures, Stalls uint64

	Faults     Faults      // of all scenarios
	Violations []Violation // at most one of each scenario
}

// Faults counts the faults that scenarios inject.
type Faults struct {
	SpawnFailures uint64 // spawns that returned an error
	SpawnPanics   uint64 // spawns that panicked
	Panics        uint64 // tasks that panicked
	Goexits       uint64 // tasks that called runtime.Goexit
	Blocks        uint64 // tasks that blocked
	Closes        uint64 // schedulers and pools that were closed while in use
	Shutdowns     uint64 // schedulers and pools that were shut down while in use
	Cancels       uint64 // contexts that ended a Run, a wait or a call
	Aborts        uint64 // calls that were aborted
	Timeouts      uint64 // calls whose deadline or hard limit passed
	Pauses        uint64 // of a pool
	Resizes       uint64 // of a pool
	Leases        uint64 // of a lane
	Kills         uint64 // of a worker process, by the host
	Floods        uint64 // of output of a worker process
}

// Violation is a law that a scenario violated.
type Violation struct {
	Scenario string // the name of the scenario
	Seed     uint64 // of the round
	Short    bool   // the scenario was small
	Text     string // the observation
}

// Replay returns the command that runs the round again. The seed repeats the programs
// and the faults, but not the interleaving.
func (v Violation) Replay() string {
	short := ""
	if v.Short {
		short = " -short"
	}
	return fmt.Sprintf("lanewright stress -seed %#x -only %s%s -rounds 1", v.Seed, v.Scenario, short)
}

// String returns the text and the commands that run the round again.
func (v Violation) String() string {
	again := strings.TrimSuffix(v.Replay(), " -rounds 1")
	return fmt.Sprintf("violation in %s:\n%s\n"+
		"replay with: %s\n"+
		"The seed repeats the programs and the faults, but not the interleaving.\n"+
		"To repeat the round until it fails: %s -fixed-seed -rounds 1000\n",
		v.Scenario, v.Text, v.Replay(), again)
}

// result returns the report, and an error if there are violations.
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

// Rate returns the operations per second.
func (r Report) Rate() float64 { return float64(r.Operations) / max(r.Elapsed.Seconds(), 1e-9) }

// Line returns a summary in one line.
func (r Report) Line() string {
	return fmt.Sprintf("%8s  %d rounds, %d scenarios, %d programs, %d tasks, %d operations (%.0f/s), %d violations",
		r.Elapsed.Round(100*time.Millisecond), r.Rounds, r.Scenarios, r.Programs, r.Tasks, r.Operations, r.Rate(), len(r.Violations))
}

// String returns the report as a table.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, n any) { _, _ = fmt.Fprintf(w, "%s\t%v\t\n", name, n) }
	row("seed", fmt.Sprintf("%#x", r.Seed))
	row("elapsed", r.Elapsed.Round(time.Millisecond))
	row("rounds", r.Rounds)
	row("scenarios", r.Scenarios)
	row("programs", r.Programs)
	row("tasks", r.Tasks)
	row("calls", r.Calls)
	row("operations", r.Operations)
	row("worker deaths", r.Deaths)
	row("lost", r.Lost)
	row("sent again", r.Resent)
	row("doubles", r.Doubles)
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
	row("faults: kills", r.Faults.Kills)
	row("faults: floods", r.Faults.Floods)
	row("violations", len(r.Violations))
	_ = w.Flush()
	return b.String()
}
