package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// requirementIDs are the requirements of the library by letter. The numbers of a letter
// run from 1 to last without a gap.
var requirementIDs = []struct {
	letter string
	last   int
}{
	{"K", 144}, // lanes and mailboxes
	{"C", 46},  // contracts of pool and scheduler
	{"Z", 102}, // scheduler
	{"W", 62},  // execution strategy
	{"B", 97},  // keyed pool
}

// A requirement is a row of docs/REQUIREMENTS.md.
type requirement struct {
	line   int
	id     string
	text   string
	status string
}

// tests returns the tests that the status names. ok reports whether the status has one of
// the forms that the document explains.
func (r requirement) tests() (names []string, ok bool) {
	switch r.status {
	case "open", "not in version 1", "hardware":
		return nil, true
	}
	list, done := strings.CutPrefix(r.status, "done ")
	if !done {
		m := superseded.FindStringSubmatch(r.status)
		if m == nil {
			return nil, false
		}
		if list = m[1]; list == "open" {
			return nil, true
		}
	}
	names = strings.Split(list, ", ")
	for _, name := range names {
		if !testName.MatchString(name) {
			return nil, false
		}
	}
	return names, true
}

var (
	row        = regexp.MustCompile(`^\| ([KCZWB]-\d{3}) \| (.+) \| (.+) \|$`)
	superseded = regexp.MustCompile(`^superseded by .+: (open|[A-Z].*)$`)
	testName   = regexp.MustCompile(`^(Test|Benchmark|Example|Fuzz)\w*$`)
	citedID    = regexp.MustCompile(`\b([KCZWB])-(\d{3})(?: to (?:[KCZWB]-)?(\d{3}))?\b`)
)

// readRequirements returns the rows of the document. A line that begins like a row and
// is none is a finding.
func readRequirements(text string) (rows []requirement, bad []string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if m := row.FindStringSubmatch(line); m != nil {
			rows = append(rows, requirement{line: n, id: m[1], text: m[2], status: m[3]})
		} else if regexp.MustCompile(`^\|\s*[KCZWB]-`).MatchString(line) {
			bad = append(bad, fmt.Sprintf("line %d: want `| ID | text | status |`, got %.60s", n, line))
		}
	}
	return rows, bad
}

// badRequirements checks the document. Each ID has one row, the rows are in order, and
// each status has a known form. The tests of a row exist, and a file of one of them cites
// the ID. cites holds the IDs that the files of each test cite.
func badRequirements(text string, cites map[string]map[string]bool) []string {
	rows, bad := readRequirements(text)
	var want []string
	for _, r := range requirementIDs {
		for i := 1; i <= r.last; i++ {
			want = append(want, fmt.Sprintf("%s-%03d", r.letter, i))
		}
	}
	seen := map[string]int{}
	for _, r := range rows {
		seen[r.id]++
		if !slices.Contains(want, r.id) {
			bad = append(bad, fmt.Sprintf("line %d: there is no requirement %s", r.line, r.id))
		}
		if len(r.text) > 160 {
			bad = append(bad, fmt.Sprintf("line %d: %s is %d bytes long, at most 160", r.line, r.id, len(r.text)))
		}
		tests, ok := r.tests()
		if !ok {
			bad = append(bad, fmt.Sprintf("line %d: %s has the unknown status %q", r.line, r.id, r.status))
		}
		cited := len(tests) == 0
		for _, name := range tests {
			ids, exists := cites[name]
			if !exists {
				bad = append(bad, fmt.Sprintf("line %d: %s: no _test.go file declares %s", r.line, r.id, name))
			}
			cited = cited || !exists || ids[r.id]
		}
		if !cited {
			bad = append(bad, fmt.Sprintf("line %d: %s names %s, and no file of these tests cites %s", r.line, r.id, strings.Join(tests, ", "), r.id))
		}
	}
	for _, id := range want {
		if seen[id] != 1 {
			bad = append(bad, fmt.Sprintf("%s has %d rows, want 1", id, seen[id]))
		}
	}
	if len(bad) == 0 && !slices.EqualFunc(rows, want, func(r requirement, id string) bool { return r.id == id }) {
		bad = append(bad, "the rows are not in order")
	}
	return bad
}

// citations returns the IDs that a text cites. "Z-021 to Z-030" cites ten.
func citations(text string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range citedID.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[2]) // three digits
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		for i := first; i <= last; i++ {
			ids[fmt.Sprintf("%s-%03d", m[1], i)] = true
		}
	}
	return ids
}

// TestRequirements checks that docs/REQUIREMENTS.md has each requirement once, and that
// a requirement with the status "done" names a test that exists and cites it.
func TestRequirements(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "REQUIREMENTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	cites := map[string]map[string]bool{}
	for name, sources := range testFuncs(t) {
		cites[name] = map[string]bool{}
		for _, s := range sources {
			maps.Copy(cites[name], citations(strings.Join(s.lines, "\n")))
		}
	}
	for _, b := range badRequirements(string(text), cites) {
		t.Errorf("docs/REQUIREMENTS.md: %s", b)
	}
	rows, _ := readRequirements(string(text))
	count := map[string]int{}
	for _, r := range rows {
		word, _, _ := strings.Cut(r.status, " ")
		count[word]++
	}
	t.Logf("%d requirements: %v", len(rows), count)
}

// TestRequirementsRule tries the rule on documents with one fault each.
func TestRequirementsRule(t *testing.T) {
	var good strings.Builder
	for _, r := range requirementIDs {
		for i := 1; i <= r.last; i++ {
			fmt.Fprintf(&good, "| %s-%03d | Says something. | open |\n", r.letter, i)
		}
	}
	cites := map[string]map[string]bool{
		"TestA":  {"Z-001": true},
		"TestB":  {},
		"FuzzC":  {"Z-001": true},
		"helper": {"Z-001": true},
	}
	with := func(old, replacement string) string {
		if !strings.Contains(good.String(), old) {
			t.Fatalf("the document has no %q", old)
		}
		return strings.Replace(good.String(), old, replacement, 1)
	}
	const z1 = "| Z-001 | Says something. | open |\n"
	status := func(s string) string { return with(z1, "| Z-001 | Says something. | "+s+" |\n") }
	for _, tc := range []struct {
		name string
		text string
		want int
	}{
		{"good", good.String(), 0},
		{"done", status("done TestA"), 0},
		{"done by two, one cites it", status("done TestB, TestA"), 0},
		{"done by a fuzz target", status("done FuzzC"), 0},
		{"done, not cited", status("done TestB"), 1},
		{"done by nothing", status("done"), 1},
		{"no such test", status("done TestZ"), 1},
		{"not a test", status("done helper"), 1},
		{"superseded", status("superseded by something else: TestA"), 0},
		{"superseded, open", status("superseded by something else: open"), 0},
		{"superseded by nothing", status("superseded"), 1},
		{"not in version 1", status("not in version 1"), 0},
		{"hardware", status("hardware"), 0},
		{"unknown status", status("soon"), 1},
		{"missing", with(z1, ""), 1},
		{"twice", with(z1, z1+z1), 1},
		{"unknown", with(z1, z1+strings.Replace(z1, "001", "777", 1)), 1},
		{"out of order", with(z1, "") + z1, 1},
		{"broken row", with(z1, z1+"| Z-001 says something\n"), 1},
		{"too long", with("Says something.", strings.Repeat("says ", 50)), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := badRequirements(tc.text, cites); len(got) != tc.want {
				t.Errorf("got %d findings %q, want %d", len(got), got, tc.want)
			}
		})
	}
	if got := len(citations("Z-021 to Z-030, K-001 and C-045")); got != 12 {
		t.Errorf("got %d citations, want 12", got)
	}
}
