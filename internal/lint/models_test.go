package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// A modelName is one place that gives a model its name.
type modelName struct {
	name   string
	suffix string // the part of the name that a helper adds
	lit    *ast.BasicLit
	in     *source
}

// A namer is a function that passes its parameter on to interleave.Check as the name of
// a model, as it is or with a suffix.
type namer struct {
	dir, name string
	arg       int
	suffix    string
}

// modelNames returns the names of all models: the literals that reach interleave.Check
// in the files of model tests, directly, by way of helpers, or as the elements of a
// literal that a loop ranges over. unread holds the calls with a name of another form.
func modelNames(sources []*source) (names []modelName, unread []string) {
	namers := map[namer]bool{}
	for grown := true; grown; { // a helper may be declared after its callers
		grown, names, unread = false, nil, nil
		for _, s := range sources {
			if !isModelFile(s) {
				continue
			}
			for _, decl := range s.ast.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil {
					continue
				}
				for _, a := range argumentsOf(s, f, namers) {
					arg, suffix := withoutSuffix(a.expr)
					suffix += a.suffix
					if i := parameter(f, arg); i >= 0 {
						n := namer{s.dir, f.Name.Name, i, suffix}
						grown = grown || !namers[n]
						namers[n] = true
						continue
					}
					lits := literals(f, arg)
					if len(lits) == 0 {
						unread = append(unread, s.line(arg)+": the name of the model is no literal")
					}
					for _, lit := range lits {
						if name, err := strconv.Unquote(lit.Value); err == nil {
							names = append(names, modelName{name + suffix, suffix, lit, s})
						}
					}
				}
			}
		}
	}
	return names, unread
}

// An argument is the expression that a namer is called with, and the suffix that the
// namer adds to it.
type argument struct {
	expr   ast.Expr
	suffix string
}

// withoutSuffix divides name+"-suffix" into its two parts.
func withoutSuffix(e ast.Expr) (name ast.Expr, suffix string) {
	if sum, ok := e.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		if lit, ok := sum.Y.(*ast.BasicLit); ok {
			if suffix, err := strconv.Unquote(lit.Value); err == nil {
				return sum.X, suffix
			}
		}
	}
	return e, ""
}

// argumentsOf returns the arguments of the calls of namers in f.
func argumentsOf(s *source, f *ast.FuncDecl, namers map[namer]bool) (args []argument) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for i, arg := range call.Args {
			switch fun := call.Fun.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := fun.X.(*ast.Ident); ok && pkg.Name == "interleave" && fun.Sel.Name == "Check" && i == 1 {
					args = append(args, argument{arg, ""})
				}
			case *ast.Ident:
				for n := range namers {
					if n.dir == s.dir && n.name == fun.Name && n.arg == i {
						args = append(args, argument{arg, n.suffix})
					}
				}
			}
		}
		return true
	})
	return args
}

// parameter returns the index of the parameter of f that e is, or -1.
func parameter(f *ast.FuncDecl, e ast.Expr) int {
	id, ok := e.(*ast.Ident)
	if !ok {
		return -1
	}
	i := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == id.Name {
				return i
			}
			i++
		}
		if len(field.Names) == 0 {
			i++
		}
	}
	return -1
}

// literals returns the strings that e may be: e itself, or the names in the literal
// that a loop around e ranges over, when e is its variable or a field of that.
func literals(f *ast.FuncDecl, e ast.Expr) (lits []*ast.BasicLit) {
	if lit, ok := e.(*ast.BasicLit); ok {
		return []*ast.BasicLit{lit}
	}
	variable, field := "", ""
	switch x := e.(type) {
	case *ast.Ident:
		variable = x.Name
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			variable, field = id.Name, x.Sel.Name
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok || e.Pos() < loop.Pos() || e.End() > loop.End() {
			return true
		}
		list, ok := loop.X.(*ast.CompositeLit)
		if !ok {
			return true
		}
		isKey := isIdent(loop.Key, variable)
		if !isKey && !isIdent(loop.Value, variable) {
			return true
		}
		for _, elt := range list.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); ok {
				if elt = kv.Value; isKey {
					elt = kv.Key
				}
			}
			if lit := nameIn(elt, field); lit != nil {
				lits = append(lits, lit)
			}
		}
		return true
	})
	return lits
}

// nameIn returns the string that an element is, or that its field of that name is: the
// first element of a struct without field names.
func nameIn(e ast.Expr, field string) *ast.BasicLit {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		return lit
	}
	list, ok := e.(*ast.CompositeLit)
	if !ok || len(list.Elts) == 0 {
		return nil
	}
	for _, elt := range list.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok && isIdent(kv.Key, field) {
			return nameIn(kv.Value, "")
		}
	}
	return nameIn(list.Elts[0], "")
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// badModelNames checks that the names which "make models" prints are in kebab-case,
// and that no two models share one. A helper that adds a suffix answers for the names
// that it makes.
func badModelNames(sources []*source) []string {
	names, bad := modelNames(sources)
	first := map[string]string{}
	for _, m := range names {
		where := m.in.line(m.lit)
		if !kebab.MatchString(m.name) {
			bad = append(bad, where+": the model name "+m.lit.Value+" is not in kebab-case")
		}
		if m.suffix != "" {
			continue
		}
		if first[m.name] != "" {
			bad = append(bad, where+": the model name "+m.lit.Value+" is taken by "+first[m.name])
		}
		first[m.name] = where
	}
	return bad
}

// TestNamesOfModels checks the names of all models, and the forms in which models get
// their names.
func TestNamesOfModels(t *testing.T) {
	report(t, badModelNames(files(t)))
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"literal", `func TestModelA(t *testing.T) { interleave.Check(t, "a-b", o, nil) }`, []string{"a-b"}},
		{"helper", `func TestModelA(t *testing.T) { explore(t, "a", nil); explore(t, "b", nil) }
			func explore(t *testing.T, name string, f func()) { interleave.Check(t, name, o, f) }`, []string{"a", "b"}},
		{"helper of a helper", `func TestModelA(t *testing.T) { two(1, "a") }
			func two(n int, name string) { one(name) }
			func one(name string) { interleave.Check(nil, name, o, nil) }`, []string{"a"}},
		{"suffix", `func TestModelA(t *testing.T) { in(t, "a") }
			func in(t *testing.T, name string) { interleave.Check(t, name+"-two", o, f) }`, []string{"a-two"}},
		{"keys", `func TestModelA(t *testing.T) { for name, n := range map[string]int{"a": 1, "b": 2} { interleave.Check(t, name, n, nil) } }`, []string{"a", "b"}},
		{"elements", `func TestModelA(t *testing.T) { for _, name := range []string{"a", "b"} { interleave.Check(t, name, o, nil) } }`, []string{"a", "b"}},
		{"fields", `func TestModelA(t *testing.T) { for _, tc := range []c{{n: 1, name: "a"}, {n: 2, name: "b"}} { interleave.Check(t, tc.name, o, nil) } }`, []string{"a", "b"}},
		{"rows", `func TestModelA(t *testing.T) { for _, tc := range []c{{"a", "x"}, {"b", "y"}} { interleave.Check(t, tc.name, o, nil) } }`, []string{"a", "b"}},
		{"other calls", `func TestModelA(t *testing.T) { m.Go("x", nil); explore("y", nil) }`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			names, unread := modelNames([]*source{parse(t, "p/a_model_test.go", "package p\n\n"+tc.body)})
			var got []string
			for _, m := range names {
				got = append(got, m.name)
			}
			if !slices.Equal(got, tc.want) || len(unread) > 0 {
				t.Errorf("got %q and %q, want %q", got, unread, tc.want)
			}
		})
	}
	for name, body := range map[string]string{
		"unread":     `func TestModelA(t *testing.T) { interleave.Check(t, "a"+b, o, nil) }`,
		"not kebab":  `func TestModelA(t *testing.T) { interleave.Check(t, "a_b", o, nil) }`,
		"used twice": `func TestModelA(t *testing.T) { interleave.Check(t, "a", o, nil); interleave.Check(t, "a", o, nil) }`,
	} {
		if got := badModelNames([]*source{parse(t, "p/a_model_test.go", "package p\n\n"+body)}); len(got) != 1 {
			t.Errorf("%s: got %q, want one finding", name, got)
		}
	}
}
