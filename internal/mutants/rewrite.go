package main

import (
	"go/token"
	"slices"
	"strings"
)

// hunkLine is a line of a hunk: kind is a space, a minus, or a plus.
type hunkLine struct {
	kind byte
	text string
}

func (l hunkLine) String() string { return string(l.kind) + l.text }

type hunk []hunkLine

func (h hunk) String() string {
	var lines []string
	for _, l := range h {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// hunkAt returns the hunk that lines begin with.
func hunkAt(lines []string) (h hunk) {
	for _, l := range lines {
		if l == "" || !strings.ContainsRune(" -+", rune(l[0])) {
			break
		}
		h = append(h, hunkLine{l[0], l[1:]})
	}
	return h
}

// before returns the lines that the file has before the mutant is planted.
func (h hunk) before() (lines []string) {
	for _, l := range h {
		if l.kind != '+' {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// move is n lines of code of the revision and their place in the work tree.
type move struct {
	old, now *source
	was, is  int // the index of the first line in old.code and in now.code
	n        int
}

// lines returns where the code begins and ends in the work tree, with at most so many
// comment lines before and after it.
func (m move) lines(before, after int) (from, to int) {
	from, to = m.now.code[m.is].line, m.now.code[m.is+m.n-1].line+1
	for ; before > 0 && from > 0 && !m.now.isCode(from-1); before-- {
		from--
	}
	for ; after > 0 && to < len(m.now.lines)-1 && !m.now.isCode(to); after-- {
		to++
	}
	return from, to
}

// learn records the new text of each token and of the comment of line i of the code.
func (m move) learn(became map[string]string, i int) {
	was, is := m.old.code[m.was+i], m.now.code[m.is+i]
	for i, token := range was.tokens {
		became[token] = is.tokens[i]
	}
	if comment := m.old.comments[was.line]; comment != "" {
		became[comment] = m.now.comments[is.line]
	}
}

// rewrite returns h, which begins with line start of the revision, for the work tree.
//
// Lines of the file come with their comments, and with the comment lines between
// them. The comment lines at an end of h are at most as many as before. If the lines
// stand more than once in the file, h gets more lines before them.
func (r *rehunk) rewrite(h hunk, start int, m move) (hunk, error) {
	last := start + len(h.before()) - 1
	from, to := m.lines(m.old.code[m.was].line-start, last-m.old.code[m.was+m.n-1].line)
	same := slices.Equal(m.now.lines[from:to], h.before())
	became := map[string]string{}
	for i := range m.n {
		m.learn(became, i)
	}
	var out hunk
	next := from // the next line of the work tree
	take := func(kind byte, end int) {
		for ; next < end; next++ {
			out = append(out, hunkLine{kind, m.now.lines[next]})
		}
	}
	code, line, above := 0, start, byte(' ')
	for _, l := range h {
		if l.kind == '+' {
			text, err := r.added(l.text, became, m.now)
			if err != nil {
				return nil, err
			}
			out = append(out, hunkLine{'+', text})
			continue
		}
		end := to
		if code < m.n {
			end = m.now.code[m.is+code].line
		}
		switch {
		case same:
			take(l.kind, next+1)
		case m.old.isCode(line):
			if above == '-' { // new comment lines between two lines that the mutant deletes
				take(l.kind, end)
			}
			take(' ', end)
			take(l.kind, end+1)
		default: // a comment line stands for all comment lines up to the code
			take(l.kind, end)
		}
		if m.old.isCode(line) {
			m.learn(became, code) // a word may have two new words: the nearest line decides
			code++
		}
		line++
		above = l.kind
	}
	for from > 0 {
		if _, times := findLines(m.now, out.before()); times == 1 {
			break
		}
		from--
		out = slices.Insert(out, 0, hunkLine{' ', m.now.lines[from]})
	}
	return out, nil
}

// added returns an added line with the new text of its tokens and comments, and with
// the new names of its other identifiers.
func (r *rehunk) added(line string, became map[string]string, s *source) (string, error) {
	var out strings.Builder
	copied := 0
	for t := range scan(line) {
		is, ok := became[t.text]
		if !ok {
			is = t.text
			if t.kind == token.IDENT {
				var err error
				if is, err = r.names.in(s, t.text); err != nil {
					return "", err
				}
			}
		}
		out.WriteString(line[copied:t.offset] + is)
		copied = t.offset + len(t.text)
	}
	return strings.TrimRight(out.String()+line[copied:], " \t"), nil
}
