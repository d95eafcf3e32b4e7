package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// progress draws a bar on a terminal, and does nothing elsewhere. It draws when
// it is told to and never from a timer, so that it disturbs no measurement.
type progress struct {
	w     io.Writer // nil: not a terminal
	width int       // columns drawn
}

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		return &progress{w: w}
	}
	return &progress{}
}

// isTerminal reports whether f is a character device that shows text.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

const barColumns = 24

// draw shows that done of total steps are done, and what is next.
func (p *progress) draw(done, total int, what string) {
	if p.w == nil || total <= 0 {
		return
	}
	full := barColumns * min(done, total) / total
	line := fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(".", barColumns-full), done, total, what)
	columns := utf8.RuneCountInString(line)
	say(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-columns)))
	p.width = columns
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.w == nil || p.width == 0 {
		return
	}
	say(p.w, "\r%s\r", strings.Repeat(" ", p.width))
	p.width = 0
}
