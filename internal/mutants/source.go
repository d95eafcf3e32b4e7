package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
)

// source is a Go file as rehunk compares it: its lines, and those of them that have
// code.
type source struct {
	text     string
	lines    []string // without the line ends
	comments []string // the // comment of each line
	code     []codeLine
	idents   map[string]bool // each identifier of the code
}

// codeLine is the code of one line, without comments and white space.
type codeLine struct {
	line   int // index in source.lines
	tokens []string
	text   string // the tokens, divided by one space
	decl   string // the top-level declaration around the line, as in "func Ring.Pop"
}

func newSource(text string) *source {
	lines := strings.Split(text, "\n")
	s := &source{text: text, lines: lines, comments: make([]string, len(lines)), idents: map[string]bool{}}
	tokens := make([][]string, len(lines))
	for t := range scan(text) {
		switch t.kind {
		case token.COMMENT:
			if strings.HasPrefix(t.text, "//") {
				s.comments[t.line] = t.text
			}
			continue
		case token.IDENT:
			s.idents[t.text] = true
		}
		// A raw string has a part on each of its lines, and an empty part is code.
		for i, part := range strings.Split(t.text, "\n") {
			if i > 0 {
				part = "`" + part
			}
			tokens[t.line+i] = append(tokens[t.line+i], part)
		}
	}
	decls := declarations(text, len(lines))
	for i, ts := range tokens {
		if len(ts) > 0 {
			s.code = append(s.code, codeLine{i, ts, strings.Join(ts, " "), decls[i]})
		}
	}
	return s
}

// lexeme is one token of a Go text.
type lexeme struct {
	kind         token.Token
	text         string
	offset, line int // both from 0
}

// scan yields the tokens of text, comments included. Text with errors is scanned like
// other text.
func scan(text string) func(yield func(lexeme) bool) {
	return func(yield func(lexeme) bool) {
		fset := token.NewFileSet()
		file := fset.AddFile("", fset.Base(), len(text))
		var s scanner.Scanner
		s.Init(file, []byte(text), nil, scanner.ScanComments)
		for {
			pos, kind, lit := s.Scan()
			switch {
			case kind == token.EOF:
				return
			case kind == token.SEMICOLON && lit != ";":
				continue // the end of a line
			case lit == "":
				lit = kind.String()
			}
			if !yield(lexeme{kind, lit, file.Offset(pos), file.PositionFor(pos, false).Line - 1}) {
				return
			}
		}
	}
}

// declarations returns for each of the n lines of text the name of the top-level
// declaration around it. The name is empty outside declarations and in text with
// errors.
func declarations(text string, n int) []string {
	names := make([]string, n)
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return names
	}
	for _, d := range f.Decls {
		from, to := fset.PositionFor(d.Pos(), false).Line-1, fset.PositionFor(d.End(), false).Line-1
		for i := from; i <= to; i++ {
			names[i] = declName(d)
		}
	}
	return names
}

func declName(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return "func " + d.Name.Name
		}
		return "func " + typeName(d.Recv.List[0].Type) + "." + d.Name.Name
	case *ast.GenDecl:
		if len(d.Specs) == 0 {
			return d.Tok.String()
		}
		switch spec := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return "type " + spec.Name.Name
		case *ast.ValueSpec:
			return d.Tok.String() + " " + spec.Names[0].Name
		}
		return d.Tok.String()
	}
	return ""
}

// typeName returns the name of the type of a receiver.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// codeAt returns the index in s.code of the first line of code from line i on.
func (s *source) codeAt(i int) int {
	at, _ := slices.BinarySearchFunc(s.code, i, func(c codeLine, i int) int { return c.line - i })
	return at
}

// isCode reports whether line i has code.
func (s *source) isCode(i int) bool {
	at := s.codeAt(i)
	return at < len(s.code) && s.code[at].line == i
}

// notes returns the comments of the lines from code[at] to code[at+n-1].
func (s *source) notes(at, n int) []string {
	lines := s.comments[s.code[at].line : s.code[at+n-1].line+1]
	return slices.DeleteFunc(slices.Clone(lines), func(comment string) bool { return comment == "" })
}

// around returns the code of six lines before and six lines after code[at:at+n]. Lines
// without a letter are left out, because they resemble each other everywhere.
func (s *source) around(at, n int) (before, after []string) {
	const reach = 6
	texts := func(code []codeLine) (texts []string) {
		for _, c := range code {
			if strings.ContainsFunc(c.text, unicode.IsLetter) {
				texts = append(texts, c.text)
			}
		}
		return texts
	}
	return texts(s.code[max(0, at-reach):at]), texts(s.code[at+n : min(len(s.code), at+n+reach)])
}

// tree holds the Go files of a module by their path, without tests.
type tree map[string]*source

func (t tree) add(name, text string) {
	if path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
		t[name] = newSource(text)
	}
}

// place is where code begins: at code[at] of a file.
type place struct {
	file string
	at   int
}

// decl returns the name of the declaration around p.
func (t tree) decl(p place) string { return t[p.file].code[p.at].decl }

// find returns the places at which match accepts n consecutive lines of code. match
// receives a line and its number from 0 to n-1. Only files that in accepts are searched.
func (t tree) find(n int, in func(file string) bool, match func(c codeLine, i int) bool) (found []place) {
	for name, s := range t {
		if !in(name) {
			continue
		}
		for at := range len(s.code) - n + 1 {
			i := 0
			for i < n && match(s.code[at+i], i) {
				i++
			}
			if i == n {
				found = append(found, place{name, at})
			}
		}
	}
	return found
}
