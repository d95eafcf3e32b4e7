package style

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Class names the rule that a finding breaks.
type Class string

// The classes. The sentences of rules_test.go are examples.
const (
	Who        Class = "who"        // a relative pronoun for a person, without a noun before it
	Indefinite Class = "indefinite" // an indefinite pronoun for a person, in place of a role
	What       Class = "what"       // a clause with "what" as subject
	Each       Class = "each"       // "each that", "the first to": a pronoun in place of a noun
	Private    Class = "private"    // a word of terms.tsv
)

// Classes lists the classes in the order of reports.
var Classes = []Class{Who, Indefinite, What, Each, Private}

// A Finding is one place that breaks a rule.
type Finding struct {
	Line     int
	Class    Class
	Text     string // the words found
	Instead  string // the replacement, for Private
	Sentence string
	Literal  bool // in a string literal
}

// A Report is the result for one file.
type Report struct {
	Words     int // headings and table cells included
	Literals  int // the words in string literals; Words counts them as well
	Findings  []Finding
	Shape     Shape
	Sentences []Sentence
	Open      int // the line of a prose:off that no prose:on follows, or 0
}

// Rate returns the findings in 1000 words.
func (r Report) Rate() float64 { return Rate(len(r.Findings), r.Words) }

// Rate returns findings in 1000 words.
func Rate(findings, words int) float64 {
	if words == 0 {
		return 0
	}
	return 1000 * float64(findings) / float64(words)
}

// WithoutLiterals returns the number of words and findings outside string literals.
func (r Report) WithoutLiterals() (words, findings int) {
	for _, f := range r.Findings {
		if !f.Literal {
			findings++
		}
	}
	return r.Words - r.Literals, findings
}

// A Shape sums up sentences of six words or more. It excludes headings and string
// literals.
type Shape struct {
	Sentences int
	Words     int
	Breaks    int // commas, semicolons, colons
	Crowded   int // sentences with four breaks or more
	Pronouns  int // "it", "that", "one" and similar
}

// Add adds the sums of another shape.
func (s *Shape) Add(o Shape) {
	s.Sentences += o.Sentences
	s.Words += o.Words
	s.Breaks += o.Breaks
	s.Crowded += o.Crowded
	s.Pronouns += o.Pronouns
}

// BreaksPerSentence returns the average number of breaks in a sentence.
func (s Shape) BreaksPerSentence() float64 {
	return float64(s.Breaks) / float64(max(1, s.Sentences))
}

// Options selects the text to check.
type Options struct {
	Strings bool   // check string literals that hold a space as well
	Terms   []Term // private words; nil stands for [Terms]
}

// Check checks the text of one file. The extension of the path determines how the
// file is read; see [Reads].
func Check(file string, src []byte, o Options) Report {
	terms := o.Terms
	if terms == nil {
		terms = Terms()
	}
	us, open := switched(units(file, string(src), o.Strings))
	r := Report{Open: open}
	for _, s := range sentences(us) {
		n := len(wordPattern.FindAllString(s.Text, -1))
		r.Words += n
		if s.Literal {
			r.Literals += n
		} else if !s.Heading && n >= 6 {
			r.Shape.Add(shapeOf(s.Text, n))
		}
		r.Findings = append(r.Findings, findings(s, terms)...)
		s.Words = n
		r.Sentences = append(r.Sentences, s)
	}
	return r
}

// Reads reports whether Check has a reader for files with this name.
func Reads(file string) bool { return readerOf(file) != nil }

// findings returns the findings in one sentence, in the order of the text, at most
// one of a class at each place.
func findings(s Sentence, terms []Term) []Finding {
	lower := strings.ToLower(s.Text)
	var hits []hit
	if !s.Heading {
		hits = append(hits, headless(s.Text, lower)...)
	}
	hits = append(hits, private(s.Text, terms)...)
	hits = slices.DeleteFunc(hits, func(h hit) bool { return quoted(s.Text, h) })
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.class, b.class))
	})
	hits = slices.CompactFunc(hits, func(a, b hit) bool { return a.start == b.start && a.class == b.class })
	var fs []Finding
	for _, h := range hits {
		fs = append(fs, Finding{
			Line: s.lineAt(h.start), Class: h.class, Text: strings.TrimSpace(s.Text[h.start:h.end]),
			Instead: h.instead, Sentence: s.Text, Literal: s.Literal,
		})
	}
	return fs
}

// A hit is a finding as a part of a sentence.
type hit struct {
	start, end int
	class      Class
	instead    string
}

// quoted reports whether quotation marks enclose the hit: the text then mentions
// the word and does not use it.
func quoted(s string, h hit) bool {
	return endsInQuote.MatchString(s[:h.start]) && beginsWithQuote.MatchString(s[h.end:])
}

var (
	wordPattern     = regexp.MustCompile(`[A-Za-z][\pL\d_'’-]*`)
	breakPattern    = regexp.MustCompile(`[,;:](?:\s|$)`)
	pronounPattern  = regexp.MustCompile(`(?i)\b(?:it|that|this|them|one|ones|other|others|these|those|so)\b`)
	endsInQuote     = regexp.MustCompile("[\"“'`]$")
	beginsWithQuote = regexp.MustCompile("^[,.]?[\"”'`]")
)

func shapeOf(s string, words int) Shape {
	breaks := len(breakPattern.FindAllString(s, -1))
	crowded := 0
	if breaks >= 4 {
		crowded = 1
	}
	return Shape{
		Sentences: 1, Words: words, Breaks: breaks, Crowded: crowded,
		Pronouns: len(pronounPattern.FindAllString(s, -1)),
	}
}

// readerOf returns the function that splits a file into units, or nil.
func readerOf(file string) func(src string, literals bool) []unit {
	switch path.Ext(file) {
	case ".go":
		return goUnits
	case ".s", ".S", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs":
		return commentUnits
	case ".md", ".txt":
		return markdownUnits
	case ".mutants":
		return mutantUnits
	}
	return nil
}

func units(file, src string, literals bool) []unit {
	read := readerOf(file)
	if read == nil {
		return nil
	}
	return read(src, literals)
}
