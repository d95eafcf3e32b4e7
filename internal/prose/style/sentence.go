package style

import (
	"regexp"
	"strings"
	"unicode"
)

// A Sentence is one sentence of a file, on one line. Code spans are "X", links
// are their text.
type Sentence struct {
	Line    int
	Text    string
	Words   int
	Heading bool
	Literal bool // of a string literal

	marks []mark
}

// A mark states the line of the text from an offset on.
type mark struct{ offset, line int }

// lineAt returns the line of the file that the text at an offset comes from.
func (s Sentence) lineAt(offset int) int {
	line := s.Line
	for _, m := range s.marks {
		if m.offset > offset {
			break
		}
		line = m.line
	}
	return line
}

var (
	goHeading = regexp.MustCompile(`^\s*# [A-Z]`)
	// begins matches a line that belongs to no paragraph above it. It is an item of a
	// list, the label of an invariant or an edge, or a row of two columns.
	begins = regexp.MustCompile(`^\s*(?:[-*]|\d+[.)]|[EIL]\d+\s|\S+\s{2,}\S)`)
	// roleRow matches the name of a role with a description that has no head:
	// "holder  who has the token".
	roleRow = regexp.MustCompile(`(?i)^(\s*[\w.]+)(?:\s{2,}|\t)((?:who|whom|anybody|somebody)\b)`)
	spaces  = regexp.MustCompile(`\s+`)
)

// sentences joins units to paragraphs and divides these into sentences.
func sentences(us []unit) (all []Sentence) {
	var p paragraph
	flush := func() {
		all = append(all, p.sentences()...)
		p = paragraph{}
	}
	last := -1
	for _, u := range us {
		if goHeading.MatchString(u.text) {
			u.heading = true
			u.text = strings.TrimLeft(u.text, " \t#")
		}
		blank := strings.TrimSpace(u.text) == ""
		if u.alone || u.heading || u.item || blank || u.line != last+1 || begins.MatchString(u.text) {
			flush()
		}
		if !blank {
			p.add(u)
		}
		if u.alone || u.heading {
			flush()
		}
		last = u.line
	}
	flush()
	return all
}

// A paragraph is text that sentences may cross lines in.
type paragraph struct {
	text    string
	marks   []mark
	heading bool
	literal bool
}

func (p *paragraph) add(u unit) {
	p.heading, p.literal = u.heading, u.literal
	p.marks = append(p.marks, mark{len(p.text), u.line})
	t := roleRow.ReplaceAllString(u.text, "$1: $2")
	p.text += strings.TrimSpace(spaces.ReplaceAllString(t, " ")) + " "
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	url      = regexp.MustCompile(`https?://\S+`)

	stop         = regexp.MustCompile(`[.?!]`)
	afterStop    = regexp.MustCompile("^[\\s\")’]+(?:[A-Z\\[(\"`]|$)")
	closers      = regexp.MustCompile(`^["”’)]+`)
	abbreviation = regexp.MustCompile(`\b(?:e\.g|i\.e|etc|cf|vs|resp|approx|Fig|No)\.$`)
)

// sentences divides a paragraph at its full stops. A heading is one sentence.
func (p *paragraph) sentences() (all []Sentence) {
	p.replace(codeSpan, func(string) string { return "X" })
	p.replace(link, func(s string) string { return link.FindStringSubmatch(s)[1] })
	p.replace(url, func(string) string { return "URL" })
	start := 0
	if !p.heading {
		for _, m := range stop.FindAllStringIndex(p.text, -1) {
			end := m[1]
			if afterStop.MatchString(p.text[end:]) && !abbreviation.MatchString(p.text[:end]) {
				end += len(closers.FindString(p.text[end:]))
				all = p.cut(all, start, end)
				start = end
			}
		}
	}
	return p.cut(all, start, len(p.text))
}

// cut appends the text between two offsets as a sentence, unless it holds no word.
func (p *paragraph) cut(all []Sentence, start, end int) []Sentence {
	text := p.text[start:end]
	if !strings.ContainsFunc(text, isWord) {
		return all
	}
	start += len(text) - len(strings.TrimLeft(text, " "))
	s := Sentence{Text: strings.TrimSpace(text), Heading: p.heading, Literal: p.literal}
	for _, m := range p.marks {
		if m.offset <= start {
			s.Line = m.line
		} else if m.offset < end {
			s.marks = append(s.marks, mark{m.offset - start, m.line})
		}
	}
	return append(all, s)
}

// replace rewrites each match in the paragraph and moves the marks along.
func (p *paragraph) replace(re *regexp.Regexp, f func(string) string) {
	var b strings.Builder
	done, next := 0, 0 // the bytes of the text and the marks that are done
	moveMarks := func(upTo, at int) {
		for next < len(p.marks) && p.marks[next].offset < upTo {
			p.marks[next].offset = min(p.marks[next].offset-done+at, b.Len())
			next++
		}
	}
	for _, m := range re.FindAllStringIndex(p.text, -1) {
		at := b.Len()
		b.WriteString(p.text[done:m[0]])
		moveMarks(m[0], at)
		done = m[0]
		at = b.Len()
		b.WriteString(f(p.text[m[0]:m[1]]))
		moveMarks(m[1], at)
		done = m[1]
	}
	at := b.Len()
	b.WriteString(p.text[done:])
	moveMarks(len(p.text)+1, at)
	p.text = b.String()
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
