package style

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// A unit is a piece of prose on one line. It is a line of a comment or of Markdown, a
// cell of a table or a string literal.
type unit struct {
	line    int
	text    string
	alone   bool // it is no part of a paragraph, as a cell or a comment after code
	heading bool
	item    bool // it begins an item of a list
	literal bool // it is a string literal
}

// switchMark matches a line that switches the checks off or on.
var switchMark = regexp.MustCompile(`^\W*prose:(off|on)\W*$`)

// switched drops the units between the marks prose:off and prose:on. open is the line of
// a prose:off without a prose:on, or 0.
func switched(us []unit) (kept []unit, open int) {
	for _, u := range us {
		switch m := switchMark.FindStringSubmatch(u.text); {
		case m != nil && m[1] == "off":
			open = u.line
		case m != nil:
			open = 0
		case open == 0:
			kept = append(kept, u)
		}
	}
	return kept, open
}

// directive matches a comment that a tool reads and no person.
var directive = regexp.MustCompile(`^(?:go:|nolint|gcassert|export |line |sys)`)

// goUnits returns the comments of Go source, and on request its string literals.
// The source need not parse.
func goUnits(src string, literals bool) (us []unit) {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		line := file.Line(pos)
		switch tok {
		case token.EOF:
			return us
		case token.COMMENT:
			before := src[file.Offset(file.LineStart(line)):file.Offset(pos)]
			us = append(us, comment(text, line, strings.TrimSpace(before) != "")...)
		case token.STRING:
			if !literals || text[0] != '"' {
				continue
			}
			if value, err := strconv.Unquote(text); err == nil && strings.Contains(value, " ") {
				us = append(us, unit{line: line, text: strings.ReplaceAll(value, "\n", " "), alone: true, literal: true})
			}
		}
	}
}

// comment returns the units of one comment. A line comment after code is a unit
// that stands alone.
func comment(text string, line int, afterCode bool) (us []unit) {
	if body, ok := strings.CutPrefix(text, "//"); ok {
		if directive.MatchString(body) {
			return nil
		}
		return []unit{{line: line, text: strings.TrimLeft(body, "/!"), alone: afterCode}}
	}
	body := strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	for i, t := range strings.Split(body, "\n") {
		us = append(us, unit{line: line + i, text: strings.TrimLeft(t, " *")})
	}
	return us
}

// runeLiteral matches a character of C, Rust or assembly, but no lifetime of Rust.
var runeLiteral = regexp.MustCompile(`^'(?:\\.[^'\n]*|[^'\\\n])'`)

// commentUnits returns the comments of a language with the comments and strings of
// C, and on request the string literals.
func commentUnits(src string, literals bool) (us []unit) {
	line, code := 1, false // code: the line has code before the current place
	for i := 0; i < len(src); {
		rest, size := src[i:], 1
		switch {
		case strings.HasPrefix(rest, "//"):
			if size = strings.IndexByte(rest, '\n'); size < 0 {
				size = len(rest)
			}
			us = append(us, comment(rest[:size], line, code)...)
		case strings.HasPrefix(rest, "/*"):
			if size = strings.Index(rest, "*/") + 2; size < 2 {
				size = len(rest)
			}
			us = append(us, comment(rest[:size], line, false)...)
		case rest[0] == '"':
			size = stringLength(rest)
			if text := strings.Trim(rest[:size], `"`); literals && strings.Contains(text, " ") {
				us = append(us, unit{line: line, text: strings.ReplaceAll(text, `\n`, " "), alone: true, literal: true})
			}
			code = true
		case rest[0] == '\'':
			size = max(1, len(runeLiteral.FindString(rest)))
			code = true
		case rest[0] == '\n':
			code = false
		case rest[0] != ' ' && rest[0] != '\t':
			code = true
		}
		line += strings.Count(rest[:size], "\n")
		i += size
	}
	return us
}

// stringLength returns the length of the literal at the beginning of s, quotation
// marks included.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// mutantUnits returns the comments and the "why" lines of a file of mutants.
func mutantUnits(src string, _ bool) (us []unit) {
	n := 0
	for t := range strings.SplitSeq(src, "\n") {
		n++
		if why, ok := strings.CutPrefix(t, "why"); ok {
			us = append(us, unit{line: n, text: why, alone: true})
		} else if text, ok := strings.CutPrefix(t, "#"); ok {
			us = append(us, unit{line: n, text: text})
		}
	}
	return us
}

var (
	codeFence    = regexp.MustCompile("^\\s*(?:```|~~~)")
	htmlComment  = regexp.MustCompile(`^\s*<!--.*-->\s*$`)
	tableRule    = regexp.MustCompile(`^[\s:-]*$`)
	listItem     = regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	indentedText = regexp.MustCompile(`^(?:    |\t)[^-*\d(\s]`)
	codeMarks    = regexp.MustCompile("[{}=|`()←│├└]|  ")
)

// markdownUnits returns the text of a Markdown document without its code.
func markdownUnits(src string, _ bool) (us []unit) {
	n, code := 0, false
	for t := range strings.SplitSeq(src, "\n") {
		n++
		switch trimmed := strings.TrimSpace(t); {
		case codeFence.MatchString(t):
			code = !code
		case code:
		case indentedText.MatchString(t) && codeMarks.MatchString(trimmed):
			// an indented block of code; an indented paragraph of a list has no marks
		case htmlComment.MatchString(t) && !switchMark.MatchString(t):
		case strings.HasPrefix(trimmed, "|"):
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
				if !tableRule.MatchString(cell) {
					us = append(us, unit{line: n, text: cell, alone: true})
				}
			}
		case strings.HasPrefix(t, "#"):
			us = append(us, unit{line: n, text: strings.TrimLeft(t, "# "), alone: true, heading: true})
		default:
			mark := listItem.FindString(t)
			us = append(us, unit{line: n, text: t[len(mark):], item: mark != ""})
		}
	}
	return us
}
