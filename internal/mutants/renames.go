package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// renames is a table of renamed words, each with its new words. A word has several if
// it had several meanings.
type renames map[string][]string

// parseRenames reads lines "old<TAB>new". Its errors begin with the number of the line.
func parseRenames(text string) (renames, error) {
	names := renames{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line == "" || line[0] == '#' {
			continue
		}
		from, to, _ := strings.Cut(line, "\t")
		if from == "" || to == "" || wordLen(from) < len(from) || wordLen(to) < len(to) {
			return nil, fmt.Errorf("%d: not two words, old<TAB>new: %q", i+1, line)
		}
		names[from] = append(names[from], to)
	}
	return names, nil
}

// same reports whether b is a but for renamed words.
func (n renames) same(a, b string) bool {
	if a == b {
		return true
	}
	for a != "" && b != "" {
		x, y := a[:max(1, wordLen(a))], b[:max(1, wordLen(b))]
		if x != y && !slices.Contains(n[x], y) {
			return false
		}
		a, b = a[len(x):], b[len(y):]
	}
	return a == b
}

// wordLen returns the length of the word that s begins with.
func wordLen(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if n < 0 {
		return len(s)
	}
	return n
}

// in returns the name that an identifier of the revision has in s: the new name that
// s contains, or the identifier itself if s contains it still.
func (n renames) in(s *source, ident string) (string, error) {
	to := n[ident]
	used := slices.DeleteFunc(slices.Clone(to), func(name string) bool { return !s.idents[name] })
	switch {
	case len(used) == 1:
		return used[0], nil
	case len(to) == 0, len(used) == 0 && s.idents[ident]:
		return ident, nil
	case len(to) == 1:
		return to[0], nil
	}
	return "", fmt.Errorf("%s of an added line has several new names: %s", ident, strings.Join(to, ", "))
}

// tests returns a "test" line with the new names of its tests.
func (n renames) tests(line string) (string, error) {
	args, names, _ := strings.Cut(line, "-run ")
	out := args
	if names != "" {
		out += "-run "
	}
	for names != "" {
		word := names[:max(1, wordLen(names))]
		names = names[len(word):]
		switch to := n[word]; len(to) {
		case 0:
			out += word
		case 1:
			out += to[0]
		default:
			return line, fmt.Errorf("%s has several new names: %s", word, strings.Join(to, ", "))
		}
	}
	return out, nil
}
