package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Console is the output of a command.
type Console struct {
	Out, Err io.Writer
	Bar      *Bar
}

// NewConsole returns a console that draws its bar on stderr when that is a terminal.
func NewConsole(stdout, stderr io.Writer) *Console {
	return &Console{Out: stdout, Err: stderr, Bar: newBar(stderr)}
}

// Printf writes text and ignores the error of w. Main reports an error of the standard
// output, which its sticky writer stores. An error of the standard error cannot be
// reported.
func Printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// OneLine returns the text of err without line breaks.
func OneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

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
