package lint_test

import (
	"bufio"
	"fmt"
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
// A claim of a protocol is a bold phrase that ends with a full stop. A bold phrase of
// more than four words at the beginning of a paragraph or of an item is one as well. (A
// shorter phrase without a full stop is the name of a role or of a step.) The table of the
// protocol has a row for each claim:
//
//	| claim | models and tests | mutants |
//	| --- | --- | --- |
//	| No push is missed. | `sched-two-callers`, TestWake | notify-before-push |
//
// The first cell is the claim, with or without its full stop. The head of each other cell
// states whether it names models and tests, or mutants. A name with a star stands for
// several. The test that kills a mutant of the row is one of the row, or explores a model
// of the row.
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
	bold      = regexp.MustCompile(`\*\*(.+?)\*\*`)
	itemMark  = regexp.MustCompile(`^(?:[-*]|\d+\.)\s+`)
	tableHead = regexp.MustCompile(`(?i)\bmutants?\b`)
)

// read adds the claims and the rows of one page.
func (p *protocol) read(name, text string) (bad []string) {
	var paragraph, head []string
	start, n := 0, 0
	flush := func() {
		text := strings.Join(paragraph, " ")
		for _, m := range bold.FindAllStringSubmatchIndex(text, -1) {
			phrase := text[m[2]:m[3]]
			if strings.HasSuffix(phrase, ".") || m[0] == 0 && len(strings.Fields(phrase)) > 4 {
				p.claims = append(p.claims, claim{fmt.Sprintf("%s:%d", name, start), phrase})
			}
		}
		paragraph = nil
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(line, "|") {
			mark := itemMark.FindString(line)
			if head = nil; line == "" || mark != "" {
				flush()
			}
			if len(paragraph) == 0 {
				start = n
			}
			if line != "" {
				paragraph = append(paragraph, line[len(mark):])
			}
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

// A testID is a test function and the directory that declares it.
type testID struct{ dir, name string }

// known holds the names that rows may use.
type known struct {
	models  map[string][]testID // the tests that explore a model
	tests   map[string][]testID
	mutants map[string]killer
}

// A killer holds the tests that find a mutant.
type killer struct {
	dir   string
	names *regexp.Regexp
}

// kills reports whether one of the tests is a killer.
func (k killer) kills(tests []testID) bool {
	return slices.ContainsFunc(tests, func(id testID) bool { return id.dir == k.dir && k.names.MatchString(id.name) })
}

// badProtocol checks that claims and rows agree, that each name in a row exists, and that
// the row has the tests that kill its mutants. used receives the claims that withoutRow
// excuses.
func badProtocol(p *protocol, k known, used map[string]bool) (bad []string) {
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
		if len(r.bugs) == 0 {
			bad = append(bad, r.where+": the row names no mutant")
		}
		var tests []testID
		for _, name := range r.checks {
			found := slices.Concat(slices.Concat(matches(name, k.models)...), slices.Concat(matches(name, k.tests)...))
			if tests = append(tests, found...); len(found) == 0 {
				bad = append(bad, fmt.Sprintf("%s: there is no model and no test %s", r.where, name))
			}
		}
		for _, name := range r.bugs {
			found := matches(name, k.mutants)
			if len(found) == 0 {
				bad = append(bad, fmt.Sprintf("%s: there is no mutant %s", r.where, name))
			}
			for _, killer := range found {
				if len(tests) > 0 && !killer.kills(tests) {
					bad = append(bad, fmt.Sprintf("%s: the mutant %s is killed by %s of %s, which is no test of the row", r.where, name, killer.names, killer.dir))
				}
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

// matches returns the values of the keys that a name, with stars or without, matches.
func matches[V any](name string, m map[string]V) (values []V) {
	for key, v := range m {
		if ok, err := path.Match(name, key); ok && err == nil {
			values = append(values, v)
		}
	}
	return values
}

var mutantTest = regexp.MustCompile(`^test\s+\./(\S+) .*-run (\S+)`)

// readMutants returns the mutants of the repository and the tests that kill them.
func readMutants(t *testing.T) map[string]killer {
	t.Helper()
	mutants, last := map[string]killer{}, ""
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
				last = strings.TrimSpace(name)
			} else if m := mutantTest.FindStringSubmatch(line); m != nil {
				names, err := regexp.Compile(m[2]) // as go test does
				if err != nil {
					t.Fatalf("%s: the mutant %s: %v", list, last, err)
				}
				mutants[last] = killer{m[1], names}
			}
		}
	}
	return mutants
}

// readNames returns the models, tests and mutants of the repository.
func readNames(t *testing.T) known {
	t.Helper()
	k := known{map[string][]testID{}, map[string][]testID{}, readMutants(t)}
	for name, sources := range testFuncs(t) {
		for _, s := range sources {
			k.tests[name] = append(k.tests[name], testID{s.dir, name})
		}
	}
	names, _ := modelNames(files(t))
	for _, m := range names {
		k.models[m.name] = append(k.models[m.name], testID{m.in.dir, enclosing(m.in, m.lit)})
	}
	return k
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

// TestProtocols checks that each claim of a protocol page has a row in its table, that
// the models, tests and mutants of each row exist, and that these tests kill these mutants.
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
	names, used := readNames(t), map[string]bool{}
	for key, p := range protocols {
		if len(p.claims) == 0 || len(p.rows) == 0 {
			t.Errorf("%s: found %d claims and %d rows", key, len(p.claims), len(p.rows))
		}
		report(t, badProtocol(p, names, used))
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
	names := known{
		models: map[string][]testID{"model-a": {{"p", "TestModelA"}}, "model-b": {{"p", "TestModelB"}}},
		tests:  map[string][]testID{"TestA": {{"p", "TestA"}}},
		mutants: map[string]killer{
			"mutant-a": {"p", regexp.MustCompile("^TestModelA$")}, "mutant-b": {"p", regexp.MustCompile("^(?:TestX|TestModelB)$")},
			"mutant-c": {"q", regexp.MustCompile("^TestModelA$")}, "mutant-d": {"p", regexp.MustCompile("^TestA$")},
		},
	}
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"good", claims + head + first + second, 0},
		{"another table", claims + "| word | bits |\n| --- | --- |\n| state | 2 |\n\n" + head + first + second, 0},
		{"claim in an item", "1. **A third claim.** Why.\n2. **A fourth claim.**\n\n" + claims + head + first + second, 2},
		{"claim in a paragraph", "It holds that **no worker waits.** Why.\n\n" + claims + head + first + second, 1},
		{"no row", claims + head + first, 1},
		{"no table", claims, 2},
		{"no claim", claims + head + first + second + "| Other | model-a | mutant-a |\n", 1},
		{"a part of a claim", claims + head + first + "| a parked worker | model-a | mutant-a |\n", 2},
		{"no model", claims + head + first + strings.Replace(second, "model-*", "model-c, model-*", 1), 1},
		{"empty star", claims + head + first + strings.Replace(second, "model-*", "other-*, model-*", 1), 1},
		{"no test", claims + head + strings.Replace(first, "TestA", "TestB", 1) + second, 1},
		{"no mutant", claims + head + first + strings.Replace(second, "mutant-b", "mutant-x", 1), 1},
		{"mutant of a test", claims + head + strings.Replace(first, "mutant-a", "mutant-d", 1) + second, 0},
		{"mutant of another row", claims + head + strings.Replace(first, "mutant-a", "mutant-b", 1) + second, 1},
		{"mutant of another package", claims + head + strings.Replace(first, "mutant-a", "mutant-c", 1) + second, 1},
		{"a mutant is no model", claims + head + strings.Replace(first, "TestA", "mutant-a", 1) + second, 1},
		{"no check", claims + head + first + "| a parked worker holds no place | | mutant-a |\n", 1},
		{"no bug", claims + head + first + "| a parked worker holds no place | model-a | |\n", 1},
		{"cells", claims + head + first + second + "| No task is lost. | model-a |\n", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p protocol
			bad := p.read("p/PROTOCOL.md", tc.text)
			bad = append(bad, badProtocol(&p, names, nil)...)
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
