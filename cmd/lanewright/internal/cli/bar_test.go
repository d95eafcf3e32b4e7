package cli

import (
	"io"
	"os"
	"strings"
	"testing"
)

// TestBar checks the text of the bar, and that it is not drawn without a terminal.
func TestBar(t *testing.T) {
	var buf strings.Builder
	p := &Bar{Out: &buf}
	p.Clear() // draws nothing before the first Draw
	p.Draw(0, 4, "a long name")
	p.Draw(2, 4, "b")
	p.Draw(9, 4, "")
	p.Clear()
	lines := strings.Split(buf.String(), "\r")
	if len(lines) != 6 {
		t.Fatalf("%d parts, want 6: %q", len(lines), lines)
	}
	for i, want := range []string{"", "[........................] 0/4 a long name", "[############............] 2/4 b", "[########################] 9/4"} {
		if strings.TrimRight(lines[i], " ") != want {
			t.Errorf("part %d = %q, want %q", i, lines[i], want)
		}
	}
	if len(lines[1]) != len(lines[2]) {
		t.Error("a shorter line leaves the end of the longer one")
	}
	if strings.TrimSpace(lines[4]) != "" {
		t.Errorf("clear left %q", lines[4])
	}
	// Without a terminal there is no bar.
	if f, err := os.CreateTemp(t.TempDir(), "out"); err != nil {
		t.Fatal(err)
	} else {
		defer f.Close()
		for _, w := range []io.Writer{f, &buf} {
			if newBar(w).Out != nil {
				t.Errorf("a bar is drawn on a %T, which is not a terminal", w)
			}
		}
	}
}
