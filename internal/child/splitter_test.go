//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/child"
)

// TestSplitterPassesLines checks which lines and parts a stream has. A | divides parts of one line.
func TestSplitterPassesLines(t *testing.T) {
	for _, tc := range []struct {
		name, stream string
		want         []string
	}{
		{"none", "", nil},
		{"line", "ab\n", []string{"ab\n"}},
		{"empty lines", "\n\n", []string{"\n", "\n"}},
		{"no end", "ab\ncd", []string{"ab\n", "cd"}},
		{"as long as a part", "abcd\nef\n", []string{"abcd\n", "ef\n"}},
		{"longer", "abcde\n", []string{"abcd", "e\n"}},
		{"two parts", "abcdefgh\n", []string{"abcd", "efgh\n"}},
		{"parts without an end", "abcdefgh", []string{"abcd", "efgh"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for size := 1; size <= len(tc.stream)+1; size++ {
				var got []string
				s := child.NewSplitter(4, func(text []byte, ends bool) { got = append(got, withEnd(text, ends)) })
				for chunk := range slices.Chunk([]byte(tc.stream), size) {
					s.Write(chunk)
				}
				s.Flush()
				s.Flush()
				if !slices.Equal(got, tc.want) {
					t.Errorf("in chunks of %d: got %q, want %q", size, got, tc.want)
				}
			}
		})
	}
}

// withEnd returns the text of a stream that a line stands for.
func withEnd(text []byte, ends bool) string {
	if ends {
		return string(text) + "\n"
	}
	return string(text)
}

// TestSplitterLosesNoByte checks that the lines and parts of any stream are that stream, and not longer than the bound.
func TestSplitterLosesNoByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, want []byte
		most := rapid.IntRange(1, 8).Draw(t, "most")
		s := child.NewSplitter(most, func(text []byte, ends bool) {
			if len(text) > most || bytes.ContainsRune(text, '\n') || len(text) == 0 && !ends {
				t.Fatalf("a line is %q", text)
			}
			got = append(got, withEnd(text, ends)...)
		})
		for _, chunk := range rapid.SliceOf(rapid.StringMatching(`[a\n]{0,12}`)).Draw(t, "chunks") {
			s.Write([]byte(chunk))
			want = append(want, chunk...)
		}
		s.Flush()
		if !bytes.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// TestSplitterIsBounded checks that a line of any length takes no more memory than a part.
func TestSplitterIsBounded(t *testing.T) {
	n := 0
	s := child.NewSplitter(1<<10, func(text []byte, _ bool) { n += len(text) })
	chunk := []byte(strings.Repeat("x", 3_000))
	for range 1_000 {
		s.Write(chunk)
	}
	s.Flush()
	if n != 3_000_000 || s.Bytes() > 2<<10 {
		t.Errorf("%d bytes have arrived, and %d are in memory", n, s.Bytes())
	}
}
