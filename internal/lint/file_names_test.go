package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shortForms are the parts of file names that Go programs use and that no text has as a word.
var shortForms = map[string]bool{"asm": true, "gc": true, "rand": true, "retention": true}

// fileName matches the name of a file in a text. Such a name is no proof that its parts are words.
var fileName = regexp.MustCompile(`[\w/.-]+\.(?:go|md|s|mutants)\b`)

var (
	comment  = regexp.MustCompile(`(?m)//.*$`)
	word     = regexp.MustCompile(`\b(?:[A-Z]?[a-z]+|[A-Z]+)\b`) // and not an identifier of several words, such as ringBuffer
	namePart = regexp.MustCompile(`[a-zA-Z]+`)
)

// wordsOf adds the words of the prose in a file to words: of a document, or of the comments of a Go file.
func wordsOf(name, text string, words map[string]bool) {
	switch path.Ext(name) {
	case ".md":
	case ".go":
		text = strings.Join(comment.FindAllString(text, -1), "\n")
	default:
		return
	}
	text = fileName.ReplaceAllString(text, " ")
	for _, w := range word.FindAllString(text, -1) {
		words[strings.ToLower(w)] = true
	}
}

// badFileNames returns the parts of names of Go files that are no words. Two words without an underscore between
// them are such a part, because no text writes them so. used receives the short forms that occur.
func badFileNames(names []string, words, used map[string]bool) (bad []string) {
	for _, name := range names {
		base, isGo := strings.CutSuffix(path.Base(name), ".go")
		if !isGo {
			continue
		}
		for _, part := range namePart.FindAllString(strings.ReplaceAll(base, "_", " "), -1) {
			switch part = strings.ToLower(part); {
			case words[part]:
			case shortForms[part]:
				used[part] = true
			default:
				bad = append(bad, fmt.Sprintf("%s: %q is no word of any text here: put an underscore between two words", name, part))
			}
		}
	}
	return bad
}

// TestFileNames checks that each part of the name of a Go file is a word.
func TestFileNames(t *testing.T) {
	words, used := map[string]bool{}, map[string]bool{}
	names := tracked(t)
	for _, name := range names {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			wordsOf(filepath.ToSlash(name), string(text), words)
		}
	}
	report(t, badFileNames(names, words, used))
	for _, form := range slices.Sorted(maps.Keys(shortForms)) {
		if !used[form] {
			t.Errorf("%q is a short form of file_names_test.go that no file needs: remove the entry", form)
		}
	}

	words = map[string]bool{}
	wordsOf("p/doc.go", "// A call has a clock: see callclock.go, the forkMonitor and waitlist_test.go. EOF.\nvar waitList int\n", words)
	wordsOf("p/README.md", "The wait list of the model. Its code is in p/ringbuffer.go.", words)
	for _, tc := range []struct {
		name string
		want int
	}{
		{"p/call_clock.go", 0},
		{"p/call_clock_test.go", 1}, // "test" is in no text
		{"p/callclock.go", 1},
		{"p/wait_list.go", 0},
		{"p/waitlist.go", 1},
		{"p/ringbuffer.go", 1},
		{"p/forkmonitor.go", 1},
		{"p/eof.go", 0},
		{"p/list2.go", 0},
		{"p/callclock.md", 0},
	} {
		if got := badFileNames([]string{tc.name}, words, map[string]bool{}); len(got) != tc.want {
			t.Errorf("%s: got the findings %q, want %d", tc.name, got, tc.want)
		}
	}
}
