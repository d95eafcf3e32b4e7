package interleave

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// TB is the part of a test that [Check] uses. *testing.T implements it.
type TB interface {
	// Helper marks the caller as a helper of the test.
	Helper()
	// Name returns the name of the test.
	Name() string
	// Logf writes to the log of the test.
	Logf(format string, args ...any)
	// Errorf writes to the log of the test and fails it.
	Errorf(format string, args ...any)
}

// The flags of a test binary. They are not registered in other programs, whose
// command lines belong to them.
var (
	flagReplay      string
	flagBudget      time.Duration
	flagPreemptions int
	flagSeed        uint64
	flagDelay       uint
)

func init() {
	if !testBinary() {
		return
	}
	flag.StringVar(&flagReplay, "interleave.replay", "", "run this one execution of the models, `[name:]schedule`")
	flag.DurationVar(&flagBudget, "interleave.budget", 0, "explore each model for this `time`: a depth-first search stops after it, and PCT and Random continue until then, except at the end of the default search, where PCT runs 10,000 executions at most")
	flag.IntVar(&flagPreemptions, "interleave.preemptions", 0, "raise the bound of bounded models to `n` preemptions")
	flag.UintVar(&flagDelay, "interleave.delay", 0, "outside of explorations, delay one in about `n` operations of model types")
	flag.Uint64Var(&flagSeed, "interleave.seed", 0, "`seed` of PCT and Random, in place of that of the model")
}

// testBinary reports whether this program was built by go test.
func testBinary() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && strings.HasSuffix(info.Path, ".test") || strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")
}

// Check explores a model in a test. It prints a line to the standard output, in
// which K is a number or all, followed by the entries of [Result.Assumes], and by
// strategy=pct or strategy=random where that strategy has picked the executions:
//
//	model NAME executions=N pruned=N preemptions=K complete=true|false
//
// A search that deepens has one line for each bound, and one for PCT at its end.
//
// When an execution fails, Check fails the test. The report has the steps of
// the execution and the command that runs it again. name is short and
// lower-case. Check panics when name contains a space or a colon.
//
// Under the race detector Check explores with [Baton] in place of [Coroutines],
// so that the detector reports races on plain memory.
//
// These flags of the test binary override the options:
//
//	-interleave.replay=[NAME:]SCHEDULE  run this execution and log its steps
//	-interleave.budget=TIME             end a depth-first search after this time, and
//	                                    continue PCT and Random until then
//	-interleave.preemptions=N           raise the bound of bounded models to N
//	-interleave.seed=N                  seed of PCT and Random
//	-interleave.delay=N                 delay operations outside of explorations: see the
//	                                    package text
func Check(t TB, name string, o Options, body func(m *M)) Result {
	t.Helper()
	if strings.ContainsAny(name, " \t\n:") {
		panic("interleave: Check: the name of a model contains no spaces and no colons: " + name)
	}
	if raceBuild && o.Backend == Coroutines {
		o.Backend = Baton
	}
	if o.Strategy == DFS && o.Preemptions != All && o.Preemptions != 0 && flagPreemptions > 0 {
		o.Preemptions = max(o.Preemptions, flagPreemptions)
	}
	if flagSeed != 0 {
		o.Seed = flagSeed
	}
	if flagBudget > 0 {
		o.Budget = flagBudget
		if o.Strategy != DFS {
			o.Executions = math.MaxInt // until the budget is used
		}
	}
	var trace string
	if s, ok := replayOf(flagReplay, name); ok {
		o.Replay = s
	}
	r := explore(o, body, &trace)
	for _, s := range r.Searches {
		fmt.Printf("model %s %v\n", name, s)
	}
	switch {
	case r.Failure != nil && r.Failure.Schedule != "":
		t.Errorf("model %s: %v\n\nrun it again with\n\t%s", name, r.Failure, replayCommand(t.Name(), name, r.Failure.Schedule))
	case r.Failure != nil:
		t.Errorf("model %s: %v", name, r.Failure)
	case o.Replay != "":
		t.Logf("model %s: the execution did not fail:\n%s", name, trace)
	}
	return r
}

// replayOf returns the schedule in the value of the flag. ok is false when the
// flag is not set or names another model.
func replayOf(value, name string) (schedule string, ok bool) {
	if value == "" {
		return "", false
	}
	model, schedule, named := strings.Cut(value, ":")
	if !named {
		return value, true
	}
	return schedule, model == name
}

// replayCommand returns the command that runs an execution again.
func replayCommand(test, model, schedule string) string {
	var b strings.Builder
	b.WriteString("go test")
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "-race" && s.Value == "true":
				b.WriteString(" -race")
			case s.Key == "-tags" && s.Value != "":
				b.WriteString(" -tags " + s.Value)
			}
		}
	}
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	fmt.Fprintf(&b, " -run '%s' %s -interleave.replay=%s:%s", strings.Join(parts, "/"), packageDir(), model, schedule)
	return b.String()
}

// packageDir returns the directory of the package under test, relative to the
// root of its module. Tests run in the directory of their package.
func packageDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			if rel, err := filepath.Rel(root, dir); err == nil {
				return "./" + filepath.ToSlash(rel)
			}
			return "."
		}
		if filepath.Dir(root) == root {
			return "."
		}
	}
}
