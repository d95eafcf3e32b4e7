// Command peers runs the work of the benchmarks on other task libraries, and by other means
// of calls into another process. It draws the results. Run it with -h for more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lanewright/lanewright/bench/remote"
)

const help = `peers runs the work of the benchmarks on the task libraries that Go programs use, and by the means that they
use to call another process. It draws charts.

Usage, from the directory bench of a checkout: go run ./cmd/peers [flags]

  -list           print the workloads, the peers that do them, and why other peers do not
  -only a,b       these workloads only; a name that ends in a slash chooses all workloads below it
  -peers a,b      these peers only
  -ours=false     do not measure lanewright, which is built from the checkout
  -workers 1,2    run each with these numbers of workers (default 1,2)
  -runs n         measure each workload n times (default 6), after one run to warm up
  -json           print one JSON object a line
  -html FILE      write a page with a chart and a table for each workload
  -svg DIR        write each chart as a file
  -in FILE...     draw the rows of these files, and measure nothing
  -with FILE      draw the rows of this file together with the measured rows

Examples:

  go run ./cmd/peers -only fork-join/fib
  go run ./cmd/peers -only process/ -workers 2
  go run ./cmd/peers -json > peers.jsonl
  go run ./cmd/peers -in peers.jsonl lanewright.jsonl -html bench.html -svg charts

A row is a workload on a library with w workers. The pool has w workers, and Go uses at most w
processors (GOMAXPROCS). A process of its own measures each row. A pool of fixed size hangs when all
its tasks wait for other tasks: a row whose run does not end within 6 s has a note and no value. A
ratio is the time of the row over that of the reference, taken run by run; less is better.

A row of process/ calls one other process, which is this program again. Go uses at most w processors in the
process that calls, and as many as it finds in the other one.
`

// Exit codes. They are those of lanewright.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// usageError is an error in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	remote.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var err error
	if len(args) > 0 && args[0] == child {
		err = measure(ctx, args[1:], stdout)
	} else {
		err = program(ctx, args, stdout, stderr)
	}
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(stdout, help)
		return 0
	case errors.As(err, &usage):
		complain(stderr, err, " (try: -h)")
		return exitUsage
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "peers: interrupted")
		return exitInterrupted
	default:
		complain(stderr, err, "")
		return exitFailed
	}
}

// complain prints an error in one line.
func complain(w io.Writer, err error, hint string) {
	_, _ = fmt.Fprintf(w, "peers: %s%s\n", strings.ReplaceAll(err.Error(), "\n", "; "), hint)
}
