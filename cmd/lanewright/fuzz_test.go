package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/stress"
)

// parsers holds, for each command, what reads its command line and checks what it
// makes of it, so that one which asks for something real is not carried out.
var parsers = map[string]func(t *testing.T, args []string) error{
	"tour":    parseTour,
	"bench":   parseBenchmarks,
	"stress":  parseScenarios,
	"version": func(_ *testing.T, args []string) error { return parse(newFlags("version"), args) },
}

func parseTour(t *testing.T, args []string) error {
	t.Helper()
	full := tour{quick: 3, full: 5}
	o, err := full.parse(t.Context(), args)
	if err == nil && (o.workers < 1 || o.workers > maxWorkers || o.rounds != 3 && o.rounds != 5 || checkDir(o.dir) != nil) {
		t.Errorf("tour takes %q as %+v", args, o)
	}
	return err
}

func parseBenchmarks(t *testing.T, args []string) error {
	t.Helper()
	o, err := parseBench(args, suite(fullSizes))
	if err != nil {
		return err
	}
	good := o.runs >= 1 && o.runs <= 10_000 && len(o.workers) > 0 && len(o.chosen) > 0
	workers, chosen := map[int]bool{}, map[*bench.Benchmark]bool{}
	for _, n := range o.workers {
		good = good && n >= 1 && n <= maxWorkers && !workers[n]
		workers[n] = true
	}
	for _, b := range o.chosen {
		good = good && !chosen[b]
		chosen[b] = true
	}
	if !good {
		t.Errorf("bench takes %q as %d runs with %v workers of %d benchmarks", args, o.runs, o.workers, len(o.chosen))
	}
	return nil
}

func parseScenarios(t *testing.T, args []string) error {
	t.Helper()
	o, err := parseStress(args, stress.Scenarios())
	if err == nil && (o.c.Duration < 0 || o.c.Rounds < 0 || o.c.HangTimeout <= 0) {
		t.Errorf("stress takes %q as %+v", args, o)
	}
	return err
}

// typed returns what a message about the command line may name: what was typed,
// as it is or quoted, flags without what follows the equals sign.
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

// checkRefusal checks the answer to a command line that is wrong: one line on the
// standard error, which names what was wrong, and exit code 2.
func checkRefusal(t *testing.T, args []string, code int, stdout, stderr, prefix, suffix string) {
	t.Helper()
	if code != exitUsage || stdout != "" {
		t.Errorf("%q: exit code %d, stdout %q; want %d and nothing", args, code, stdout, exitUsage)
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
		if strings.Contains(line, oneLine(errors.New(name))) {
			return
		}
	}
	t.Errorf("%q: stderr does not say what was wrong: %q", args, stderr)
}

// FuzzFlags gives any command line to the program: words with single spaces
// between them. Nothing is measured: what is not wrong is not carried out.
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
	for _, cmd := range commands() {
		if parsers[cmd.name] == nil {
			f.Fatalf("parsers does not say what reads the command line of %s", cmd.name)
		}
	}
	// Instead of the go command, the environment says where a source tree is.
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
			code = run(context.Background(), args, &out, &err)
			return code, out.String(), err.String()
		}
		switch args[0] {
		case "help", "-h", "-help", "--help":
			code, stdout, stderr := invoke()
			if code == exitOK && stdout != "" && stderr == "" {
				return
			}
			if _, ok := find(args[1]); ok {
				checkRefusal(t, args[2:], code, stdout, stderr, "lanewright help: unexpected argument ", "")
			} else {
				checkRefusal(t, args[1:], code, stdout, stderr, "lanewright: unknown command ", " and help")
			}
			return
		}
		cmd, ok := find(args[0])
		if !ok {
			code, stdout, stderr := invoke()
			checkRefusal(t, args[:1], code, stdout, stderr, "lanewright: unknown command ", " and help")
			return
		}
		err := parsers[cmd.name](t, args[1:])
		if err == nil {
			return
		}
		code, stdout, stderr := invoke()
		if errors.Is(err, errHelp) {
			if code != exitOK || stdout != cmd.help || stderr != "" {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q; want the help", args, code, stdout, stderr)
			}
			return
		}
		checkRefusal(t, args[1:], code, stdout, stderr, "lanewright "+cmd.name+": ", " (try: lanewright "+cmd.name+" -h)")
	})
}
