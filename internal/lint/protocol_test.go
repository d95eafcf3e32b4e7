package lint_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A protocol is a page PROTOCOL.md, or the pages of a folder named protocol.
//
// A claim of a protocol is a bold phrase at the beginning of a paragraph that ends with
// a full stop, or that has more than four words. (A shorter phrase without a full stop
// is the name of a role or of a step.) The table of the protocol has a row for each
// claim:
//
//	| claim | models and tests | mutants |
//	| --- | --- | --- |
//	| No push is missed. | `sched-two-callers`, TestWake | notify-before-the-push |
//
// The first cell is the claim, with or without its full stop. The other cells name
// models, tests and mutants, as their heads say. A name with a star stands for several.
type protocol struct {
	claims []claim
	rows   []tableRow
}

// A claim is a sentence that the protocol promises.
type claim struct{ where, text string }

// A tableRow is a row of the table of claims.
type tableRow struct {
	where  string
	claim  string
	checks []string // models and tests
	bugs   []string // mutants
}

// withoutRow lists claims that no row checks, as they are written, and why. An entry
// that excuses nothing is an error.
var withoutRow = map[string]string{}

var (
	boldStart = regexp.MustCompile(`^\*\*(.+?)\*\*`)
	tableHead = regexp.MustCompile(`(?i)\bmutants?\b`)
)

// read adds the claims and the rows of one page.
func (p *protocol) read(name, text string) (bad []string) {
	var paragraph, head []string
	start, n := 0, 0
	flush := func() {
		if m := boldStart.FindStringSubmatch(strings.Join(paragraph, " ")); m != nil {
			if strings.HasSuffix(m[1], ".") || len(strings.Fields(m[1])) > 4 {
				p.claims = append(p.claims, claim{fmt.Sprintf("%s:%d", name, start), m[1]})
			}
		}
		paragraph = nil
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(line, "|") {
			if head = nil; line == "" {
				flush()
				continue
			}
			if len(paragraph) == 0 {
				start = n
			}
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch {
		case head == nil:
			head = cells
		case !slices.ContainsFunc(head, tableHead.MatchString), strings.Trim(line, "|:- ") == "":
			// another table, or the line below the head
		case len(cells) != len(head):
			bad = append(bad, fmt.Sprintf("%s:%d: the row has %d cells, want %d", name, n, len(cells), len(head)))
		default:
			row := tableRow{where: fmt.Sprintf("%s:%d", name, n), claim: strings.TrimSpace(cells[0])}
			for i, cell := range cells[1:] {
				if tableHead.MatchString(head[i+1]) {
					row.bugs = append(row.bugs, listed(cell)...)
				} else {
					row.checks = append(row.checks, listed(cell)...)
				}
			}
			p.rows = append(p.rows, row)
		}
	}
	flush()
	return bad
}

// listed returns the names in a cell, which commas separate.
func listed(cell string) (names []string) {
	for name := range strings.SplitSeq(cell, ",") {
		if name = strings.Trim(name, " `"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// sameClaim returns the form in which claims are compared: no full stop, lower case,
// no marks of Markdown.
func sameClaim(text string) string {
	text = strings.NewReplacer("*", "", "`", "").Replace(text)
	return strings.ToLower(strings.TrimSuffix(strings.Join(strings.Fields(text), " "), "."))
}

// badProtocol checks that claims and rows agree, and that each name in a row exists.
// used receives the claims that withoutRow excuses.
func badProtocol(p *protocol, models, tests, mutants []string, used map[string]bool) (bad []string) {
	claims, rows := map[string]bool{}, map[string]string{}
	for _, c := range p.claims {
		claims[sameClaim(c.text)] = true
	}
	for _, r := range p.rows {
		key := sameClaim(r.claim)
		if !claims[key] {
			bad = append(bad, fmt.Sprintf("%s: no page has the claim %q in bold", r.where, r.claim))
		}
		rows[key] = r.where
		if len(r.checks) == 0 {
			bad = append(bad, r.where+": the row names no model and no test")
		}
		for _, name := range r.checks {
			if !exists(name, models) && !exists(name, tests) {
				bad = append(bad, fmt.Sprintf("%s: there is no model and no test %s", r.where, name))
			}
		}
		for _, name := range r.bugs {
			if !exists(name, mutants) {
				bad = append(bad, fmt.Sprintf("%s: there is no mutant %s", r.where, name))
			}
		}
	}
	for _, c := range p.claims {
		switch {
		case rows[sameClaim(c.text)] != "":
		case withoutRow[c.text] != "":
			used[c.text] = true
		default:
			bad = append(bad, fmt.Sprintf("%s: the claim %q has no row in the table", c.where, c.text))
		}
	}
	return bad
}

// exists reports whether a name is on the list, or a name with a star matches one.
func exists(name string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool {
		ok, err := path.Match(name, s)
		return ok && err == nil
	})
}

// mutantNames returns the names of all mutants.
func mutantNames(t *testing.T) (names []string) {
	t.Helper()
	lists, err := filepath.Glob(filepath.Join(root, "internal", "mutants", "*.mutants"))
	if err != nil || len(lists) == 0 {
		t.Fatalf("found no lists of mutants: %v", err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "mutant "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// protocolOf returns the protocol that a file is a page of, or "".
func protocolOf(name string) string {
	switch dir := path.Dir(name); {
	case path.Base(name) == "PROTOCOL.md":
		return name
	case path.Ext(name) == ".md" && path.Base(dir) == "protocol":
		return dir
	}
	return ""
}

// TestProtocols checks that each claim of a protocol page has a row in its table, and
// that the models, tests and mutants of each row exist.
func TestProtocols(t *testing.T) {
	protocols := map[string]*protocol{}
	for _, name := range tracked(t) {
		name = filepath.ToSlash(name)
		key := protocolOf(name)
		if key == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if protocols[key] == nil {
			protocols[key] = &protocol{}
		}
		report(t, protocols[key].read(name, string(text)))
	}
	if len(protocols) == 0 {
		t.Fatal("found no protocol page")
	}
	var models []string
	names, _ := modelNames(files(t))
	for _, m := range names {
		models = append(models, m.name)
	}
	tests, mutants := slices.Collect(maps.Keys(testFuncs(t))), mutantNames(t)
	used := map[string]bool{}
	for key, p := range protocols {
		if len(p.claims) == 0 || len(p.rows) == 0 {
			t.Errorf("%s: found %d claims and %d rows", key, len(p.claims), len(p.rows))
		}
		report(t, badProtocol(p, models, tests, mutants, used))
	}
	for text := range withoutRow {
		if !used[text] {
			t.Errorf("withoutRow excuses %q, which is no claim or has a row: remove the entry", text)
		}
	}
}

// TestProtocolsRule tries the rule on pages with one fault each.
func TestProtocolsRule(t *testing.T) {
	const (
		claims = "# A protocol\n\n**Pusher**: the role.\n\n**No task\nis lost.** A push ends\nwith **a store**.\n\n**A parked worker holds no place**, because.\n\n"
		head   = "| claim | models | mutants |\n| --- | --- | --- |\n"
		first  = "| No task is lost. | `model-a`, TestA | mutant-a |\n"
		second = "| a parked worker holds no place | `model-*` | mutant-a, mutant-b |\n"
	)
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"good", claims + head + first + second, 0},
		{"another table", claims + "| word | bits |\n| --- | --- |\n| state | 2 |\n\n" + head + first + second, 0},
		{"no row", claims + head + first, 1},
		{"no table", claims, 2},
		{"no claim", claims + head + first + second + "| Other | model-a | mutant-a |\n", 1},
		{"a part of a claim", claims + head + first + "| a parked worker | model-a | mutant-a |\n", 2},
		{"no model", claims + head + first + strings.Replace(second, "model-*", "model-c", 1), 1},
		{"empty star", claims + head + first + strings.Replace(second, "model-*", "other-*", 1), 1},
		{"no test", claims + head + strings.Replace(first, "TestA", "TestB", 1) + second, 1},
		{"no mutant", claims + head + first + strings.Replace(second, "mutant-b", "mutant-c", 1), 1},
		{"a mutant is no model", claims + head + strings.Replace(first, "TestA", "mutant-a", 1) + second, 1},
		{"no check", claims + head + first + "| a parked worker holds no place | | mutant-a |\n", 1},
		{"cells", claims + head + first + second + "| No task is lost. | model-a |\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p protocol
			bad := p.read("p/PROTOCOL.md", tc.text)
			bad = append(bad, badProtocol(&p, []string{"model-a", "model-b"}, []string{"TestA"}, []string{"mutant-a", "mutant-b"}, nil)...)
			if len(bad) != tc.want {
				t.Errorf("got %d findings %q, want %d", len(bad), bad, tc.want)
			}
		})
	}
	for name, want := range map[string]string{
		"sched/PROTOCOL.md":        "sched/PROTOCOL.md",
		"sched/protocol/README.md": "sched/protocol",
		"sched/protocol/wake.md":   "sched/protocol",
		"docs/README.md":           "",
		"sched/protocol/x.go":      "",
	} {
		if got := protocolOf(name); got != want {
			t.Errorf("%s: got a page of %q, want %q", name, got, want)
		}
	}
}
