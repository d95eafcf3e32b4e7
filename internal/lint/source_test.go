package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/lanewright/lanewright"
	root   = "../.."
)

// source is one parsed Go file. Paths are relative to the root of the
// repository and use slashes.
type source struct {
	path   string
	dir    string // "sync", "internal/atomix", "." for the root
	module string // directory of its go.mod: "." for the root module
	test   bool
	fset   *token.FileSet
	ast    *ast.File
	lines  []string
}

// line returns the file and the line of n, for failures.
func (s *source) line(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// imports maps the local name of each import to its path. The local name is the last
// element of the path unless the import gives another.
func (s *source) imports() map[string]string {
	m := map[string]string{}
	for _, spec := range s.ast.Imports {
		p := importPath(spec)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		m[name] = p
	}
	return m
}

// selectors calls f for each selector pkg.Name, where pkg is the package with the given
// import path.
func (s *source) selectors(importPath string, f func(sel *ast.SelectorExpr)) {
	names := s.imports()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] == importPath {
			f(sel)
		}
		return true
	})
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser accepts only string literals here
	}
	return p
}

// parseAll parses every Go file of the repository, of any build tag and of nested modules
// too.
var parseAll = sync.OnceValues(func() ([]*source, error) {
	var all []*source
	modules := []string{"."}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			base := d.Name()
			if rel != "." && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_') {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
				modules = append(modules, rel)
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s := &source{
			path:   rel,
			dir:    path.Dir(rel),
			module: ".",
			test:   strings.HasSuffix(rel, "_test.go"),
			fset:   fset,
			ast:    file,
			lines:  strings.Split(string(text), "\n"),
		}
		for _, m := range modules { // the last match is the deepest: WalkDir visits parents first
			if strings.HasPrefix(rel, m+"/") {
				s.module = m
			}
		}
		all = append(all, s)
		return nil
	})
	return all, err
})

// everything returns all Go files of the repository.
func everything(t *testing.T) []*source {
	t.Helper()
	all, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("found no Go files; run the test in its own directory")
	}
	return all
}

// files returns the files of the root module, or those of the given directories of it.
func files(t *testing.T, dirs ...string) []*source {
	t.Helper()
	var some []*source
	for _, s := range everything(t) {
		if s.module == "." && (len(dirs) == 0 || slices.Contains(dirs, s.dir)) {
			some = append(some, s)
		}
	}
	return some
}

// parse returns the source of a text, for tests of rules.
func parse(t *testing.T, name, text string) *source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{
		path:   name,
		dir:    path.Dir(name),
		module: ".",
		test:   strings.HasSuffix(name, "_test.go"),
		fset:   fset,
		ast:    file,
		lines:  strings.Split(text, "\n"),
	}
}

// report fails t with each finding.
func report(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

// A broken is a text with a known number of findings. Each rule is tried on some, because
// a rule without findings in the repository could as well be one that finds nothing.
type broken struct {
	name string
	file string
	text string
	want int // findings
}

func try(t *testing.T, rule func(*source) []string, cases []broken) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			got := rule(parse(t, tc.file, tc.text))
			if len(got) != tc.want {
				t.Errorf("got %d findings %q, want %d", len(got), got, tc.want)
			}
		})
	}
}
