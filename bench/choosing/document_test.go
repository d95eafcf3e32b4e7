package choosing

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

const (
	document = "../../docs/CHOOSING.md"
	result   = "../../docs/bench/choosing-linux-amd64-epyc2.txt"
)

var update = flag.Bool("update", false, "write the tables of docs/CHOOSING.md from the raw result")

// tables returns the tables of a raw result by the name of their benchmark.
func tables(raw string) map[string]string {
	all := map[string]string{}
	name := ""
	for line := range strings.Lines(raw) {
		line = strings.TrimSpace(line)
		if m := regexp.MustCompile(`^Benchmark(\S+?)(-\d+)?\s`).FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if strings.HasPrefix(line, "|") {
			all[name] += line + "\n"
		}
	}
	return all
}

// TestDocument: each table of docs/CHOOSING.md is that of the raw result, and each table
// of the raw result is in the document. A comment before the table names it.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	want := tables(string(raw))
	table := regexp.MustCompile(`(<!-- choosing: (\S+) -->\n\n)((?:\|.*\n)*)`)
	written := table.ReplaceAllStringFunc(string(text), func(s string) string {
		m := table.FindStringSubmatch(s)
		if want[m[2]] == "" {
			t.Errorf("%s has the table %s, and %s has not", document, m[2], result)
			return s
		}
		if m[3] != want[m[2]] && !*update {
			t.Errorf("the table %s differs from %s: run this test with -update", m[2], result)
		}
		s = m[1] + want[m[2]]
		delete(want, m[2])
		return s
	})
	for name := range want {
		t.Errorf("%s has no comment for the table %s", document, name)
	}
	if *update {
		if err := os.WriteFile(document, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
