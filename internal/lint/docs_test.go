package lint_test

import (
	"bytes"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// public reports whether other modules may import the package.
func public(dir string) bool {
	return !strings.HasPrefix(dir, "internal/") && !strings.Contains(dir, "/internal/") && !strings.HasPrefix(dir, "cmd/")
}

// TestPackageComments checks that each package has one package comment, in doc.go.
func TestPackageComments(t *testing.T) {
	docs := map[string][]string{} // the files of a directory with a package comment
	for _, s := range everything(t) {
		if s.test {
			continue
		}
		where := docs[s.dir]
		if text := s.ast.Doc.Text(); text != "" {
			where = append(where, s.path)
			want := "Package " + s.ast.Name.Name + " "
			if s.ast.Name.Name == "main" {
				want = "Command "
			}
			if !strings.HasPrefix(text, want) {
				t.Errorf("%s: the package comment begins %.30q, want %q", s.path, text, want)
			}
		}
		docs[s.dir] = where
	}
	for dir, where := range docs {
		if len(where) != 1 {
			t.Errorf("package %s has %d package comments %q, want one, in doc.go", dir, len(where), where)
		}
	}
}

// badGlossary checks that a package comment refers to the glossary.
func badGlossary(s *source) []string {
	if !strings.HasSuffix(s.path, "/doc.go") {
		return nil
	}
	if strings.Contains(s.ast.Doc.Text(), "docs/GLOSSARY.md") {
		return nil
	}
	return []string{s.path + ": the package comment does not refer to docs/GLOSSARY.md"}
}

// TestGlossary checks that each package comment in a doc.go refers to the glossary. A
// program whose comment stands in main.go need not refer to it.
func TestGlossary(t *testing.T) {
	for _, s := range files(t) {
		report(t, badGlossary(s))
	}
	try(t, badGlossary, []broken{
		{"good", "sched/doc.go", "// Package sched is it. docs/GLOSSARY.md defines its terms.\npackage sched\n", 0},
		{"none", "sched/doc.go", "// Package sched is it.\npackage sched\n", 1},
		{"another file", "sched/a.go", "package sched\n", 0},
		{"program", "examples/a/main.go", "// Command a is it.\npackage main\n", 0},
	})
}

// undocumented lists the exported names of a file that have no comment. The comment of a
// type documents each field that it names.
func undocumented(s *source) []string {
	if s.test {
		return nil
	}
	var bad []string
	missing := func(n ast.Node, name string) {
		bad = append(bad, s.line(n)+": "+name+" is exported and has no comment")
	}
	for _, decl := range s.ast.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || d.Doc.Text() != "" {
				continue
			}
			if recv := receiver(d); recv == "" {
				missing(d, d.Name.Name)
			} else if ast.IsExported(recv) {
				missing(d, recv+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch sp := spec.(type) {
				case *ast.ValueSpec:
					for _, id := range sp.Names {
						if id.IsExported() && d.Doc.Text()+sp.Doc.Text()+sp.Comment.Text() == "" {
							missing(id, id.Name)
						}
					}
				case *ast.TypeSpec:
					if !sp.Name.IsExported() {
						continue
					}
					doc := sp.Doc.Text() + sp.Comment.Text()
					if !d.Lparen.IsValid() || doc == "" {
						doc += d.Doc.Text()
					}
					if doc == "" {
						missing(sp, sp.Name.Name)
					}
					for _, f := range members(sp.Type) {
						for _, id := range f.Names {
							if id.IsExported() && f.Doc.Text()+f.Comment.Text() == "" && !names(doc, id.Name) {
								missing(id, sp.Name.Name+"."+id.Name)
							}
						}
					}
				}
			}
		}
	}
	return bad
}

// members returns the fields of a struct and the methods of an interface.
func members(e ast.Expr) []*ast.Field {
	switch x := e.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}

// receiver returns the name of the type of a method.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func names(text, word string) bool {
	return regexp.MustCompile(`\b` + word + `\b`).MatchString(text)
}

// TestExportedComments checks that each exported name of a public package has a comment.
func TestExportedComments(t *testing.T) {
	for _, s := range files(t) {
		if public(s.dir) {
			report(t, undocumented(s))
		}
	}
	try(t, undocumented, []broken{
		{"function", "sched/a.go", "package sched\n\nfunc F() {}\n", 1},
		{"documented", "sched/a.go", "package sched\n\n// F does it.\nfunc F() {}\n", 0},
		{"method", "sched/a.go", "package sched\n\n// T is it.\ntype T[A any] struct{}\n\nfunc (t *T[A]) M() {}\n", 1},
		{"method of a private type", "sched/a.go", "package sched\n\ntype t struct{}\n\nfunc (t) M() {}\n", 0},
		{"constants of a group", "sched/a.go", "package sched\n\n// The states.\nconst (\n\tA = 1\n\tB = 2\n)\n", 0},
		{"constant", "sched/a.go", "package sched\n\nconst A = 1\n", 1},
		{"field", "sched/a.go", "package sched\n\n// T is it.\ntype T struct{ F int }\n", 1},
		{"field named by its type", "sched/a.go", "package sched\n\n// T is it; F counts.\ntype T struct{ F int }\n", 0},
		{"interface method", "sched/a.go", "package sched\n\n// T is it.\ntype T interface{ M() }\n", 1},
		{"type", "sched/a.go", "package sched\n\ntype T struct{}\n", 1},
	})
}

// machinePath matches the absolute path of a directory that only one machine has.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.])/(work|farm|home|Users)/`)

// tracked returns the files that git tracks, and the new ones that it does not ignore.
// Without git it returns all files.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err == nil {
		var list []string
		for name := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
			list = append(list, string(name))
		}
		return list
	}
	t.Logf("git ls-files: %v; reading every file instead", err)
	var list []string
	err = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			list = append(list, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestNoMachinePaths checks that no tracked file names a directory that only the machine
// of its author has.
func TestNoMachinePaths(t *testing.T) {
	list := tracked(t)
	if len(list) == 0 {
		t.Fatal("found no files")
	}
	for _, name := range list {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue // binary
		}
		n := 0
		for line := range bytes.Lines(text) {
			n++
			if machinePath.Match(line) {
				t.Errorf("%s:%d: the line names a directory of one machine: %.120s", name, n, bytes.TrimSpace(line))
			}
		}
	}
	for text, want := range map[string]bool{
		"see /" + "work/main":                 true,
		"cd /" + "farm/x && make":             true,
		"\"/" + "home/me/src\"":               true,
		"https://example.org/" + "work/paper": false,
		"./" + "work/queue.go":                false,
	} {
		if got := machinePath.MatchString(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
