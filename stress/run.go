package stress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrViolation reports that a scenario saw a law broken, or did not end.
var ErrViolation = errors.New("stress: violation")

// Defaults of [Config].
const (
	DefaultHangTimeout      = 30 * time.Second
	DefaultProgressInterval = 10 * time.Second
)

// Config says what [Run] does. The zero Config plays all scenarios, round after
// round, until the context ends.
type Config struct {
	// Duration is how long to go on; 0 means without end. The scenario that is
	// being played then is played to its end.
	Duration time.Duration

	// Rounds is how many rounds to play; 0 means without end.
	Rounds int

	// Seed decides what each scenario does: its programs and its faults. The
	// first round takes the seed as it is, each further one a seed derived from
	// it. How the goroutines interleave is the machine's affair.
	Seed uint64

	// FixedSeed makes every round take the seed as it is.
	FixedSeed bool

	// Only names the scenarios to play; none means all.
	Only []string

	// Short makes scenarios small, for tests and emulators.
	Short bool

	// HangTimeout is how long a scenario may take before it counts as hung, which
	// is a violation. 0 means DefaultHangTimeout.
	HangTimeout time.Duration

	// Progress is called by Run, between two scenarios, after each violation and
	// else as often as ProgressInterval says, with what there is to report so far.
	Progress func(Report)

	// ProgressInterval is how long to leave between two calls of Progress. 0 means
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

// Run plays scenarios over real goroutines until one of the limits of c is
// reached or ctx ends, which is no error. A scenario that breaks a law, or hangs,
// is not played again in this run; the others are.
//
// It returns an error that wraps [ErrViolation] when there was one, and another
// error, having played nothing, when c names what there is not.
func Run(ctx context.Context, c Config) (Report, error) {
	chosen, err := chooseScenarios(c.Only)
	if err != nil {
		return Report{}, err
	}
	return runScenarios(ctx, c, chosen)
}

func chooseScenarios(only []string) ([]scenario, error) {
	all := scenarios()
	if len(only) == 0 {
		return all, nil
	}
	var chosen []scenario
	for _, name := range only {
		i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if i < 0 {
			return nil, fmt.Errorf("stress: no scenario is named %q", name)
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
			r.play(sc)
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

// seedOfRound derives the seed of a round: that of the first is the seed itself,
// so that one round with it repeats what a later round of another run did.
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
