package lint_test

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"strings"
	"sync"
	"testing"
)

// mayRange lists the declarations of packages with models that may visit the elements of a
// map, as "path name", and why their order does not matter. An entry that excuses nothing is
// an error.
var mayRange = map[string]string{
	"pool/message.go MarshalJSON":           "each element sets another member",
	"pool/message.go UnmarshalJSON":         "each element sets another field",
	"pool/pool.go detachedCalls":            "a sum",
	"pool/pool.go detachedInOrder":          "sorted by number before the list is returned",
	"pool/func.go Submit":                   "the map has one element",
	"sched/inspect.go Inspect":              "sorted by place, and each element has another place",
	"transport/codec_json_value.go entries": "the check has no step, and its order decides only which of several refusals is reported",
}

// A mapChecker finds the types of expressions. It does not look at test files.
type mapChecker struct {
	packages map[string]*types.Package // of this module, by import path
	fset     *token.FileSet
	sources  map[string][]*source   // by directory
	info     map[string]*types.Info // by directory
}

// standardLibrary reads the packages of the standard library from their source, without C.
var standardLibrary = sync.OnceValue(func() types.Importer {
	build.Default.CgoEnabled = false
	return importer.ForCompiler(token.NewFileSet(), "source", nil)
})

func newMapChecker(sources []*source) *mapChecker {
	c := &mapChecker{
		packages: map[string]*types.Package{},
		sources:  map[string][]*source{},
		info:     map[string]*types.Info{},
	}
	for _, s := range sources {
		if !s.test && s.module == "." {
			c.fset = s.fset
			c.sources[s.dir] = append(c.sources[s.dir], s)
		}
	}
	return c
}

// Import returns a package of this module or of the standard library. Any other package is
// empty, because no package with models takes a map from one.
func (c *mapChecker) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	dir, inModule := strings.CutPrefix(path, module+"/")
	if p := c.packages[path]; p != nil {
		return p, nil
	}
	if !inModule {
		if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
			return standardLibrary().Import(path)
		}
		p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
		p.MarkComplete()
		return p, nil
	}
	c.info[dir] = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	var parsed []*ast.File
	for _, s := range c.sources[dir] {
		parsed = append(parsed, s.ast)
	}
	// The files of all builds are checked together. A declaration that a file of another
	// build has as well is an error, which does not end the check.
	config := types.Config{Importer: c, Error: func(error) {}}
	p, _ := config.Check(path, c.fset, parsed, c.info[dir])
	c.packages[path] = p
	return p, nil
}

// badMapOrder checks that a file of a package with models does not depend on the order of a
// map: a model cannot repeat an execution that does.
func (c *mapChecker) badMapOrder(s *source, hasModels, excused func(name string) bool) []string {
	if s.test || !hasModels(s.dir) {
		return nil
	}
	if _, err := c.Import(module + "/" + s.dir); err != nil {
		return []string{s.path + ": " + err.Error()}
	}
	info := c.info[s.dir]
	var bad []string
	find := func(n ast.Node, what string) {
		if !excused(s.path + " " + enclosing(s, n)) {
			bad = append(bad, s.line(n)+": "+what+" in a package with models: the order of a map differs from run to run, and a model cannot repeat an execution"+
				" that depends on it; visit the keys in the order of slices.Sorted(maps.Keys(m)), or add the reason to mayRange")
		}
	}
	sorted := map[ast.Expr]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			t := info.Types[n.X].Type
			if t == nil || t == types.Typ[types.Invalid] {
				find(n, "range over a value of unknown type")
				break
			}
			if hasMap(t) {
				find(n, "range over a map")
			}
		case *ast.CallExpr:
			sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
			if !ok {
				break
			}
			f, ok := info.Uses[sel.Sel].(*types.Func)
			if !ok || f.Pkg() == nil {
				break
			}
			switch name := f.Pkg().Path() + "." + f.Name(); name {
			case "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc":
				sorted[n.Args[0]] = name != "slices.SortedStableFunc" // which keeps the order of equal elements
			case "maps.Keys", "maps.Values", "maps.All", "reflect.MapRange", "reflect.MapKeys":
				if !sorted[n] {
					find(n, name)
				}
			}
		}
		return true
	})
	return bad
}

// hasMap reports whether t is a map. A type parameter is one if a type of its constraint is.
func hasMap(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return true
	case *types.Interface: // of a type parameter
		for i := range u.NumEmbeddeds() {
			switch e := u.EmbeddedType(i).(type) {
			case *types.Union:
				for j := range e.Len() {
					if hasMap(e.Term(j).Type()) {
						return true
					}
				}
			default:
				if hasMap(e) {
					return true
				}
			}
		}
	}
	return false
}

// TestMapOrderIsNoPartOfModels checks that a package with models depends on the order of no
// map.
func TestMapOrderIsNoPartOfModels(t *testing.T) {
	all := files(t)
	models := modelPackages(all)
	c := newMapChecker(all)
	used := map[string]bool{}
	for _, s := range all {
		report(t, c.badMapOrder(s, func(dir string) bool { return models[dir] }, func(name string) bool {
			used[name] = true
			return mayRange[name] != ""
		}))
	}
	for name := range mayRange {
		if !used[name] {
			t.Errorf("mayRange lists %s, which has nothing to excuse", name)
		}
	}
	rule := func(s *source) []string {
		c := newMapChecker([]*source{s})
		return c.badMapOrder(s, func(dir string) bool { return dir == "pool" }, func(name string) bool { return name == "pool/a.go sum" })
	}
	try(t, rule, []broken{
		{"parameter", "pool/a.go", `package pool; func f(m map[int]int) { for range m {} }`, 1},
		{"field", "pool/a.go", `package pool; type p struct { m map[int]int }; func (x *p) f() { for k := range x.m { _ = k } }`, 1},
		{"named type", "pool/a.go", `package pool; type m map[int]int; func f() { for range make(m) {} }`, 1},
		{"result", "pool/a.go", `package pool; func m() map[int]int { return nil }; func f() { for range m() {} }`, 1},
		{"result of the standard library", "pool/a.go", `package pool; import "maps"; func f(m map[int]int) { for range maps.Clone(m) {} }`, 1},
		{"type parameter", "pool/a.go", `package pool; func f[M ~map[int]int](m M) { for range m {} }`, 1},
		{"keys", "pool/a.go", `package pool; import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`, 1},
		{"reflection", "pool/a.go", `package pool; import "reflect"; func f(v reflect.Value) { v.MapRange(); v.MapKeys() }`, 2},
		{"unknown", "pool/a.go", `package pool; import "example.org/a"; func f() { for range a.M {} }`, 1},
		{"excused", "pool/a.go", `package pool; func sum(m map[int]int) { for range m {} }; func f(m map[int]int) { for range m {} }`, 1},
		{"sorted", "pool/a.go", `package pool; import ("maps"; "slices"); func f(m map[int]int) { for range slices.Sorted(maps.Keys(m)) {} }`, 0},
		{"slice, channel, number and function", "pool/a.go", `package pool; func f[S ~[]int](s S, c chan int, g func(func() bool)) { for range s {}; for range c {}; for range 3 {}; for range g {} }`, 0},
		{"without models", "par/a.go", `package par; func f(m map[int]int) { for range m {} }`, 0},
		{"test", "pool/a_test.go", `package pool; func f(m map[int]int) { for range m {} }`, 0},
	})
}
