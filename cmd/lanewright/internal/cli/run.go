package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"slices"
	"strings"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1   // an error at run time
	ExitUsage       = 2   // an error in the command line
	ExitInterrupted = 130 // 128 + SIGINT, as shells report it
)

// Command is one command of lanewright.
type Command struct {
	Name    string
	Summary string // one line of the help of the program
	Help    string // the text of -h

	// Run carries out the command with the rest of the command line. It returns
	// flag.ErrHelp for a request for the help, and a UsageError for wrong args. Main
	// prints one line for any error that does not wrap ErrReported.
	Run func(ctx context.Context, c *Console, args []string) error
}

// Table holds the commands of lanewright in the order of its help.
type Table []Command

// Main runs the program with the command line args and returns the exit code.
func (t Table) Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &sticky{w: stdout}
	code := t.dispatch(ctx, args, out, stderr)
	if code == ExitOK && out.err != nil {
		Printf(stderr, "lanewright: %s\n", OneLine(out.err))
		return ExitFailed
	}
	return code
}

func (t Table) dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		t.printHelp(stderr)
		return ExitUsage
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return t.help(rest, stdout, stderr)
	}
	cmd, ok := t.Find(name)
	if !ok {
		return t.unknown(name, stderr)
	}
	c := NewConsole(stdout, stderr)
	err := cmd.Run(ctx, c, rest)
	c.Bar.Clear()
	var usage UsageError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, flag.ErrHelp):
		Printf(stdout, "%s", cmd.Help)
		return ExitOK
	case errors.As(err, &usage):
		Printf(stderr, "lanewright %s: %s (try: lanewright %s -h)\n", name, OneLine(err), name)
		return ExitUsage
	case errors.Is(err, ErrReported):
		return ExitFailed
	case ctx.Err() != nil:
		Printf(stderr, "lanewright %s: interrupted\n", name)
		return ExitInterrupted
	default:
		Printf(stderr, "lanewright %s: %s\n", name, OneLine(err))
		return ExitFailed
	}
}

// Find returns the command of that name, if the table has it.
func (t Table) Find(name string) (Command, bool) {
	i := slices.IndexFunc(t, func(cmd Command) bool { return cmd.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return t[i], true
}

// help prints the help of the program, or of the command that args name.
func (t Table) help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		t.printHelp(stdout)
		return ExitOK
	}
	cmd, ok := t.Find(args[0])
	if !ok {
		return t.unknown(args[0], stderr)
	}
	if len(args) > 1 {
		Printf(stderr, "lanewright help: unexpected argument %q\n", args[1])
		return ExitUsage
	}
	Printf(stdout, "%s", cmd.Help)
	return ExitOK
}

// unknown reports that there is no command of that name.
func (t Table) unknown(name string, stderr io.Writer) int {
	var names []string
	for _, cmd := range t {
		names = append(names, cmd.Name)
	}
	Printf(stderr, "lanewright: unknown command %q; there are %s and help\n", name, strings.Join(names, ", "))
	return ExitUsage
}

func (t Table) printHelp(w io.Writer) {
	Printf(w, "%s", `lanewright runs small tasks on a few workers. This program shows it at work.

Usage: lanewright <command> [flags]

`)
	for _, cmd := range t {
		Printf(w, "  %-8s %s\n", cmd.Name, cmd.Summary)
	}
	Printf(w, "%s", `  help     print this text, or that of a command: lanewright help tour

New here? Begin with:

  lanewright tour -quick

Exit codes: 0 all went well, 1 something failed, 2 the command line is wrong, 130 interrupted.
`)
}
