package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/soak"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/suite"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/tour"
)

// call runs the program in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	code = commands.Main(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// TestUsage checks that a wrong command line has one line of error and exit code 2.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"command", []string{"tuor"}, `unknown command "tuor"; there are tour, bench, stress, version and help`},
		{"flag as command", []string{"-quick"}, `unknown command "-quick"`},
		{"help of nothing", []string{"help", "tuor"}, `unknown command "tuor"`},
		{"help of two", []string{"help", "tour", "bench"}, `lanewright help: unexpected argument "bench"`},
		{"tour flag", []string{"tour", "-quik"}, "lanewright tour: flag provided but not defined: -quik (try: lanewright tour -h)"},
		{"tour argument", []string{"tour", "quick"}, `lanewright tour: unexpected argument "quick"`},
		{"tour bool", []string{"tour", "-quick=often"}, "invalid boolean value"},
		{"tour workers 0", []string{"tour", "-workers", "0"}, "-workers is 0: it must be between 1 and 1024"},
		{"tour workers -1", []string{"tour", "-workers", "-1"}, "-workers is -1"},
		{"tour workers many", []string{"tour", "-workers", "100000"}, "-workers is 100000"},
		{"tour workers text", []string{"tour", "-workers", "two"}, `invalid value "two" for flag -workers`},
		{"tour no value", []string{"tour", "-dir"}, "flag needs an argument: -dir"},
		{"tour missing directory", []string{"tour", "-dir", filepath.Join(dir, "missing")}, "missing"},
		{"tour empty directory name", []string{"tour", "-dir", ""}, "-dir: open"},
		{"tour file", []string{"tour", "-dir", file}, "is not a directory"},
		{"bench flag", []string{"bench", "-run"}, "flag provided but not defined: -run"},
		{"bench argument", []string{"bench", "sched/yield"}, `unexpected argument "sched/yield"`},
		{"bench name", []string{"bench", "-only", "sched/yield,sched/none"}, `-only names "sched/none", which does not exist; lanewright bench -list prints the names`},
		{"bench prefix", []string{"bench", "-only", "sched"}, `-only names "sched"`},
		{"bench no name", []string{"bench", "-list", "-only", ""}, `-only names ""`},
		{"bench runs 0", []string{"bench", "-runs", "0"}, "-runs is 0: it must be between 1 and 10000"},
		{"bench runs many", []string{"bench", "-runs", "10001"}, "-runs is 10001"},
		{"bench runs text", []string{"bench", "-runs", "six"}, `invalid value "six" for flag -runs`},
		{"bench workers 0", []string{"bench", "-workers", "1,0"}, `-workers holds "0"`},
		{"bench workers text", []string{"bench", "-workers", "all"}, `-workers holds "all"`},
		{"bench workers empty", []string{"bench", "-workers", ""}, `-workers holds ""`},
		{"bench workers comma", []string{"bench", "-workers", "1,"}, `-workers holds ""`},
		{"stress flag", []string{"stress", "-time", "1m"}, "flag provided but not defined: -time"},
		{"stress argument", []string{"stress", "programs"}, `unexpected argument "programs"`},
		{"stress name", []string{"stress", "-only", "programs,none"}, `-only names "none", which does not exist; lanewright stress -list prints the names`},
		{"stress no name", []string{"stress", "-only", ""}, `-only names ""`},
		{"stress duration", []string{"stress", "-duration", "10"}, `invalid value "10" for flag -duration`},
		{"stress negative duration", []string{"stress", "-duration", "-1s"}, "-duration is -1s: it must not be negative"},
		{"stress rounds", []string{"stress", "-rounds", "-1"}, "-rounds is -1: it must not be negative"},
		{"stress seed", []string{"stress", "-seed", "-1"}, `invalid value "-1" for flag -seed`},
		{"stress hang timeout", []string{"stress", "-hang-timeout", "0"}, "-hang-timeout is 0s: it must be positive"},
		{"version flag", []string{"version", "-json"}, "flag provided but not defined: -json"},
		{"version argument", []string{"version", "all"}, `unexpected argument "all"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := call(t, tc.args...)
			if code != cli.ExitUsage {
				t.Errorf("exit code %d, want %d", code, cli.ExitUsage)
			}
			if stdout != "" {
				t.Errorf("stdout = %q, want nothing", stdout)
			}
			if !strings.Contains(stderr, tc.want) || !strings.HasPrefix(stderr, "lanewright") {
				t.Errorf("stderr = %q, want one with %q", stderr, tc.want)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
				t.Errorf("stderr is not one line: %q", stderr)
			}
		})
	}
}

// TestNoArguments checks that a call without arguments prints the help on the standard error.
func TestNoArguments(t *testing.T) {
	code, stdout, stderr := call(t)
	if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, "Usage: lanewright <command>") {
		t.Errorf("exit code %d, stdout %q, stderr %q, want the help on stderr and code 2", code, stdout, stderr)
	}
}

// TestHelp checks that each usual request for help prints it, and that it explains each flag.
func TestHelp(t *testing.T) {
	flags := map[string]*flag.FlagSet{
		"tour":    new(tour.Options).Flags(),
		"bench":   new(suite.Options).Flags(),
		"stress":  new(soak.Options).Flags(),
		"version": cli.NewFlags("version"),
	}
	for _, args := range [][]string{
		{"help"},
		{"-h"},
		{"-help"},
		{"--help"},
		{"help", "tour"},
		{"tour", "-h"},
		{"tour", "--help"},
		{"tour", "-quick", "-h"},
		{"help", "bench"},
		{"bench", "-h"},
		{"help", "stress"},
		{"stress", "-h"},
		{"help", "version"},
		{"version", "-h"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, stdout, stderr := call(t, args...)
			if code != cli.ExitOK || stderr != "" {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			command := ""
			for _, a := range args {
				if flags[a] != nil {
					command = a
				}
			}
			if command == "" {
				for _, cmd := range commands {
					if !strings.Contains(stdout, "\n  "+cmd.Name+" ") {
						t.Errorf("the help does not list %q", cmd.Name)
					}
				}
				return
			}
			if !strings.Contains(stdout, "Usage: lanewright "+command) || !strings.Contains(stdout, "\n  lanewright "+command) {
				t.Errorf("the help has no usage or no example:\n%s", stdout)
			}
			flags[command].VisitAll(func(f *flag.Flag) {
				if !strings.Contains(stdout, "\n  -"+f.Name) {
					t.Errorf("the help does not explain -%s", f.Name)
				}
			})
			for line := range strings.Lines(stdout) {
				if len([]rune(line)) > 101 {
					t.Errorf("line of %d columns: %s", len([]rune(line)), line)
				}
			}
		})
	}
}

// TestVersion checks that version prints five lines.
func TestVersion(t *testing.T) {
	code, stdout, stderr := call(t, "version")
	if code != cli.ExitOK || stderr != "" || strings.Count(stdout, "\n") != 5 {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
}

// brokenWriter fails like a pipe without a reader.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestBrokenOutput checks that an error of the standard output fails the program.
func TestBrokenOutput(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"bench", "-list"}} {
		var stderr strings.Builder
		if code := commands.Main(t.Context(), args, brokenWriter{}, &stderr); code != cli.ExitFailed {
			t.Errorf("%v: exit code %d, want %d", args, code, cli.ExitFailed)
		}
		if !strings.Contains(stderr.String(), io.ErrClosedPipe.Error()) {
			t.Errorf("%v: stderr = %q", args, &stderr)
		}
	}
}

// TestCancelled checks the message and the exit code of a command that is interrupted
// before it begins.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("test"))
	dir := t.TempDir()
	for _, args := range [][]string{{"bench", "-only", "sched/yield"}, {"stress"}, {"tour", "-quick", "-dir", dir}} {
		var stdout, stderr strings.Builder
		if code := commands.Main(ctx, args, &stdout, &stderr); code != cli.ExitInterrupted {
			t.Errorf("%v: exit code %d, want %d", args, code, cli.ExitInterrupted)
		}
		if got, want := stderr.String(), "lanewright "+args[0]+": interrupted\n"; got != want {
			t.Errorf("%v: stderr = %q, want %q", args, got, want)
		}
	}
}
