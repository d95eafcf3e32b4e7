package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// MaxWorkers is the limit of the flags -workers. It was chosen above the number of
// processors of any machine on which the program has run.
const MaxWorkers = 1024

// ErrReported marks an error whose text the command has printed. The exit code is
// ExitFailed, and Main does not print the error again.
var ErrReported = errors.New("reported")

// UsageError is an error in the command line. The exit code is ExitUsage.
type UsageError struct{ error }

// Usagef returns a UsageError with this text.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// NewFlags returns an empty flag set that prints nothing by itself.
func NewFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// Parse reads args, which may hold flags only. It returns flag.ErrHelp for a request for
// the help, and a UsageError for wrong args.
func Parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return UsageError{err}
	}
	if f.NArg() > 0 {
		return Usagef("unexpected argument %q", f.Arg(0))
	}
	return nil
}
