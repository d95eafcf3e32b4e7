package lint_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declared = regexp.MustCompile(`^//\s*\t([EI]\d+)  `)
	cited    = regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])([EI]\d+)\b`)
)

// badLabels checks the labels of one file: invariants (I1, I2, ...) and happens-before
// edges (E1, E2, ...). A label is declared once, in an indented line of any comment:
//
//	//	E1  store of tail  ->  thief's load of tail
//
// A comment at the end of a line of code cites it. An edge is cited at two lines at
// least, because it has two ends. Each label that a comment cites is declared in the same
// file.
func badLabels(s *source) []string {
	if s.test {
		return nil // tests cite the labels of the file that they test
	}
	var bad []string
	decl := map[string]int{}
	use := map[string]int{}        // on lines of code
	mention := map[string]string{} // the first comment that cites a label
	for _, group := range s.ast.Comments {
		for _, c := range group.List {
			pos := s.fset.Position(c.Pos())
			trailing := strings.TrimSpace(s.lines[pos.Line-1][:pos.Column-1]) != ""
			for text := range strings.SplitSeq(c.Text, "\n") {
				if m := declared.FindStringSubmatch(text); m != nil && !trailing {
					decl[m[1]]++
				}
				for _, m := range cited.FindAllStringSubmatch(text, -1) {
					if trailing {
						use[m[1]]++
					}
					if mention[m[1]] == "" {
						mention[m[1]] = s.line(c)
					}
				}
			}
		}
	}
	for l, n := range decl {
		if n > 1 {
			bad = append(bad, s.path+": "+l+" is declared more than once")
		}
		if l[0] == 'E' && use[l] < 2 {
			bad = append(bad, s.path+": "+l+" is cited at fewer than two lines of code, and an edge has two ends")
		}
	}
	for l, where := range mention {
		if decl[l] == 0 {
			bad = append(bad, where+": "+l+" is cited but not declared in this file")
		}
	}
	slices.Sort(bad)
	return bad
}

// lockFree are the packages whose files have labels.
var lockFree = []string{"sync", "mpsc", "runqueue", "sched", "par", "transport", "pool", "interleave", "internal/atomix", "internal/park", "internal/self"}

// TestLabels checks that labels are declared once, and are cited at the lines that rely
// on them.
func TestLabels(t *testing.T) {
	for _, s := range files(t, lockFree...) {
		report(t, badLabels(s))
	}
	const head = "package p\n\n// T is a type.\n//\n//\tE1  store of a  ->  load of a   the reader sees b\n//\tI1  a <= b\ntype T struct{}\n"
	try(t, badLabels, []broken{
		{"good", "sync/a.go", head + "\nfunc f() {\n\tg() // E1: publishes\n\th() // E1, I1\n}\n", 0},
		{"one end", "sync/a.go", head + "\nfunc f() {\n\tg() // E1: publishes\n}\n", 1},
		{"not at code", "sync/a.go", head + "\nfunc f() {\n\t// E1 and E1\n\tg() // E1\n}\n", 1},
		{"twice", "sync/a.go", head + "\n//\tI1  again\nfunc f() {\n\tg() // E1\n\th() // E1\n}\n", 1},
		{"undeclared", "sync/a.go", head + "\nfunc f() {\n\tg() // E1\n\th() // E1, E2\n}\n", 1},
		{"undeclared in a doc comment", "sync/a.go", head + "\n// f relies on I7.\nfunc f() {\n\tg() // E1\n\th() // E1\n}\n", 1},
		{"proof below the type", "sync/a.go", "package p\n\n// T is a type.\ntype T struct{}\n\n// Edges:\n//\n//\tE1  store of a  ->  load of a   the reader sees b\n\nfunc f() {\n\tg() // E1\n\th() // E1\n}\n", 0},
		{"proof inside the type", "sync/a.go", "package p\n\n// T is a type.\ntype T struct {\n\t// Edges:\n\t//\n\t//\tE1  store of a  ->  load of a   the reader sees b\n\n\ta int\n}\n\nfunc f() {\n\tg() // E1\n\th() // E1\n}\n", 0},
		{"part of another word", "sync/a.go", "package p\n\n// f is X-E1, 0E1, fooE1 and AE2.\nfunc f() {}\n", 0},
	})
}

// badCells checks that comments state the owner of each cell: plain memory that several
// goroutines access in turn. A field of type atomix.Cell has a comment, or a line of its
// own in the doc comment or in the proof of its type.
func badCells(s *source) []string {
	if s.test {
		return nil
	}
	var bad []string
	for _, decl := range s.ast.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			typ, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			st, ok := typ.Type.(*ast.StructType)
			if !ok {
				continue
			}
			doc := gen.Doc.Text() + typ.Doc.Text() + proof(s, gen, typ)
			for _, f := range st.Fields.List {
				if !isCell(f.Type) || f.Doc != nil || f.Comment != nil {
					continue
				}
				for _, id := range f.Names {
					if !regexp.MustCompile(`(?m)^\t.*\b` + id.Name + `\b`).MatchString(doc) {
						bad = append(bad, s.line(id)+": state the owner of the cell "+typ.Name.Name+"."+id.Name+" at each moment")
					}
				}
			}
		}
	}
	return bad
}

// proof returns the text of the comments that belong to a type and are not its doc
// comment: those inside it, the one that follows it, and those at the top level of the
// file that name it.
func proof(s *source, gen *ast.GenDecl, typ *ast.TypeSpec) (text string) {
	below := false // the next declaration or comment is the first one below gen
	for _, n := range topLevelNodes(s) {
		group, ok := n.(*ast.CommentGroup)
		if ok && (below || names(group.Text(), typ.Name.Name)) {
			text += group.Text()
		}
		below = n == gen
	}
	for _, group := range s.ast.Comments {
		if typ.Pos() < group.Pos() && group.End() < typ.End() {
			text += group.Text()
		}
	}
	return text
}

// topLevelNodes returns the declarations of a file, and the comments between them that
// document none, in the order of the file.
func topLevelNodes(s *source) (nodes []ast.Node) {
	comments := s.ast.Comments
	until := func(pos token.Pos) {
		for len(comments) > 0 && comments[0].Pos() < pos {
			nodes = append(nodes, comments[0])
			comments = comments[1:]
		}
	}
	for _, decl := range s.ast.Decls {
		doc := decl.Pos()
		switch d := decl.(type) {
		case *ast.GenDecl:
			if d.Doc != nil {
				doc = d.Doc.Pos()
			}
		case *ast.FuncDecl:
			if d.Doc != nil {
				doc = d.Doc.Pos()
			}
		}
		until(doc)
		nodes = append(nodes, decl)
		for len(comments) > 0 && comments[0].Pos() < decl.End() {
			comments = comments[1:]
		}
	}
	until(s.ast.FileEnd)
	return nodes
}

// isCell reports whether a type is atomix.Cell or an array of cells.
func isCell(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.ArrayType:
		return isCell(x.Elt)
	case *ast.IndexExpr:
		sel, ok := x.X.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		return ok && pkg.Name == "atomix" && sel.Sel.Name == "Cell"
	}
	return false
}

// TestCells checks that comments state the owner of plain memory whose owner changes.
func TestCells(t *testing.T) {
	for _, s := range files(t, "sync", "mpsc", "runqueue", "sched", "transport", "pool") {
		report(t, badCells(s))
	}
	const silent = "package mpsc\n\n// T is a type.\ntype T struct{ next atomix.Cell[*T] }\n"
	try(t, badCells, []broken{
		{"proof below", "mpsc/a.go", silent + "\n// State:\n//\n//\tnext  written by the holder of the node\n\nfunc f() {}\n", 0},
		{"proof that names the type", "mpsc/a.go", silent + "\nfunc f() {}\n\n// The state of T:\n//\n//\tnext  written by the holder of the node\n", 0},
		{"proof above that names the type", "mpsc/a.go", strings.Replace(silent, "// T", "// The state of T:\n//\n//\tnext  the holder\n\n// T", 1), 0},
		{"proof inside", "mpsc/a.go", "package mpsc\n\n// T is a type.\ntype T struct {\n\t// State:\n\t//\n\t//\tnext  the holder\n\n\tn    int\n\tnext atomix.Cell[*T]\n}\n", 0},
		{"proof of another field", "mpsc/a.go", silent + "\n// State:\n//\n//\tprevious  written by the holder of the node\n", 1},
		{"proof of another type", "mpsc/a.go", silent + "\nfunc f() {}\n\n// The state of U:\n//\n//\tnext  written by the holder of the node\n", 1},
		{"doc comment of a function", "mpsc/a.go", silent + "\n// f changes T:\n//\n//\tnext  written by the holder of the node\nfunc f() {}\n", 1},
		{"comment in a function", "mpsc/a.go", silent + "\nfunc f() {\n\t// T:\n\t//\tnext  the holder\n}\n", 1},
		{"silent", "mpsc/a.go", "package mpsc\n\n// T is a type.\ntype T struct{ next atomix.Cell[*T] }\n", 1},
		{"silent array", "mpsc/a.go", "package mpsc\n\n// T is a type.\ntype T struct{ slots [4]atomix.Cell[*T] }\n", 1},
		{"state line", "mpsc/a.go", "package mpsc\n\n// T is a type.\n//\n//\tnext  written by the holder of the node\ntype T struct{ next atomix.Cell[*T] }\n", 0},
		{"comment", "mpsc/a.go", "package mpsc\n\n// T is a type.\ntype T struct {\n\tnext atomix.Cell[*T] // the holder of the node\n}\n", 0},
		{"no cell", "mpsc/a.go", "package mpsc\n\n// T is a type.\ntype T struct{ next *T }\n", 0},
	})
}
