package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Bar is a progress bar on a terminal. Only its methods draw it. A timer would disturb the
// measurements.
type Bar struct {
	Out   io.Writer // the terminal; nil: the bar is not drawn
	width int       // columns drawn
}

// newBar returns a bar on w. It draws nothing unless w is a terminal.
func newBar(w io.Writer) *Bar {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return &Bar{Out: w}
	}
	return &Bar{}
}

// isTerminal reports whether f is a character device that shows text.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// barColumns is the width of the bar without its text.
const barColumns = 24

// Draw shows that done of total steps are done, and the name of the next one.
func (b *Bar) Draw(done, total int, what string) {
	if b.Out == nil || total <= 0 {
		return
	}
	full := barColumns * min(done, total) / total
	line := fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barColumns-full), done, total, what)
	columns := utf8.RuneCountInString(line)
	Printf(b.Out, "\r%s%s", line, strings.Repeat(" ", max(0, b.width-columns)))
	b.width = columns
}

// Clear removes the bar.
func (b *Bar) Clear() {
	if b.Out == nil || b.width == 0 {
		return
	}
	Printf(b.Out, "\r%s\r", strings.Repeat(" ", b.width))
	b.width = 0
}
