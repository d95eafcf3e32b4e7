package stress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrViolation reports that a scenario violated a law or did not end.
var ErrViolation = errors.New("stress: violation")

// The defaults of [Config].
const (
	DefaultHangTimeout      = 30 * time.Second
	DefaultProgressInterval = 10 * time.Second
)

// Config states what [Run] does. The zero Config runs all scenarios, round after round,
// until the context ends.
type Config struct {
	// Duration bounds the time of a run. The scenario that is running then runs to its
	// end. 0 means no bound.
	Duration time.Duration

	// Rounds bounds the number of rounds. 0 means no bound.
	Rounds int

	// Seed determines the programs and the faults of each scenario. The first round
	// uses Seed itself; each later round uses a seed derived from it. The interleaving
	// of the goroutines is not determined.
	Seed uint64

	// FixedSeed makes every round use Seed itself.
	FixedSeed bool

	// Only names the scenarios to run. None means all, apart from "process" in a program
	// that does not call [WorkerMain].
	Only []string

	// Short makes the scenarios small, for tests and emulators.
	Short bool

	// HangTimeout is the time after which a running scenario counts as hung, which is a
	// violation. 0 means DefaultHangTimeout.
	HangTimeout time.Duration

	// Progress receives the report so far. Run calls it between two scenarios: after
	// each violation, and otherwise when ProgressInterval has passed.
	Progress func(Report)

	// ProgressInterval is the time between two calls of Progress. 0 means
	// DefaultProgressInterval.
	ProgressInterval time.Duration
}

// Scenarios returns the names of all scenarios, in the order of a round.
func Scenarios() []string {
	var names []string
	for _, sc := range scenarios() {
		names = append(names, sc.name)
	}
	return names
}

// Run runs scenarios on real goroutines until a limit of c is reached or ctx ends. The
// end of ctx is no error. A scenario that violates a law or hangs does not run again;
// the others continue.
//
// Run blocks until the current scenario has ended or counts as hung. The goroutines of
// a hung scenario stay. Run returns an error that wraps [ErrViolation] if there was a
// violation. It runs nothing and returns another error if c.Only names an unknown
// scenario. Safe for concurrent use.
func Run(ctx context.Context, c Config) (Report, error) {
	chosen, err := chooseScenarios(c.Only)
	if err != nil {
		return Report{}, err
	}
	return runScenarios(ctx, c, chosen)
}

// chooseScenarios returns the named scenarios, or all of them.
func chooseScenarios(only []string) ([]scenario, error) {
	all := scenarios()
	if len(only) == 0 {
		return slices.DeleteFunc(all, func(sc scenario) bool { return sc.name == processScenario && checkProcesses() != nil }), nil
	}
	var chosen []scenario
	for _, name := range only {
		i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if i < 0 {
			return nil, fmt.Errorf("stress: no scenario is named %q", name)
		}
		if name == processScenario {
			if err := checkProcesses(); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func runScenarios(ctx context.Context, c Config, chosen []scenario) (Report, error) {
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	if c.HangTimeout <= 0 {
		c.HangTimeout = DefaultHangTimeout
	}
	if c.ProgressInterval <= 0 {
		c.ProgressInterval = DefaultProgressInterval
	}
	chosen = slices.Clone(chosen)
	report := Report{Seed: c.Seed}
	start := time.Now()
	shown := start
	for i := 0; (c.Rounds == 0 || i < c.Rounds) && len(chosen) > 0; i++ {
		seed := c.Seed
		if !c.FixedSeed {
			seed = seedOfRound(c.Seed, i)
		}
		for _, sc := range slices.Clone(chosen) {
			if ctx.Err() != nil {
				return report.result()
			}
			r := newRound(sc.name, seed, c)
			r.run(sc)
			r.addTo(&report)
			if r.Failed() {
				chosen = slices.DeleteFunc(chosen, func(o scenario) bool { return o.name == sc.name })
			}
			report.Elapsed = time.Since(start)
			if c.Progress != nil && (r.Failed() || time.Since(shown) >= c.ProgressInterval) {
				shown = time.Now()
				c.Progress(report)
			}
		}
		report.Rounds++
	}
	return report.result()
}

// seedOfRound derives the seed of a round. The first round has the seed itself, so that
// one round with the seed of a later round repeats that round.
func seedOfRound(seed uint64, round int) uint64 {
	if round == 0 {
		return seed
	}
	// The finalizer of SplitMix64.
	z := seed + uint64(round)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
