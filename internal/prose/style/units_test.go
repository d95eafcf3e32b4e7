package style_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/prose/style"
)

// TestReaders checks which text of a file is prose, and how it is divided into
// sentences.
func TestReaders(t *testing.T) {
	for _, tc := range []struct {
		name, file, text string
		want             []string
	}{
		{"go comment", "a.go", "package p\n\n// One sentence\n// on two lines. Another one.\nvar x = 1\n", []string{"One sentence on two lines.", "Another one."}},
		{"go directives", "a.go", "//go:build x\n\npackage p //nolint:all // why\n\n//gcassert:inline\nfunc f() {}\n", nil},
		{"go block comment", "a.go", "package p\n\n/* One\n * sentence. */\n", []string{"One sentence."}},
		{"go strings are code", "a.go", "package p\n\nvar s = \"// no comment\" + `/* none */`\n", nil},
		{"go runes are code", "a.go", "package p\n\nvar r = []rune{'\"', '/', '/'} // a comment\n", []string{"a comment"}},
		{"trailing comments stand alone", "a.go", "package p\n\nvar (\n\ta = 1 // one\n\tb = 2 // two\n)\n", []string{"one", "two"}},
		{"go paragraphs", "a.go", "// One\n//\n// two\n\n// three\npackage p\n", []string{"One", "two", "three"}},
		{"rows", "a.go", "// Roles:\n//\n//\towner  one\n//\tthief  two\n//\tI1  three\n//\tE1  four\npackage p\n", []string{"Roles:", "owner one", "thief two", "I1 three", "E1 four"}},
		{"go list", "a.go", "// List:\n//   - one\n//   - two\n//  1. three\npackage p\n", []string{"List:", "- one", "- two", "1. three"}},
		{"go heading", "a.go", "// # One\n//\n// two\npackage p\n", []string{"# One", "two"}},
		{"unfinished go", "a.go", "package p\n\nfunc ( // one\n", []string{"one"}},
		{"abbreviations", "a.md", "A word, e.g. One, i.e. Two, of Fig. A. Next?  Yes! (It is.) \"So.\" End", []string{"A word, e.g. One, i.e. Two, of Fig. A.", "Next?", "Yes!", "(It is.)", "\"So.\"", "End"}},
		{"names", "a.md", "See ring.go and v1.2 of go.mod.", []string{"See ring.go and v1.2 of go.mod."}},
		{"code span", "a.md", "Run `go test` and `a\nb` now.", []string{"Run X and X now."}},
		{"link", "a.md", "See [the `x` page](a.md) at https://example.org/a.b. Now", []string{"See the X page at URL Now"}},
		{"fence", "a.md", "one\n```go\n// two\n```\nthree\n~~~\nfour\n~~~\n", []string{"one", "three"}},
		{"indented code", "a.md", "one\n\n    go test ./...  # two\n\n    three words here\n", []string{"one", "three words here"}},
		{"table", "a.md", "| one | two |\n| --- | :-: |\n| three | `x` four |\n", []string{"one", "two", "three", "X four"}},
		{"markdown list", "a.md", "- one\n  goes on\n* two\n1. three\n", []string{"one goes on", "two", "three"}},
		{"markdown heading", "a.md", "## One\ntwo\n", []string{"# One", "two"}},
		{"html comment", "a.md", "one\n<!-- two -->\nthree\n", []string{"one", "three"}},
		{"switched off", "a.md", "one\n<!-- prose:off -->\ntwo\n<!-- prose:on -->\nthree\n", []string{"one", "three"}},
		{"mark inside a sentence", "a.md", "one prose:off\ntwo\n", []string{"one prose:off two"}},
		{"switched off in go", "a.go", "// One\n// prose:off\n// two\n// prose:on\n// three\npackage p\n", []string{"One", "three"}},
		{"assembly", "a_amd64.s", "#include \"textflag.h\"\n\n// One\n// two.\nTEXT ·f(SB), $0-0 // three\n\tRET\n", []string{"One two.", "three"}},
		{"c", "a.cpp", "/* one\n   two */ int a = '\"'; // three\nconst char *s = \"// x \\\" /* y */\"; // four\n", []string{"one two", "three", "four"}},
		{"rust", "a.rs", "/// One <'a>.\nfn f<'a>(x: &'a str) {} // two\n//! three\n", []string{"One <'a>.", "two", "three"}},
		{"mutants", "a.mutants", "# One\n# two.\nmutant three\nwhy    four\ntest   five\n-\t// six\n", []string{"One two.", "four"}},
		{"other files", "a.py", "# one", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, s := range style.Check(tc.file, []byte(tc.text), style.Options{}).Sentences {
				if s.Heading {
					s.Text = "# " + s.Text
				}
				got = append(got, s.Text)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestStrings checks that string literals are prose on request only, and only those
// with a space.
func TestStrings(t *testing.T) {
	const text = "package p\n\nvar s = []string{\"one\\ntwo three\", \"four\", `five six`} // seven\n"
	for _, literals := range []bool{false, true} {
		var got []string
		r := style.Check("a.go", []byte(text), style.Options{Strings: literals})
		for _, s := range r.Sentences {
			got = append(got, s.Text)
		}
		want, words := []string{"seven"}, 0
		if literals {
			want, words = []string{"one two three", "seven"}, 3
		}
		if !slices.Equal(got, want) || r.Literals != words || r.Words != 1+words {
			t.Errorf("literals %v: got %q and %d of %d words, want %q and %d of %d", literals, got, r.Literals, r.Words, want, words, 1+words)
		}
	}
}

// prose:off

// TestOpen checks that a report names the line of a mark without its counterpart.
func TestOpen(t *testing.T) {
	for text, want := range map[string]int{
		"one\n":                          0,
		"one\n<!-- prose:off -->\ntwo\n": 2,
		"<!-- prose:off -->\n<!-- prose:on -->\n":   0,
		"<!-- prose:off -->\n<!-- prose:off -->\na": 2,
	} {
		if got := style.Check("a.md", []byte(text), style.Options{}).Open; got != want {
			t.Errorf("%q: got line %d, want %d", text, got, want)
		}
	}
}

// TestLines checks that a finding names the line of its words, behind code spans and
// links that change the length of the text as well.
func TestLines(t *testing.T) {
	const text = "# Title\n\nThe `span that is\nlong` of [a link](with/a/long/target.md)\nis free, and nobody has it.\nThe stint\nends. `x`\n| a | whoever |\n"
	var got []int
	for _, f := range style.Check("a.md", []byte(text), style.Options{}).Findings {
		got = append(got, f.Line)
	}
	if want := []int{5, 6, 8}; !slices.Equal(got, want) {
		t.Errorf("got findings in lines %d, want %d", got, want)
	}
}

// TestHeadings checks that a heading may begin with a question word, and that it has
// no private word.
func TestHeadings(t *testing.T) {
	for text, want := range map[string]int{
		"# Who runs a task":          0,
		"# What is queued and where": 0,
		"# The life of a beggar":     1,
	} {
		if got := len(style.Check("a.md", []byte(text), style.Options{}).Findings); got != want {
			t.Errorf("%q: got %d findings, want %d", text, got, want)
		}
	}
}

// prose:on

// TestShape checks the sums of a text: headings and sentences of fewer than six words
// are left out.
func TestShape(t *testing.T) {
	const text = "# A heading of six words here\n\nOne, two, three, four, five: six.\nIt is this one that runs here.\nToo short, it is.\n"
	got := style.Check("a.md", []byte(text), style.Options{}).Shape
	want := style.Shape{Sentences: 2, Words: 13, Breaks: 5, Crowded: 1, Pronouns: 5}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := got.BreaksPerSentence(); got != 2.5 {
		t.Errorf("got %v breaks a sentence, want 2.5", got)
	}
}

// TestBrokenText checks that no reader fails on text that is cut off or malformed, and
// that each finding is on a line of the text.
func TestBrokenText(t *testing.T) {
	for _, name := range []string{"a.go", "a.s", "a.rs", "a.md", "a.mutants"} {
		for _, text := range []string{"", "/*", "//", "\"", "'", "`", "\"\\", "'a /* \" */ '\\'' // x", "why", "| | |\n", "\x00\x01 é \xff\n[x](", "# \n#", "/* nobody\n"} {
			r := style.Check(name, []byte(text), style.Options{Strings: true})
			lines := strings.Count(text, "\n") + 1
			for _, f := range r.Findings {
				if f.Line < 1 || f.Line > lines {
					t.Errorf("%s: %q: a finding is in line %d of %d", name, text, f.Line, lines)
				}
			}
		}
	}
}
