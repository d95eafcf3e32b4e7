package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/soak"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/suite"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/tour"
	"github.com/lanewright/lanewright/internal/bench"
)

// parsers holds a function for each command. The function parses a command line and checks
// the options, so that the fuzz target does not have to run the command.
var parsers = map[string]func(t *testing.T, args []string) error{
	"tour":    parseTour,
	"bench":   parseBenchmarks,
	"stress":  parseScenarios,
	"version": func(_ *testing.T, args []string) error { return cli.Parse(cli.NewFlags("version"), args) },
}

func parseTour(t *testing.T, args []string) error {
	t.Helper()
	o, err := tour.Parse(t.Context(), args)
	if err == nil && (o.Workers < 1 || o.Workers > cli.MaxWorkers || o.Rounds != 3 && o.Rounds != 5 || !isDir(o.Dir)) {
		t.Errorf("tour takes %q as %+v", args, o)
	}
	return err
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func parseBenchmarks(t *testing.T, args []string) error {
	t.Helper()
	o, err := suite.Parse(args, suite.Benchmarks())
	if err != nil {
		return err
	}
	good := o.Runs >= 1 && o.Runs <= 10_000 && len(o.Workers) > 0 && len(o.Chosen) > 0
	workers, chosen := map[int]bool{}, map[*bench.Benchmark]bool{}
	for _, n := range o.Workers {
		good = good && n >= 1 && n <= cli.MaxWorkers && !workers[n]
		workers[n] = true
	}
	for _, b := range o.Chosen {
		good = good && !chosen[b]
		chosen[b] = true
	}
	if !good {
		t.Errorf("bench takes %q as %d runs with %v workers of %d benchmarks", args, o.Runs, o.Workers, len(o.Chosen))
	}
	return nil
}

func parseScenarios(t *testing.T, args []string) error {
	t.Helper()
	o, err := soak.Parse(args)
	if err == nil && (o.Config.Duration < 0 || o.Config.Rounds < 0 || o.Config.HangTimeout <= 0) {
		t.Errorf("stress takes %q as %+v", args, o)
	}
	return err
}

// typed returns the names in args that a message may contain: each argument unchanged and
// quoted, and each flag without its value.
func typed(args []string) (names []string) {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if flag := strings.TrimLeft(name, "-"); flag != name && flag != "" {
			names = append(names, "-"+flag)
		}
		if arg != "" {
			names = append(names, arg)
		}
		names = append(names, strconv.Quote(arg))
	}
	return names
}

// checkRefusal checks the response to a wrong command line: exit code 2 and one line on
// the standard error that names a wrong argument.
func checkRefusal(t *testing.T, args []string, code int, stdout, stderr, prefix, suffix string) {
	t.Helper()
	if code != cli.ExitUsage || stdout != "" {
		t.Errorf("%q: exit code %d, stdout %q; want %d and nothing", args, code, stdout, cli.ExitUsage)
	}
	line, ok := strings.CutSuffix(stderr, "\n")
	if !ok || strings.Contains(line, "\n") {
		t.Errorf("%q: stderr is not one line: %q", args, stderr)
	}
	line, begins := strings.CutPrefix(line, prefix)
	line, ends := strings.CutSuffix(line, suffix)
	if !begins || !ends {
		t.Errorf("%q: stderr = %q, want %s...%s", args, stderr, prefix, suffix)
	}
	for _, name := range typed(args) {
		if strings.Contains(line, cli.OneLine(errors.New(name))) {
			return
		}
	}
	t.Errorf("%q: stderr does not name a wrong argument: %q", args, stderr)
}

// FuzzFlags checks the response to any command line, which is given as words with single
// spaces between them. A correct command line is parsed but not run.
func FuzzFlags(f *testing.F) {
	for _, line := range []string{
		"", "-h", "help", "help bench", "help bench tour", "tuor -quick", "help tuor", "version", "version -json", "version all",
		"tour -quick -workers 2 -json", "tour -dir .", "tour -dir= -quick", "tour -workers 0", "tour -workers=-1", "tour -quik",
		"tour -quick=often", "tour --dir", "tour -- x", "tour ---quick", "tour -=1", "tour -workers 99999999999999999999",
		"bench -list", "bench -only sched/yield,sched/chain -runs 3", "bench -only sched/none", "bench -only ,", "bench -only ",
		"bench -workers 1,2,2", "bench -workers 1,0", "bench -workers 1024,1025", "bench -runs 0", "bench -runs 10000", "tour -workers 1024", "bench -workers 0x1", "bench -runs 10001 -json=f", "bench -runs 1 -h", "bench -a\nb",
		"stress -duration -1s", "stress -only x -seed 0", "stress -h", "stress -rounds -1", "stress -hang-timeout 0",
		"stress -duration 10m -seed 42 -rounds 3 -short -fixed-seed", "stress -only , -list", "stress 10m", "stress -duration 10",
	} {
		f.Add(line)
	}
	for _, cmd := range commands {
		if parsers[cmd.Name] == nil {
			f.Fatalf("parsers has no function for the command %s", cmd.Name)
		}
	}
	// The environment names a source tree, because there is no go command.
	root := f.TempDir()
	if err := os.Mkdir(filepath.Join(root, "src"), 0o777); err != nil {
		f.Fatal(err)
	}
	f.Setenv("PATH", "")
	f.Setenv("GOROOT", root)
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		invoke := func() (code int, stdout, stderr string) {
			var out, err strings.Builder
			code = commands.Main(context.Background(), args, &out, &err)
			return code, out.String(), err.String()
		}
		switch args[0] {
		case "help", "-h", "-help", "--help":
			code, stdout, stderr := invoke()
			if code == cli.ExitOK && stdout != "" && stderr == "" {
				return
			}
			if _, ok := commands.Find(args[1]); ok {
				checkRefusal(t, args[2:], code, stdout, stderr, "lanewright help: unexpected argument ", "")
			} else {
				checkRefusal(t, args[1:], code, stdout, stderr, "lanewright: unknown command ", " and help")
			}
			return
		}
		cmd, ok := commands.Find(args[0])
		if !ok {
			code, stdout, stderr := invoke()
			checkRefusal(t, args[:1], code, stdout, stderr, "lanewright: unknown command ", " and help")
			return
		}
		err := parsers[cmd.Name](t, args[1:])
		if err == nil {
			return
		}
		code, stdout, stderr := invoke()
		if errors.Is(err, flag.ErrHelp) {
			if code != cli.ExitOK || stdout != cmd.Help || stderr != "" {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q; want the help", args, code, stdout, stderr)
			}
			return
		}
		checkRefusal(t, args[1:], code, stdout, stderr, "lanewright "+cmd.Name+": ", " (try: lanewright "+cmd.Name+" -h)")
	})
}
