package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// prose:off

// TestRun checks the exit code and the output of the command.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.go":          "// Package a is run by whoever calls it.\npackage a\n",
		"a_test.go":     "package a // nobody reads a seat\n",
		"b/b.md":        "A plain text of six words.\n",
		".git/c.md":     "Whoever.\n",
		"testdata/d.md": "Whoever.\n",
		"terms.tsv":     "plain\tclear\nseats?\t-\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, tc := range []struct {
		args string
		code int
		want []string // in the output, "!" before a text that is not
	}{
		{".", 0, []string{"a.go:1: who: whoever: Package a", "TOTAL", "!nobody", "!Whoever"}},
		{"-q .", 0, []string{"TOTAL", "!a.go:1"}},
		{"-tests .", 0, []string{"a_test.go:1: indefinite: nobody", "private: seat -> runner"}},
		{"a_test.go", 0, []string{"nobody"}},
		{"-only who,each -tests .", 0, []string{"whoever", "!nobody"}},
		{"-terms terms.tsv -tests .", 0, []string{"private: plain -> clear", "!seat ->"}},
		{"-by file .", 0, []string{" a.go\n", " b/b.md\n"}},
		{"-shape .", 0, []string{"sentences", " b\n", "!whoever"}},
		{"-max 1 b", 0, nil},
		{"-max 1 .", 1, []string{"above the limit of 1 per 1000 words"}},
		{"-max 1 -each .", 0, nil}, // one finding in a file always passes
		{"-max 1 -each -tests .", 1, []string{"a_test.go: 2 findings"}},
		{"-by line .", 2, []string{"line"}},
		{"-only when .", 2, []string{"when"}},
		{"-terms none .", 2, []string{"none"}},
		{"none.go", 2, []string{"none.go"}},
		{"", 2, []string{"no file"}},
		{"-unknown", 2, []string{"-unknown"}},
		{"-h", 0, []string{"-max"}},
	} {
		out, errs, code := run(strings.Fields(tc.args))
		if out += errs; code != tc.code {
			t.Errorf("prose %s: got exit code %d, want %d\n%s", tc.args, code, tc.code, out)
		}
		for _, w := range tc.want {
			text, not := strings.CutPrefix(w, "!")
			if strings.Contains(out, text) == not {
				t.Errorf("prose %s: want %q in the output:\n%s", tc.args, w, out)
			}
		}
	}
}

// prose:on
