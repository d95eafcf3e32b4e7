package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMutantsCompile: the packages that a mutant changes type-check with the build tags of its test. A
// mutant whose added lines use what no longer exists applies to the tree, and tests nothing. All mutants
// take 8 s of processor time, and 31 s under the race detector (linux/amd64). CI repeats the test with
// other tags and -short, and then it checks every tenth mutant.
func TestMutantsCompile(t *testing.T) {
	ms, err := all()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		if ms, err = parted(ms, "1/10"); err != nil {
			t.Fatal(err)
		}
	}
	errs := compileErrors(t, root, ms)
	for _, m := range ms {
		if err := errs[m.name]; err != nil {
			t.Errorf("mutant %s does not compile: %v", m.name, err)
		}
	}
}

// TestCompileErrors: a mutant has an error if it does not compile with the tests that it needs, and no
// error otherwise.
func TestCompileErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	writeFiles(t, dir, files{
		"go.mod": "module m\n\ngo 1.26\n",
		"p/a.go": "package p\n\nimport (\n\t\"m/q\"\n\t\"strings\"\n)\n\n" +
			"func A(n int) int {\n\tn += q.Len(strings.ToUpper(\"a\"))\n\treturn n\n}\n\nconst one = 1\n\nfunc spare() {}\n",
		"p/b.go":       "package p\n\nimport \"os\"\n\nfunc B[T any](x T) T {\n\tos.Getpid()\n\tA(one)\n\treturn x\n}\n",
		"p/c.go":       "//go:build tag\n\npackage p\n\nfunc C() int {\n\treturn 1\n}\n",
		"p/a_test.go":  "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { A(1) }\n\nfunc TestSpare(t *testing.T) { spare() }\n",
		"p/ax_test.go": "package p_test\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n",
		"q/q.go":       "package q\n\nfunc Len(s string) int { return len(s) }\n",
	})
	for _, tc := range []struct{ name, test, file, hunk, want string }{
		{"body", "TestA", "p/a.go", "-\treturn n\n+\treturn B(n)", ""},
		{"other signature", "TestA", "p/a.go", "-\treturn n\n+\treturn B(n, n)", "too many arguments"},
		{"signature of an import", "TestA", "p/a.go", "-\treturn n\n+\treturn q.Len()", "not enough arguments"},
		{"unused variable", "TestA", "p/a.go", "-\treturn n\n+\tm := n\n+\treturn n", "declared and not used"},
		{"unused import", "TestA", "p/a.go", "-\tn += q.Len(strings.ToUpper(\"a\"))", "imported and not used"},
		{"generic", "TestA", "p/b.go", "-\treturn x\n+\treturn 1", "cannot use 1"},
		{"declaration", "TestA", "p/a.go", "-const one = 1\n+const one = 2", ""},
		{"use of a declaration", "TestA", "p/a.go", "-const one = 1\n+const one = \"\"", "p/b.go:7"},
		{"use by a needed test", "TestSpare", "p/a.go", "-func spare() {}", "p/a_test.go:7"},
		{"use by another test", "TestA", "p/a.go", "-func spare() {}", ""},
		{"file with a tag", "TestA -tags tag", "p/c.go", "-\treturn 1\n+\treturn A(1)", ""},
		{"file without its tag", "TestA", "p/c.go", "-\treturn 1\n+\treturn A(1)", "is not built"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ms, err := parse("mutant m\nwhy    x\ntest   ./p -run " + tc.test + "\nfile   " + tc.file + "\n" + tc.hunk + "\n")
			if err != nil {
				t.Fatal(err)
			}
			err = compileErrors(t, dir, ms)["m"]
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

// compileErrors returns the errors of the mutants that do not compile, by their name.
func compileErrors(t *testing.T, root string, ms []mutant) map[string]error {
	t.Helper()
	dirs := map[string]map[string]bool{} // the folders that mutants change, by the tags
	for _, m := range ms {
		if dirs[m.test.tags] == nil {
			dirs[m.test.tags] = map[string]bool{}
		}
		for _, e := range m.edits {
			dirs[m.test.tags][path.Dir(e.file)] = true
		}
	}
	checkers := map[string]*checker{}
	for tags, dirs := range dirs {
		c, err := newChecker(t.Context(), root, tags, slices.Sorted(maps.Keys(dirs)))
		if err != nil {
			t.Fatal(err)
		}
		checkers[tags] = c
	}
	errs := map[string]error{}
	for _, m := range ms {
		if err := checkers[m.test.tags].check(&m); err != nil {
			errs[m.name] = err
		}
	}
	return errs
}

// checker type-checks mutants of the tree at root that are built with the same tags. The packages that a
// changed package imports come from the export data of the go command.
//
// Most mutants change bodies of functions only. The bodies in other files then compile as before, and
// the checker leaves them out. If a mutant changes a declaration, the checker reads all files of the
// package. If the test of the mutant is in this package, the checker also reads the test files that
// the runner compiles with it.
//
// An exported declaration that changes may break the packages that import it, and the test files of
// package x_test. The checker does not read these. It does not find errors that only the compiler
// reports, such as a function without a body. The runner builds without vet, so a check of vet is no
// error.
type checker struct {
	root     string
	fset     *token.FileSet
	importer types.Importer
	packages map[string]*goPackage // by the folder from root
}

// goPackage is a package as "go list -json" prints it.
type goPackage struct {
	Dir, ImportPath, Export string
	GoFiles, TestImports    []string
	Module                  *struct{ GoVersion string }

	sources []*goSource // parsed when the first mutant changes the package
}

// goSource is a file of a package without a mutant.
type goSource struct {
	name    string // from the root of the module
	whole   *ast.File
	outline *ast.File // without the bodies of functions
	text    string    // of the outline
}

// newChecker returns a checker of the mutants that change packages in dirs.
func newChecker(ctx context.Context, root, tags string, dirs []string) (*checker, error) {
	args := []string{"-tags", tags}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	changed, err := goList(ctx, root, args...)
	if err != nil {
		return nil, err
	}
	args = append([]string{"-export", "-deps"}, args...)
	for _, p := range changed {
		args = append(args, p.TestImports...)
	}
	needed, err := goList(ctx, root, args...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range needed {
		exports[p.ImportPath] = p.Export
	}
	c := &checker{root: root, fset: token.NewFileSet(), packages: map[string]*goPackage{}}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	for i, dir := range dirs { // go list prints the packages in the order of its arguments
		c.packages[dir] = changed[i]
	}
	return c, nil
}

// goList returns the packages that "go list" prints.
func goList(ctx context.Context, root string, args ...string) (ps []*goPackage, err error) {
	const fields = "Dir,ImportPath,Export,GoFiles,TestImports,Module" // of goPackage
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=" + fields}, args...)...)
	cmd.Dir = root
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &failure)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		p := new(goPackage)
		if err := d.Decode(p); err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// check returns the first error in the packages that m changes.
func (c *checker) check(m *mutant) error {
	files, err := m.apply(c.root)
	if err != nil {
		return err
	}
	dirs := map[string]bool{}
	for name := range files {
		dirs[path.Dir(name)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if err := c.checkPackage(dir, m.test, files); err != nil {
			return err
		}
	}
	return nil
}

// checkPackage returns the first error of the package in dir with the changed files.
func (c *checker) checkPackage(dir string, t test, files map[string]string) error {
	p := c.packages[dir]
	if err := c.parse(dir, p); err != nil {
		return err
	}
	changed := map[string]*ast.File{}
	bodiesOnly := true
	for _, s := range p.sources {
		if text, ok := files[s.name]; ok {
			f, err := parser.ParseFile(c.fset, s.name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			changed[s.name] = f
			bodiesOnly = bodiesOnly && c.outlineText(f, text) == s.text
		}
	}
	for name := range files {
		if path.Dir(name) == dir && changed[name] == nil {
			return fmt.Errorf("%s is not built with the tags %q", name, t.tags)
		}
	}
	var asts []*ast.File
	for _, s := range p.sources {
		switch {
		case changed[s.name] != nil:
			asts = append(asts, changed[s.name])
		case bodiesOnly:
			asts = append(asts, s.outline)
		default:
			asts = append(asts, s.whole)
		}
	}
	if bodiesOnly {
		// An outline has imports without a use, and generic functions without a body.
		return c.firstError(p, asts, func(file string) bool { return changed[file] != nil })
	}
	every := func(string) bool { return true }
	if path.Clean(t.dir) != dir {
		return c.firstError(p, asts, every)
	}
	// The runner compiles the declarations that t needs, so no others need to compile.
	pruned, err := prune(c.root, t)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(pruned)) {
		if pruned[name] == "" {
			continue
		}
		f, err := parser.ParseFile(c.fset, name, pruned[name], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(f.Name.Name, "_test") {
			asts = append(asts, f)
		}
	}
	return c.firstError(p, asts, every)
}

// parse parses the files of p, which is in dir.
func (c *checker) parse(dir string, p *goPackage) error {
	if p.sources != nil {
		return nil
	}
	for _, base := range p.GoFiles {
		b, err := os.ReadFile(filepath.Join(p.Dir, base))
		if err != nil {
			return err
		}
		s := &goSource{name: path.Join(dir, base)}
		for _, f := range []**ast.File{&s.whole, &s.outline} {
			if *f, err = parser.ParseFile(c.fset, s.name, b, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		s.text = c.outlineText(s.outline, string(b))
		for _, d := range s.outline.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		p.sources = append(p.sources, s)
	}
	return nil
}

// outlineText returns the text of f without the bodies of its functions.
func (c *checker) outlineText(f *ast.File, text string) string {
	var outline strings.Builder
	from := 0
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			outline.WriteString(text[from:c.fset.PositionFor(f.Body.Lbrace, false).Offset])
			from = c.fset.PositionFor(f.Body.Rbrace, false).Offset
		}
	}
	outline.WriteString(text[from:])
	return outline.String()
}

// firstError type-checks files as package p, and returns the first error in a file that in accepts.
func (c *checker) firstError(p *goPackage, files []*ast.File, in func(file string) bool) (first error) {
	conf := types.Config{
		GoVersion: "go" + p.Module.GoVersion,
		Importer:  c.importer,
		Sizes:     types.SizesFor("gc", build.Default.GOARCH),
		Error: func(err error) {
			var e types.Error
			if first == nil && errors.As(err, &e) && in(c.fset.PositionFor(e.Pos, false).Filename) {
				first = err
			}
		},
	}
	_, _ = conf.Check(p.ImportPath, c.fset, files, nil) // Error receives what it returns
	return first
}
