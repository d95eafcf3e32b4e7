package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lanewright/lanewright/stress"
)

const stressHelp = `lanewright stress checks the laws of the scheduler, its queues and lanes on real threads.

Usage: lanewright stress [flags]

  -duration d     go on for so long (default 1m, or no limit with -rounds); 0: no limit
  -rounds n       play so many rounds (default 0: no limit); a round plays each scenario once
  -seed n         begin with this seed (default: one is drawn, and printed)
  -fixed-seed     take the same seed for every round, instead of deriving one from it
  -only a,b       play these scenarios only
  -short          make the scenarios small
  -hang-timeout d how long a scenario may take before it counts as hung (default 30s)
  -list           print the names of the scenarios, and do nothing else

Examples:

  lanewright stress                                       a minute of everything
  lanewright stress -duration 10m                         a soak
  lanewright stress -duration 0                           until Ctrl-C, which prints the report
  lanewright stress -only programs -seed 42 -rounds 1     one round of one scenario

Each round plays each scenario once, with a seed of its own: drawn programs of tasks, trees of
forks, spawners that fail, tasks that panic, exit and block, schedulers that are shut down and
closed in the middle of their work, beside the garbage collector and goroutines that compute. Each
scenario checks laws: a task runs exactly once or comes back, every wait ends, nothing is kept, the
counters add up.

A line of progress comes every ten seconds, the report at the end. When a law is broken, or a
scenario hangs, it prints what happened and the command that plays that round again; the other
scenarios go on, and the exit code is 1 in the end. The seed repeats the program and the faults;
the interleaving is the machine's, so to see it again may take some rounds:
-fixed-seed -rounds 1000.
`

// stressOptions are the flags of stress.
type stressOptions struct {
	list     bool
	onlyText string
	c        stress.Config
}

func (o *stressOptions) flags() *flag.FlagSet {
	f := newFlags("stress")
	f.DurationVar(&o.c.Duration, "duration", time.Minute, "")
	f.IntVar(&o.c.Rounds, "rounds", 0, "")
	f.Uint64Var(&o.c.Seed, "seed", 0, "")
	f.BoolVar(&o.c.FixedSeed, "fixed-seed", false, "")
	f.StringVar(&o.onlyText, "only", "", "")
	f.BoolVar(&o.c.Short, "short", false, "")
	f.DurationVar(&o.c.HangTimeout, "hang-timeout", stress.DefaultHangTimeout, "")
	f.BoolVar(&o.list, "list", false, "")
	return f
}

func parseStress(args []string, names []string) (stressOptions, error) {
	var o stressOptions
	f := o.flags()
	if err := parse(f, args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case o.c.Duration < 0:
		return o, usagef("-duration is %v: it must not be negative", o.c.Duration)
	case o.c.Rounds < 0:
		return o, usagef("-rounds is %d: it must not be negative", o.c.Rounds)
	case o.c.HangTimeout <= 0:
		return o, usagef("-hang-timeout is %v: it must be positive", o.c.HangTimeout)
	case given["rounds"] && !given["duration"]:
		o.c.Duration = 0
	}
	if !given["seed"] {
		o.c.Seed = rand.Uint64()
	}
	if !given["only"] {
		return o, nil
	}
	for name := range strings.SplitSeq(o.onlyText, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(names, name) {
			return o, usagef("-only names %q, which does not exist; lanewright stress -list prints what there is", name)
		}
		if !slices.Contains(o.c.Only, name) {
			o.c.Only = append(o.c.Only, name)
		}
	}
	return o, nil
}

func runStress(ctx context.Context, c *console, args []string) error {
	names := stress.Scenarios()
	o, err := parseStress(args, names)
	if err != nil {
		return err
	}
	if len(o.c.Only) > 0 {
		names = o.c.Only
	}
	if o.list {
		for _, name := range names {
			say(c.out, "%s\n", name)
		}
		return nil
	}
	say(c.out, "%s\nseed %#x, scenarios: %d\n", machine(), o.c.Seed, len(names))
	told := 0 // violations
	show := func(r stress.Report) {
		for _, v := range r.Violations[told:] {
			say(c.out, "\n%v\n", v)
		}
		told = len(r.Violations)
	}
	o.c.Progress = func(r stress.Report) {
		show(r)
		say(c.out, "%s\n", r.Line())
	}
	report, err := stress.Run(ctx, o.c)
	show(report)
	say(c.out, "\n%v", report)
	return errors.Join(err, context.Cause(ctx))
}
