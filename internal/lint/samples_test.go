package lint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sampled are the documents whose Go samples compile as they stand.
var sampled = []string{"README.md", "CONTRIBUTING.md", "docs/CHOOSING.md"}

// A sample is a block of Go code in a document. A block without a package clause is a
// fragment: it has the mark <!-- sample: fragment --> in the last line above that is
// not empty.
type sample struct {
	where  string
	text   string
	marked bool // as a fragment
}

const fragmentMark = "<!-- sample: fragment -->"

// samples returns the blocks of a document that begin with ```go.
func samples(name, text string) (list []sample) {
	var block *sample
	above, n := "", 0
	for line := range strings.Lines(text) {
		n++
		switch trimmed := strings.TrimSpace(line); {
		case block == nil && trimmed == "```go":
			block = &sample{where: name + ":" + strconv.Itoa(n), marked: above == fragmentMark}
		case block != nil && trimmed == "```":
			list = append(list, *block)
			block, above = nil, ""
		case block != nil:
			block.text += line
		case trimmed != "":
			above = trimmed
		}
	}
	return list
}

// parse returns the syntax of a sample that is a whole file, and nil for a fragment.
func (s sample) parse() (*ast.File, error) {
	file, err := parser.ParseFile(token.NewFileSet(), s.where, s.text, parser.ParseComments)
	if err == nil {
		return file, nil
	}
	if regexp.MustCompile(`(?m)^package `).MatchString(s.text) {
		return nil, err
	}
	if !s.marked {
		return nil, fmt.Errorf("%s: the sample is no whole file: begin it with a package clause, or write %s above it", s.where, fragmentMark)
	}
	for _, form := range []string{"package p\n%s", "package p\nfunc _() {\n%s\n}"} {
		if _, err = parser.ParseFile(token.NewFileSet(), s.where, fmt.Sprintf(form, s.text), 0); err == nil {
			return nil, nil
		}
	}
	return nil, fmt.Errorf("%s: the fragment is neither declarations nor statements: %w", s.where, err)
}

// readSamples returns the samples of all documents.
func readSamples(t *testing.T) (list []sample) {
	t.Helper()
	for _, name := range sampled {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, samples(name, string(text))...)
	}
	return list
}

// TestSamples checks the form of the Go samples of the documents.
func TestSamples(t *testing.T) {
	whole := 0
	for _, s := range readSamples(t) {
		file, err := s.parse()
		if err != nil {
			t.Error(err)
		}
		if file != nil {
			whole++
		}
	}
	if whole == 0 {
		t.Error("found no sample that is a whole file")
	}
	for _, tc := range []struct {
		name, text string
		samples    int
		bad        int
	}{
		{"file", "```go\npackage main\n\nfunc main() {}\n```\n", 1, 0},
		{"file with a constraint", "```go\n//go:build interleave\n\npackage p\n```\n", 1, 0},
		{"file that does not parse", "```go\npackage main\n\nfunc main() {\n```\n", 1, 1},
		{"fragment without a mark", "```go\nx := 1\n```\n", 1, 1},
		{"statements", fragmentMark + "\n```go\nx := 1\n```\n", 1, 0},
		{"declarations", fragmentMark + "\n\n```go\nvar x = 1\n\nfunc f() {}\n```\n", 1, 0},
		{"both", fragmentMark + "\n```go\nfunc f() {}\n\nx := 1\n```\n", 1, 1},
		{"mark of another block", fragmentMark + "\ntext\n```go\nx := 1\n```\n", 1, 1},
		{"two", fragmentMark + "\n```go\nx := 1\n```\n```go\ny := 1\n```\n", 2, 1},
		{"other languages", "```sh\nmake\n```\n\n    x := 1\n", 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, bad := samples("a.md", tc.text), 0
			for _, s := range list {
				if _, err := s.parse(); err != nil {
					bad++
				}
			}
			if len(list) != tc.samples || bad != tc.bad {
				t.Errorf("got %d samples and %d findings, want %d and %d", len(list), bad, tc.samples, tc.bad)
			}
		})
	}
}

// TestSamplesRun builds each sample that is a whole file as a package of this module.
// It runs the programs and compares their output with the comments at their Println.
func TestSamplesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	overlay := filepath.Join(tmp, "overlay.json")
	replace, commands, programs := map[string]string{}, [][]string{}, map[string]sample{}
	for i, s := range readSamples(t) {
		file, err := s.parse()
		if err != nil || file == nil {
			continue // TestSamples reports it
		}
		pkg := fmt.Sprintf("sample%d", i)
		program, copied := filepath.Join(tmp, pkg+".exe"), filepath.Join(tmp, pkg+".go")
		if err := os.WriteFile(copied, []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		base, command := "sample.go", []string{"go", "build"}
		if importsTesting(file) {
			base, command = "sample_test.go", []string{"go", "test", "-c", "-vet=off"}
		}
		if tagged(file, "interleave") {
			command = append(command, "-tags=interleave")
		}
		replace[filepath.Join(dir, "internal", "lint", pkg, base)] = copied
		commands = append(commands, append(command, "-overlay="+overlay, "-o="+program, "./internal/lint/"+pkg))
		if file.Name.Name == "main" {
			programs[program] = s
		}
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		run(t, dir, args...)
	}
	for program, s := range programs {
		got, want := run(t, dir, program), printed(s.text)
		switch {
		case want != "" && got != want:
			t.Errorf("%s: the program prints %q, and its comments say %q", s.where, got, want)
		case want == "" && strings.HasPrefix(s.where, "README.md"):
			t.Errorf("%s: no comment at a Println states the output of the program", s.where)
		}
	}
}

func importsTesting(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return importPath(spec) == "testing" })
}

var printing = regexp.MustCompile(`(?m)Println\(.*\) // (.*)$`)

// printed returns the output of a program by the comments at its Println.
func printed(text string) (out string) {
	for _, m := range printing.FindAllStringSubmatch(text, -1) {
		out += m[1] + "\n"
	}
	return out
}

// run runs a command in a directory and returns its output.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}
