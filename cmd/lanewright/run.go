package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/lanewright/lanewright/stress"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // something went wrong at run time
	exitUsage       = 2   // the command line asks for what there is not
	exitInterrupted = 130 // 128 + SIGINT, as shells report it
)

// console is where a command writes.
type console struct {
	out, err io.Writer
	bar      *progress
}

// say writes text. An error of the standard output is kept by its sticky writer;
// that of the standard error has nowhere to go.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// sticky is a writer that remembers its first error.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.err = cmp.Or(s.err, err)
	return n, err
}

// usageError is an error of whoever typed the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// command is a subcommand.
type command struct {
	name, summary, help string
	run                 func(ctx context.Context, c *console, args []string) error
}

// commands lists the subcommands in the order of the help.
func commands() []command {
	return []command{
		{"tour", "sort ten million integers, hash a source tree, make a million calls", tourHelp, runTour},
		{"bench", "measure every figure of BENCHMARKS.md on this machine", benchHelp, runBench},
		{"stress", "check the laws of the scheduler on real threads, for as long as you like", stressHelp, runStress},
		{"version", "say what this program and this machine are", versionHelp, runVersion},
	}
}

// errHelp asks for the help of the command that returned it.
var errHelp = flag.ErrHelp

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &sticky{w: stdout}
	code := dispatch(ctx, args, out, stderr)
	if code == exitOK && out.err != nil {
		say(stderr, "lanewright: %s\n", oneLine(out.err))
		return exitFailed
	}
	return code
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printHelp(stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return help(rest, stdout, stderr)
	}
	cmd, ok := find(name)
	if !ok {
		return unknown(name, stderr)
	}
	c := &console{out: stdout, err: stderr, bar: newProgress(stderr)}
	err := cmd.run(ctx, c, rest)
	c.bar.clear()
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errHelp):
		say(stdout, "%s", cmd.help)
		return exitOK
	case errors.As(err, &usage):
		say(stderr, "lanewright %s: %s (try: lanewright %s -h)\n", name, oneLine(err), name)
		return exitUsage
	case errors.Is(err, stress.ErrViolation):
		return exitFailed // which is printed already
	case ctx.Err() != nil:
		say(stderr, "lanewright %s: interrupted\n", name)
		return exitInterrupted
	default:
		say(stderr, "lanewright %s: %s\n", name, oneLine(err))
		return exitFailed
	}
}

func help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printHelp(stdout)
		return exitOK
	}
	cmd, ok := find(args[0])
	if !ok {
		return unknown(args[0], stderr)
	}
	if len(args) > 1 {
		say(stderr, "lanewright help: unexpected argument %q\n", args[1])
		return exitUsage
	}
	say(stdout, "%s", cmd.help)
	return exitOK
}

func find(name string) (command, bool) {
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd, true
		}
	}
	return command{}, false
}

func unknown(name string, stderr io.Writer) int {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	say(stderr, "lanewright: unknown command %q; there are %s and help\n", name, strings.Join(names, ", "))
	return exitUsage
}

// oneLine returns the text of err without line breaks.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func printHelp(w io.Writer) {
	say(w, "%s", `lanewright runs small tasks on a few workers. This program shows it at work.

Usage: lanewright <command> [flags]

`)
	for _, cmd := range commands() {
		say(w, "  %-8s %s\n", cmd.name, cmd.summary)
	}
	say(w, "%s", `  help     print this text, or that of a command: lanewright help tour

New here? Begin with:

  lanewright tour -quick

Exit codes: 0 all went well, 1 something failed, 2 the command line is wrong, 130 interrupted.
`)
}

// newFlags returns an empty flag set that prints nothing by itself.
func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse reads args, which may hold flags only.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return errHelp
		}
		return usageError{err}
	}
	if f.NArg() > 0 {
		return usagef("unexpected argument %q", f.Arg(0))
	}
	return nil
}
