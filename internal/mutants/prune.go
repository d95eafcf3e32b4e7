package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// declared is one top-level declaration of a test file.
type declared struct {
	node ast.Decl
	uses []string // every identifier in it
	said []string // every word of its strings
	kept bool
}

// testFile is one test file of a package.
type testFile struct {
	name  string // from the root of the module
	text  []byte
	ast   *ast.File
	decls []*declared
}

// prune returns the test files of the package of t with the declarations that its tests
// need, by their path from root. A file that they do not need has an empty text. The reason
// is that a mutant needs few tests of its package, and the compiler takes four times as long
// for all tests of pool as for pool itself.
//
// A declaration is needed if its name occurs in one that is needed, whatever the name means
// there, also in a string: a test may start its program again with -test.run. A type needs all of
// its methods. TestMain, init and blank variables are needed. What else a test needs at run time is
// missing in its run without a mutant as well, which then fails.
func prune(root string, t test) (map[string]string, error) {
	files, fset, err := testFilesOf(root, t)
	if err != nil {
		return nil, err
	}
	byName := map[string][]*declared{}
	types := map[string]bool{}
	for _, f := range files {
		for _, d := range f.decls {
			for _, name := range typeNames(d.node) {
				types[name] = true
			}
		}
	}
	var queue []*declared
	keep := func(ds ...*declared) {
		for _, d := range ds {
			if !d.kept {
				d.kept = true
				queue = append(queue, d)
			}
		}
	}
	for _, f := range files {
		for _, d := range f.decls {
			for _, name := range names(d.node, types) {
				if name == "init" || name == "_" || name == "TestMain" {
					keep(d)
				}
				byName[name] = append(byName[name], d)
			}
		}
	}
	for name := range strings.SplitSeq(t.names, "|") {
		keep(byName[name]...)
	}
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		for _, name := range slices.Concat(d.uses, d.said) {
			keep(byName[name]...)
		}
	}
	pruned := map[string]string{}
	for _, f := range files {
		pruned[f.name] = f.pruned(fset)
	}
	return pruned, nil
}

// testFilesOf parses the test files of t that its tags select.
func testFilesOf(root string, t test) ([]*testFile, *token.FileSet, error) {
	dir := filepath.Join(root, t.dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	ctx := build.Default
	ctx.BuildTags = strings.Split(t.tags, ",")
	fset := token.NewFileSet()
	var files []*testFile
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if ok, err := ctx.MatchFile(dir, e.Name()); err != nil || !ok {
			continue // the build reports what is wrong with a file
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		parsed, err := parser.ParseFile(fset, e.Name(), text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		f := &testFile{name: path.Join(filepath.ToSlash(t.dir), e.Name()), text: text, ast: parsed}
		for _, d := range parsed.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				continue
			}
			uses, said := words(d)
			f.decls = append(f.decls, &declared{node: d, uses: uses, said: said})
		}
		files = append(files, f)
	}
	return files, fset, nil
}

// names returns the names by which another declaration can need d. A method is needed with
// its type, and by its own name if its type is not one of types, those of the test files.
func names(d ast.Decl, types map[string]bool) (ns []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		of := typeName(d.Recv.List[0].Type)
		if types[of] {
			return []string{of}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.ValueSpec); ok {
				for _, n := range s.Names {
					ns = append(ns, n.Name)
				}
			}
		}
	}
	return append(ns, typeNames(d)...)
}

// typeNames returns the names of the types that d declares.
func typeNames(d ast.Decl) (ns []string) {
	if g, ok := d.(*ast.GenDecl); ok {
		for _, s := range g.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				ns = append(ns, s.Name.Name)
			}
		}
	}
	return ns
}

var word = regexp.MustCompile(`\w+`)

// words returns every identifier in n, and every word of its strings.
func words(n ast.Node) (identifiers, inStrings []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			identifiers = append(identifiers, n.Name)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				inStrings = append(inStrings, word.FindAllString(text, -1)...)
			}
		}
		return true
	})
	return identifiers, inStrings
}

// start returns where d begins, with the comment that belongs to it: it may be a directive.
func (d *declared) start() token.Pos {
	var doc *ast.CommentGroup
	switch n := d.node.(type) {
	case *ast.FuncDecl:
		doc = n.Doc
	case *ast.GenDecl:
		doc = n.Doc
	}
	if doc != nil {
		return doc.Pos()
	}
	return d.node.Pos()
}

// pruned returns the text of f without the declarations that are not kept. The lines keep
// their numbers. The imports that are not needed become blank.
func (f *testFile) pruned(fset *token.FileSet) string {
	text := append([]byte(nil), f.text...)
	used := map[string]bool{}
	kept := false
	for _, d := range f.decls {
		if d.kept {
			kept = true
			for _, name := range d.uses {
				used[name] = true
			}
			continue
		}
		from := fset.Position(d.start()).Offset
		to := fset.Position(d.node.End()).Offset
		for i := from; i < to; i++ {
			if text[i] != '\n' {
				text[i] = ' '
			}
		}
	}
	if !kept {
		return ""
	}
	// From the last import to the first: a change moves what comes after it in its line.
	for i := len(f.ast.Imports) - 1; i >= 0; i-- {
		spec := f.ast.Imports[i]
		local := packageName(strings.Trim(spec.Path.Value, `"`))
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if used[local] || local == "." || local == "_" {
			continue
		}
		at := fset.Position(spec.Pos()).Offset
		end := fset.Position(spec.Path.Pos()).Offset
		text = append(text[:at:at], append([]byte("_ "), text[end:]...)...)
	}
	return string(text)
}

// packageName returns the name that a package has by convention: the last element of its
// path that is not a version.
func packageName(imported string) string {
	dir, base := path.Split(imported)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && dir != "" {
		return path.Base(dir)
	}
	return base
}
