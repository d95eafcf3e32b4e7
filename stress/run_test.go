package stress

import (
	"context"
	"errors"
	"flag"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

var seed = flag.Uint64("stress.seed", 1, "seed of the first round of each scenario")

// TestScenarios runs each scenario for several seeds.
func TestScenarios(t *testing.T) {
	c := Config{Rounds: 3, Seed: *seed, Short: testing.Short(), HangTimeout: 2 * time.Minute}
	for _, name := range Scenarios() {
		t.Run(name, func(t *testing.T) {
			c := c
			c.Only = []string{name}
			if name == processScenario {
				needProcesses(t)
			}
			if c.Short && strings.HasSuffix(name, "/nested") {
				c.Rounds = 1 // with purego, each of a thousand nested calls searches its stack for its goroutine
			}
			r, err := Run(t.Context(), c)
			if err != nil {
				t.Fatalf("%v\nreplay with -run '^TestScenarios$/^%s$' -stress.seed=%d", err, strings.ReplaceAll(name, "/", "$/^"), c.Seed)
			}
			if r.Rounds != c.Rounds || r.Scenarios != uint64(c.Rounds) || r.Operations == 0 {
				t.Errorf("the rounds or operations are missing:\n%v", r)
			}
		})
	}
}

// TestFaultsAreInjected checks that the scenarios inject every fault that the report
// counts.
func TestFaultsAreInjected(t *testing.T) {
	r, err := Run(t.Context(), Config{
		Rounds: 1, Seed: *seed, Short: true, HangTimeout: 2 * time.Minute,
		Only: []string{
			"programs", "programs-without-workers", "spawner-faults", "spawner-panics", "run-callers", "shutdown-at-every-step",
			"close-at-every-step", "overflow", "mixed-ends", "fork-trees", "fork-ends",
			"lanes-calls", "lanes-ends", "lanes-limits", "stalls",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Faults
	for name, n := range map[string]uint64{
		"programs": r.Programs, "tasks": r.Tasks, "operations": r.Operations, "spills": r.Spilled, "refills": r.Refilled, "promotions": r.Promoted,
		"parks": r.Parks, "spawns": r.Spawns, "spawn failures": r.SpawnFailures,
		"spawns failed": f.SpawnFailures, "spawns panicked": f.SpawnPanics, "panics": f.Panics, "exits": f.Goexits,
		"blocks": f.Blocks, "closes": f.Closes, "shutdowns": f.Shutdowns, "cancels": f.Cancels,
		"calls": r.Calls, "aborts": f.Aborts, "timeouts": f.Timeouts, "pauses": f.Pauses, "resizes": f.Resizes, "leases": f.Leases, "stalls": r.Stalls,
	} {
		if n == 0 {
			t.Errorf("%s: 0", name)
		}
	}
	if r.SpawnFailures != f.SpawnFailures+f.SpawnPanics {
		t.Errorf("the schedulers count %d spawn failures, the Spawners %d and %d", r.SpawnFailures, f.SpawnFailures, f.SpawnPanics)
	}
}

// TestRunLimits checks that a run ends by its rounds, its duration, and its context.
func TestRunLimits(t *testing.T) {
	var seeds []uint64
	list := []scenario{{"a", func(r *round) { seeds = append(seeds, r.seed) }}}
	r, err := runScenarios(t.Context(), Config{Rounds: 3, Seed: 42}, list)
	if err != nil || r.Rounds != 3 || r.Scenarios != 3 || r.Seed != 42 {
		t.Errorf("three rounds: %v\n%v", err, r)
	}
	if len(seeds) != 3 || seeds[0] != 42 || seeds[1] == 42 || seeds[2] == seeds[1] {
		t.Errorf("seeds %v, want 42 and two others", seeds)
	}
	// One round with the seed of a later round repeats that round.
	first := seeds[2]
	seeds = nil
	_, err = runScenarios(t.Context(), Config{Rounds: 2, Seed: first, FixedSeed: true}, list)
	if want := []uint64{first, first}; err != nil || !slices.Equal(seeds, want) {
		t.Errorf("seeds %v, want %v", seeds, want)
	}
	if r, err = runScenarios(t.Context(), Config{Duration: time.Millisecond}, list); err != nil || r.Elapsed <= 0 {
		t.Errorf("one millisecond: %v\n%v", err, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	list = append(list, scenario{"b", func(*round) { cancel() }}, scenario{"c", func(r *round) { r.Errorf("ran") }})
	if r, err = runScenarios(ctx, Config{}, list); err != nil || r.Rounds != 0 || r.Scenarios != 2 {
		t.Errorf("a context that ends: %v\n%v", err, r)
	}
}

// TestRunRepeatsSeed checks that a seed repeats the random draws of a scenario.
func TestRunRepeatsSeed(t *testing.T) {
	var scripts [][]byte
	list := []scenario{{"a", func(r *round) { scripts = append(scripts, r.generateScript()) }}}
	for _, seed := range []uint64{7, 7, 8} {
		if _, err := runScenarios(t.Context(), Config{Rounds: 1, Seed: seed}, list); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(scripts[0], scripts[1]) || slices.Equal(scripts[0], scripts[2]) {
		t.Errorf("scripts for the seeds 7, 7 and 8: %v", scripts)
	}
}

// TestRunUnknown checks that an unknown scenario is an error.
func TestRunUnknown(t *testing.T) {
	if _, err := Run(t.Context(), Config{Rounds: 1, Only: []string{"programs", "nothing"}}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("err = %v, want one that names the unknown scenario", err)
	}
}

// TestViolations checks the violations of scenarios that fail in each possible way. A
// failed scenario does not run again, and the others continue.
func TestViolations(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	var good int
	list := []scenario{
		{"good", func(*round) { good++ }},
		{"error", func(r *round) {
			for i := range 100 {
				r.Errorf("error %d", i)
			}
		}},
		{"panic", func(*round) { panic("boom") }},
		{"caller", func(r *round) { r.concurrently(2, func(int) { panic("in a caller") }) }},
		{"worker", func(r *round) {
			s := r.open(sched.Config{MaxWorkers: 1}, nil)
			r.must("Go", s.Go(func() { panic("in a task") }))
			r.end(s, -1)
		}},
		{"counters", func(r *round) {
			s := r.open(sched.Config{MaxWorkers: 1}, nil)
			r.must("Go", s.Go(func() {}))
			r.end(s, 2)
		}},
		{"exit", func(*round) { runtime.Goexit() }},
		{"hang", func(r *round) {
			s := r.open(sched.Config{MaxWorkers: 5}, nil)
			r.must("Do", s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { waitHere(hang) }}))
		}},
	}
	progress := 0
	r, err := runScenarios(t.Context(), Config{
		Rounds: 3, Seed: 5, HangTimeout: 3 * time.Second, Short: true, ProgressInterval: time.Hour,
		Progress: func(r Report) { progress = len(r.Violations) },
	}, list)
	if !errors.Is(err, ErrViolation) {
		t.Errorf("err = %v, want %v", err, ErrViolation)
	}
	if good != 3 || r.Rounds != 3 || progress != len(r.Violations) {
		t.Errorf("the good scenario ran %d times in %d rounds, and Progress saw %d violations", good, r.Rounds, progress)
	}
	for i, want := range [][]string{
		{"error 0", "error 4", "and 95 more"},
		{"panic: boom"},
		{"panic: in a caller"},
		{"worker: panic: in a task"},
		{"1 callbacks were entered, want 2"},
		{"ended by Goexit"},
		{"hung: not finished after 3s", "MaxWorkers 5: {Executed:", "waitHere"},
	} {
		if i >= len(r.Violations) {
			t.Fatalf("%d violations", len(r.Violations))
		}
		v := r.Violations[i]
		for _, text := range append(want, "replay with: lanewright stress -seed 0x5 -only "+v.Scenario+" -short -rounds 1\n", "-fixed-seed -rounds 1000") {
			if v.Scenario != list[i+1].name || !strings.Contains(v.String(), text) {
				t.Errorf("the violation of %s does not contain %q:\n%v", list[i+1].name, text, v)
			}
			if !strings.Contains(err.Error(), v.Text) {
				t.Errorf("the error does not contain the violation of %s", v.Scenario)
			}
		}
	}
}

//go:noinline
func waitHere(c chan struct{}) { <-c }
