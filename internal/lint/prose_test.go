package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/prose/style"
)

// The limits of the prose of every directory. The style guide has the rules; the
// command internal/prose prints each finding.
const (
	maxFindings = 1.0 // per 1000 words of a file, with string literals and without; one always passes
	maxBreaks   = 0.8 // per sentence, on average over a directory without its tests; three always pass
)

// A proseLimit is the limit of one directory or file: findings per 1000 words over all
// files, and breaks per sentence over the files without tests.
type proseLimit struct{ findings, breaks float64 }

// proseLimits lists the directories and files above the limits of all others, and their
// own limits. A file of this list does not count for its directory. The limits may only
// fall: one that is twice the rate is an error.
var proseLimits = map[string]proseLimit{}

// A prose is the sum of the reports of one directory.
type prose struct {
	words    int
	findings int
	shape    style.Shape // without tests
	over     []string    // files above maxFindings
	open     []string    // marks prose:off without a prose:on
}

// addFile adds the report of a file, string literals included.
func (p *prose) addFile(name string, r style.Report) {
	words, findings := r.WithoutLiterals()
	p.words += words
	p.findings += findings
	if !strings.HasSuffix(name, "_test.go") {
		p.shape.Add(r.Shape)
	}
	if r.Open > 0 {
		p.open = append(p.open, fmt.Sprintf("%s:%d: no prose:on follows this prose:off", name, r.Open))
	}
	// Long literals of a file do not excuse its comments.
	if tooMany(findings, words) || tooMany(len(r.Findings), r.Words) {
		text := fmt.Sprintf("%s: %d findings in %d words, %d in %d of them in comments (go run ./internal/prose -strings %s), at most %g per 1000:",
			name, len(r.Findings), r.Words, findings, words, name, maxFindings)
		for _, f := range r.Findings[:min(len(r.Findings), 3)] {
			text += fmt.Sprintf(" line %d: %q;", f.Line, f.Text)
		}
		p.over = append(p.over, strings.TrimSuffix(text, ";"))
	}
}

// tooMany reports whether a file has more findings than maxFindings allows.
func tooMany(findings, words int) bool {
	return float64(findings) > max(1, maxFindings*float64(words)/1000)
}

// badProse checks the sum of one directory against its own limit, or against the
// limits of all when it has none.
func badProse(dir string, p *prose, own *proseLimit) (bad []string) {
	rate := style.Rate(p.findings, p.words)
	most := maxBreaks
	bad = slices.Clone(p.open)
	if own == nil {
		bad = append(bad, p.over...)
	} else {
		most = max(maxBreaks, own.breaks)
		if limit := max(maxFindings, own.findings); rate > limit {
			bad = append(bad, fmt.Sprintf("%s: %.1f findings per 1000 words, its limit is %g (go run ./internal/prose -tests %s)", dir, rate, limit, dir))
		}
		if own.findings > maxFindings && rate < own.findings/2 {
			bad = append(bad, fmt.Sprintf("%s: %.1f findings per 1000 words: lower its limit of %g in proseLimits", dir, rate, own.findings))
		}
	}
	if s := p.shape; float64(s.Breaks) > most*float64(s.Sentences)+3 {
		bad = append(bad, fmt.Sprintf("%s: %.2f breaks per sentence, at most %g (go run ./internal/prose -shape %s)", dir, s.BreaksPerSentence(), most, dir))
	}
	return bad
}

// readProse returns the sums of the directories of the given files, and of the files with
// limits of their own. It reads several files at a time.
func readProse(t *testing.T, names []string) map[string]*prose {
	t.Helper()
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
		dirs = map[string]*prose{}
	)
	const readers = 4
	for i := range readers {
		wait.Go(func() {
			for j := i; j < len(names); j += readers {
				name := filepath.ToSlash(names[j])
				results := path.Ext(name) == ".txt" // a description of a machine, and what it measured
				if !style.Reads(name) || results || strings.Contains("/"+name, "/testdata/") {
					continue
				}
				src, err := os.ReadFile(filepath.Join(root, name))
				if os.IsNotExist(err) {
					continue // deleted, not committed yet
				}
				if err != nil {
					t.Error(err)
					return
				}
				r := style.Check(name, src, style.Options{Strings: true})
				place := path.Dir(name)
				if _, ok := proseLimits[name]; ok {
					place = name
				}
				mu.Lock()
				if dirs[place] == nil {
					dirs[place] = &prose{}
				}
				dirs[place].addFile(name, r)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return dirs
}

// TestProse checks rules P1 to P4 of the style guide in the comments, documents, errors
// and failures of the repository, and the breaks of sentences in its packages.
func TestProse(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the text is the same as without the race detector, and takes half a minute with it")
	}
	dirs := readProse(t, tracked(t))
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		var own *proseLimit
		if l, ok := proseLimits[dir]; ok {
			own = &l
		}
		report(t, badProse(dir, dirs[dir], own))
	}
	for dir := range proseLimits {
		if dirs[dir] == nil {
			t.Errorf("%s has a limit in proseLimits and no text", dir)
		}
	}
}

// prose:off

// TestProseRule tries the rule on directories that keep and break it.
func TestProseRule(t *testing.T) {
	plain := strings.Repeat("// The owner stores the value of tail in the ring.\n//\n", 50)
	broken := strings.Repeat("// The owner, in turn, stores the value, then leaves.\n//\n", 50)
	one := "// Nobody parks.\n//\n"
	for _, tc := range []struct {
		name string
		text string
		own  *proseLimit
		want int
	}{
		{"plain", plain, nil, 0},
		{"one finding", one, nil, 0},
		{"two findings", plain + one + one, nil, 1},
		{"strings", "package p\n\nvar s = []string{\"nobody parks\", \"nobody pops\"}\n//", nil, 1},
		{"breaks", broken, nil, 1},
		{"switched off", plain + "// prose:off\n" + one + one + "// prose:on\n", nil, 0},
		{"not switched on", plain + "// prose:off\n" + one + one, nil, 1},
		{"own limit", plain + one + one + one, &proseLimit{10, 0.8}, 0},
		{"above its own limit", plain + one + one + one, &proseLimit{3, 0.8}, 1},
		{"own limit of breaks", broken, &proseLimit{1, 3}, 0},
		{"limit to lower", plain, &proseLimit{10, 0.8}, 1},
		{"breaks above its own limit", broken, &proseLimit{1, 2}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &prose{}
			p.addFile("p/a.go", style.Check("p/a.go", []byte(tc.text+"package p\n"), style.Options{Strings: true}))
			if got := badProse("p", p, tc.own); len(got) != tc.want {
				t.Errorf("got %q, want %d findings", got, tc.want)
			}
		})
	}
}

// prose:on
