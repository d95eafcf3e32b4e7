package lint_test

import (
	"go/ast"
	"go/build/constraint"
	"go/importer"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSyncNames checks that package sync of this module exports no name of the standard
// sync. With a shared name goimports could add the wrong import.
func TestSyncNames(t *testing.T) {
	std, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import("sync")
	if err != nil {
		t.Fatal(err)
	}
	if std.Scope().Lookup("Mutex") == nil {
		t.Fatal("the package that was read as the standard sync has no Mutex")
	}
	for _, s := range files(t, "sync") {
		if s.test {
			continue
		}
		for _, id := range topLevel(s.ast) {
			if id.IsExported() && std.Scope().Lookup(id.Name) != nil {
				t.Errorf("%s: %s hides the standard sync.%s", s.line(id), id.Name, id.Name)
			}
		}
	}
}

// topLevel returns the names that a file declares at package level, without methods.
func topLevel(f *ast.File) []*ast.Ident {
	var ids []*ast.Ident
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				ids = append(ids, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch sp := spec.(type) {
				case *ast.TypeSpec:
					ids = append(ids, sp.Name)
				case *ast.ValueSpec:
					ids = append(ids, sp.Names...)
				}
			}
		}
	}
	return ids
}

// badAlias checks that package sync of this module is imported as lfsync, and that it
// imports the standard sync as stdsync.
func badAlias(s *source) []string {
	var bad []string
	for _, spec := range s.ast.Imports {
		name := ""
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch imp := importPath(spec); {
		case imp == module+"/sync" && name != "lfsync":
			bad = append(bad, s.line(spec)+": import it as lfsync")
		case imp == "sync" && s.dir == "sync" && name != "stdsync":
			bad = append(bad, s.line(spec)+": import the standard sync as stdsync inside package sync")
		}
	}
	return bad
}

// TestSyncAlias checks the aliases of the two packages named sync.
func TestSyncAlias(t *testing.T) {
	for _, s := range everything(t) {
		report(t, badAlias(s))
	}
	try(t, badAlias, []broken{
		{"good", "mpsc/a.go", `package mpsc; import lfsync "` + module + `/sync"`, 0},
		{"bare", "mpsc/a.go", `package mpsc; import "` + module + `/sync"`, 1},
		{"dot", "mpsc/a_test.go", `package mpsc; import . "` + module + `/sync"`, 1},
		{"std", "mpsc/a.go", `package mpsc; import "sync"`, 0},
		{"std inside ours", "sync/a.go", `package sync; import "sync"`, 1},
		{"stdsync inside ours", "sync/a.go", `package sync; import stdsync "sync"`, 0},
	})
}

// isModelFile reports whether a file holds model tests.
func isModelFile(s *source) bool {
	return strings.HasSuffix(s.path, "_model_test.go") ||
		path.Base(s.path) == "model_test.go" && tagged(s.ast, "interleave")
}

var modelTest = regexp.MustCompile(`^TestModel[A-Z0-9]`)

// badModel checks that a file of model tests is built with the tag of the explorer only,
// and that its tests have the names that "make models" runs.
func badModel(s *source) []string {
	if !strings.HasSuffix(s.path, "_model_test.go") {
		return nil
	}
	var bad []string
	if !tagged(s.ast, "interleave") {
		bad = append(bad, s.path+": a file of model tests has the constraint //go:build interleave")
	}
	n := 0
	for _, decl := range s.ast.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
			continue
		}
		n++
		if !modelTest.MatchString(f.Name.Name) {
			bad = append(bad, s.line(f)+": "+f.Name.Name+" is a model test; name it TestModel...")
		}
	}
	if n == 0 && path.Base(s.path) != "main_model_test.go" {
		bad = append(bad, s.path+": the file has no model test")
	}
	return bad
}

// tagged reports whether a build without the tag excludes the file.
func tagged(f *ast.File, tag string) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue
			}
			// The constraint is false without the tag, even with all others set.
			if !expr.Eval(func(name string) bool { return name != tag }) {
				return true
			}
		}
	}
	return false
}

// TestFilesOfModels checks the form of the files that hold model tests.
func TestFilesOfModels(t *testing.T) {
	for _, s := range files(t) {
		report(t, badModel(s))
	}
	const build = "//go:build interleave\n\n"
	try(t, badModel, []broken{
		{"good", "mpsc/queue_model_test.go", build + "package mpsc\nfunc TestModelQueue() {}", 0},
		{"no tag", "mpsc/queue_model_test.go", "package mpsc\nfunc TestModelQueue() {}", 1},
		{"other tag", "mpsc/queue_model_test.go", "//go:build !interleave\n\npackage mpsc\nfunc TestModelQueue() {}", 1},
		{"other name", "mpsc/queue_model_test.go", build + "package mpsc\nfunc TestQueue() {}", 1},
		{"empty", "mpsc/queue_model_test.go", build + "package mpsc", 1},
		{"no model file", "mpsc/queue_test.go", "package mpsc\nfunc TestQueue() {}", 0},
	})
}

// testFuncs returns each test, benchmark, example and fuzz target of the repository with
// the files that declare it.
func testFuncs(t *testing.T) map[string][]*source {
	t.Helper()
	funcs := map[string][]*source{}
	kinds := []string{"Test", "Benchmark", "Example", "Fuzz"}
	for _, s := range everything(t) {
		if !s.test {
			continue
		}
		for _, decl := range s.ast.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && f.Recv == nil && slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(f.Name.Name, k) }) {
				funcs[f.Name.Name] = append(funcs[f.Name.Name], s)
			}
		}
	}
	return funcs
}
