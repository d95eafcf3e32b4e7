package style

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// A Term is a private word or phrase and its replacement.
type Term struct {
	Pattern string // a regular expression; matches whole words in any case
	Instead string
	Unless  string // no finding when the text after the match begins like this

	find, unless *regexp.Regexp
}

//go:embed terms.tsv
var termData string

// Terms returns the private words of this repository, from terms.tsv.
var Terms = sync.OnceValue(func() []Term {
	ts, err := ParseTerms(termData)
	if err != nil {
		panic(err) // a test reads the data
	}
	return ts
})

// ParseTerms reads a list of terms. A line has two or three columns with a tab between
// them: the expression, the replacement and the exception. There is no finding when the
// text after a match begins with the exception. Empty lines and lines that begin with #
// are skipped. An expression matches whole words. If it has a group, the group is the
// text of the finding and the rest of the match is its context.
func ParseTerms(data string) ([]Term, error) {
	ts := []Term{}
	n := 0
	for line := range strings.Lines(data) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		cols := strings.Split(line, "\t")
		if len(cols) < 2 || len(cols) > 3 || cols[0] == "" || cols[1] == "" {
			return nil, fmt.Errorf("terms: line %d: want an expression, a replacement and at most one exception, separated by tabs", n)
		}
		t := Term{Pattern: cols[0], Instead: cols[1]}
		var err error
		if t.find, err = regexp.Compile(`(?i)\b(?:` + t.Pattern + `)`); err != nil {
			return nil, fmt.Errorf("terms: line %d: %w", n, err)
		}
		if t.find.NumSubexp() == 0 {
			t.find = regexp.MustCompile(t.find.String() + `\b`)
		}
		if len(cols) == 3 {
			t.Unless = cols[2]
			if t.unless, err = regexp.Compile(`(?i)^(?:` + t.Unless + `)`); err != nil {
				return nil, fmt.Errorf("terms: line %d: %w", n, err)
			}
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// private returns the places of s that hold a private word.
func private(s string, terms []Term) (hits []hit) {
	for i := range terms {
		t := &terms[i]
		for _, m := range t.find.FindAllStringSubmatchIndex(s, -1) {
			if m[0] > 0 && s[m[0]-1] == '.' {
				continue // a field: w.eye
			}
			if t.unless != nil && t.unless.MatchString(s[m[1]:]) {
				continue
			}
			m = m[len(m)-2:]
			hits = append(hits, hit{start: m[0], end: m[1], class: Private, instead: t.Instead})
		}
	}
	return hits
}
