package lint_test

import (
	"go/ast"
	"go/doc"
	"slices"
	"strings"
	"testing"
)

// exampled are the packages in which each exported type has an example.
var exampled = []string{"interleave", "sync", "mpsc", "runqueue", "sched", "stress", "stress/queuelaw", "stress/schedlaw", "stress/lanelaw", "transport", "pool"}

// exampleless lists exported types without an example, as "package Type", and why. An
// entry that excuses nothing is an error.
var exampleless = map[string]string{}

// examples returns the names of the examples with an output, which go test runs.
func examples(sources []*source) map[string]bool {
	has := map[string]bool{}
	for _, s := range sources {
		if !s.test {
			continue
		}
		for _, e := range doc.Examples(s.ast) {
			if e.Output != "" || e.EmptyOutput {
				has[e.Name] = true
			}
		}
	}
	return has
}

// exampleOf reports whether one of the examples has the name of the type, alone or with a
// suffix in lower case.
func exampleOf(name string, has map[string]bool) bool {
	for e := range has {
		rest, ok := strings.CutPrefix(e, name)
		if ok && (rest == "" || len(rest) > 1 && rest[0] == '_' && !ast.IsExported(rest[1:])) {
			return true
		}
	}
	return false
}

// withoutExample returns the exported types that have no example. It leaves out files
// that only a build with the tag of the explorer includes.
func withoutExample(sources []*source) (types []string) {
	sources = slices.DeleteFunc(slices.Clone(sources), func(s *source) bool { return tagged(s.ast, "interleave") })
	has := examples(sources)
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, decl := range s.ast.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range d.Specs {
				if sp, ok := spec.(*ast.TypeSpec); ok && sp.Name.IsExported() && !exampleOf(sp.Name.Name, has) {
					types = append(types, sp.Name.Name)
				}
			}
		}
	}
	return types
}

// TestExamples checks that each exported type has an example that go test runs.
func TestExamples(t *testing.T) {
	used := map[string]bool{}
	for _, dir := range exampled {
		for _, name := range withoutExample(files(t, dir)) {
			key := dir + " " + name
			if used[key] = true; exampleless[key] == "" {
				t.Errorf("%s.%s has no Example%s with an // Output:", dir, name, name)
			}
		}
	}
	for key := range exampleless {
		if !used[key] {
			t.Errorf("exampleless lists %s, which has an example or does not exist", key)
		}
	}
	const code = "package p\n\ntype T struct{}\n"
	for _, tc := range []struct {
		name, test string
		want       int
	}{
		{"none", "func ExampleOther() {\n\t// Output: 1\n}\n", 1},
		{"good", "func ExampleT() {\n\t// Output: 1\n}\n", 0},
		{"empty output", "func ExampleT() {\n\t// Output:\n}\n", 0},
		{"not run", "func ExampleT() {}\n", 1},
		{"suffix", "func ExampleT_often() {\n\t// Output: 1\n}\n", 0},
		{"of a method", "func ExampleT_Do() {\n\t// Output: 1\n}\n", 1},
		{"of a longer name", "func ExampleTask() {\n\t// Output: 1\n}\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sources := []*source{parse(t, "p/a.go", code), parse(t, "p/a_test.go", "package p_test\n\n"+tc.test)}
			if got := withoutExample(sources); len(got) != tc.want {
				t.Errorf("got %q, want %d types", got, tc.want)
			}
		})
	}
}
