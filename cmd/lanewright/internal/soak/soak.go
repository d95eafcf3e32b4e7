package soak

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/version"
	"github.com/lanewright/lanewright/stress"
)

// Help is the text of lanewright stress -h.
const Help = `lanewright stress checks the laws of the scheduler, its queues and lanes on real threads.

Usage: lanewright stress [flags]

  -duration d     how long to run (default 1m, or no limit with -rounds); 0: no limit
  -rounds n       how many rounds to run (default 0: no limit); a round runs each scenario once
  -seed n         the seed of the first round (default: a random one, which is printed)
  -fixed-seed     use the same seed for every round, instead of deriving one from it
  -only a,b       run these scenarios only
  -short          make the scenarios small
  -hang-timeout d how long a scenario may take before it counts as hung (default 30s)
  -list           print the names of the scenarios and run none

Examples:

  lanewright stress                                       a minute of everything
  lanewright stress -duration 10m                         a soak
  lanewright stress -duration 0                           until Ctrl-C, which prints the report
  lanewright stress -only programs -seed 42 -rounds 1     one round of one scenario

Each round runs each scenario once with a seed of its own. The scenarios are generated programs of
tasks, trees of forks, spawners that fail, tasks that panic, exit and block, and schedulers that
are shut down and closed during their work. The garbage collector and computing goroutines run at
the same time. Each scenario checks laws: a task runs exactly once or is returned, every wait ends,
no task is retained, the counters add up.

The command prints a line of progress every ten seconds and the report at the end. For a broken
law or a hang it prints the violation and the command that repeats that round. The other scenarios
continue, and the exit code is 1 at the end. The seed repeats the program and the faults, but not
the interleaving. To see a violation again may take some rounds: -fixed-seed -rounds 1000.
`

// Options are the flags of lanewright stress.
type Options struct {
	List   bool
	Config stress.Config

	only string // the text of -only
}

// Flags returns the flags, which store into o.
func (o *Options) Flags() *flag.FlagSet {
	f := cli.NewFlags("stress")
	f.DurationVar(&o.Config.Duration, "duration", time.Minute, "")
	f.IntVar(&o.Config.Rounds, "rounds", 0, "")
	f.Uint64Var(&o.Config.Seed, "seed", 0, "")
	f.BoolVar(&o.Config.FixedSeed, "fixed-seed", false, "")
	f.StringVar(&o.only, "only", "", "")
	f.BoolVar(&o.Config.Short, "short", false, "")
	f.DurationVar(&o.Config.HangTimeout, "hang-timeout", stress.DefaultHangTimeout, "")
	f.BoolVar(&o.List, "list", false, "")
	return f
}

// Parse reads the command line.
func Parse(args []string) (Options, error) { return parse(args, stress.Scenarios()) }

// parse is Parse with another list of scenarios.
func parse(args, names []string) (Options, error) {
	var o Options
	f := o.Flags()
	if err := cli.Parse(f, args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case o.Config.Duration < 0:
		return o, cli.Usagef("-duration is %v: it must not be negative", o.Config.Duration)
	case o.Config.Rounds < 0:
		return o, cli.Usagef("-rounds is %d: it must not be negative", o.Config.Rounds)
	case o.Config.HangTimeout <= 0:
		return o, cli.Usagef("-hang-timeout is %v: it must be positive", o.Config.HangTimeout)
	case given["rounds"] && !given["duration"]:
		o.Config.Duration = 0
	}
	if !given["seed"] {
		o.Config.Seed = rand.Uint64()
	}
	if !given["only"] {
		return o, nil
	}
	for name := range strings.SplitSeq(o.only, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(names, name) {
			return o, cli.Usagef("-only names %q, which does not exist; lanewright stress -list prints the names", name)
		}
		if !slices.Contains(o.Config.Only, name) {
			o.Config.Only = append(o.Config.Only, name)
		}
	}
	return o, nil
}

// Run runs the scenarios that args choose. It prints the progress, each violation and the
// report.
func Run(ctx context.Context, c *cli.Console, args []string) error {
	o, err := Parse(args)
	if err != nil {
		return err
	}
	names := stress.Scenarios()
	if len(o.Config.Only) > 0 {
		names = o.Config.Only
	}
	if o.List {
		for _, name := range names {
			cli.Printf(c.Out, "%s\n", name)
		}
		return nil
	}
	cli.Printf(c.Out, "%s\nseed %#x, scenarios: %d\n", version.Machine(), o.Config.Seed, len(names))
	shown := 0 // violations
	show := func(r stress.Report) {
		for _, v := range r.Violations[shown:] {
			cli.Printf(c.Out, "\n%v\n", v)
		}
		shown = len(r.Violations)
	}
	o.Config.Progress = func(r stress.Report) {
		show(r)
		cli.Printf(c.Out, "%s\n", r.Line())
	}
	report, err := stress.Run(ctx, o.Config)
	show(report)
	cli.Printf(c.Out, "\n%v", report)
	err = errors.Join(err, context.Cause(ctx))
	if errors.Is(err, stress.ErrViolation) {
		err = errors.Join(cli.ErrReported, err)
	}
	return err
}
