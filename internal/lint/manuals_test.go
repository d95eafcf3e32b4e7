package lint_test

import (
	"fmt"
	"go/ast"
	"maps"
	"strings"
	"testing"
)

// maxManual is the number of lines that the doc comment of an exported type may have:
// what the type does and how it is used. Roles, invariants and edges stand in a comment
// of their own in the same file.
const maxManual = 25

// longManuals lists the types with a longer doc comment, as "directory.Type", and the
// number of its lines. The numbers may only fall.
var longManuals = map[string]int{}

// manuals returns the number of lines of the doc comment of each exported type.
func manuals(s *source) map[string]int {
	lines := map[string]int{}
	if s.test {
		return lines
	}
	for _, decl := range s.ast.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			if sp, ok := spec.(*ast.TypeSpec); ok && sp.Name.IsExported() {
				text := sp.Doc.Text()
				if !d.Lparen.IsValid() {
					text = d.Doc.Text()
				}
				lines[s.dir+"."+sp.Name.Name] = strings.Count(text, "\n")
			}
		}
	}
	return lines
}

// badManual checks the number of lines of one type. listed holds the limits of the types
// that may be longer than the others.
func badManual(name string, lines int, listed map[string]int) (bad []string) {
	limit, ok := listed[name]
	switch {
	case !ok && lines > maxManual:
		bad = append(bad, fmt.Sprintf("%s: the doc comment has %d lines, at most %d: move the proof to a comment of its own", name, lines, maxManual))
	case ok && lines > limit:
		bad = append(bad, fmt.Sprintf("%s: the doc comment has %d lines, its limit in longManuals is %d", name, lines, limit))
	case ok && lines <= maxManual:
		bad = append(bad, fmt.Sprintf("%s: the doc comment has %d lines: remove the entry of longManuals", name, lines))
	case ok && lines < limit:
		bad = append(bad, fmt.Sprintf("%s: the doc comment has %d lines: lower the limit of %d in longManuals", name, lines, limit))
	}
	return bad
}

// TestManuals checks that the doc comments of the exported types of public packages are
// short.
func TestManuals(t *testing.T) {
	found := map[string]bool{}
	for _, s := range files(t) {
		if !public(s.dir) {
			continue
		}
		for name, lines := range manuals(s) {
			found[name] = true
			report(t, badManual(name, lines, longManuals))
		}
	}
	for name := range longManuals {
		if !found[name] {
			t.Errorf("longManuals lists %s, which does not exist", name)
		}
	}
}

// TestManualsRule tries the rule on comments of several lengths.
func TestManualsRule(t *testing.T) {
	doc := strings.Repeat("// A line.\n", 30)
	got := manuals(parse(t, "sched/a.go", "package sched\n\n"+doc+"type A struct{}\n\n// Proof.\n\n"+
		doc+"type (\n\t// B is one.\n\tB struct{}\n)\n\n"+doc+"type c struct{}\n"))
	if want := map[string]int{"sched.A": 30, "sched.B": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, tc := range []struct {
		lines, listed int
		want          int
	}{{25, 0, 0}, {26, 0, 1}, {30, 30, 0}, {31, 30, 1}, {29, 30, 1}, {25, 30, 1}} {
		listed := map[string]int{}
		if tc.listed > 0 {
			listed["sched.A"] = tc.listed
		}
		if got := badManual("sched.A", tc.lines, listed); len(got) != tc.want {
			t.Errorf("%d lines, listed with %d: got %q, want %d findings", tc.lines, tc.listed, got, tc.want)
		}
	}
}
