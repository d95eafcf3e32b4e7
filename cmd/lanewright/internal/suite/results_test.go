package suite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/bench"
)

var update = flag.Bool("update", false, "rewrite the tables of BENCHMARKS.md from the files in docs/bench")

// resultsTable matches a table of results: a comment with the raw file of each group of
// columns, and the rows up to the next empty line.
var resultsTable = regexp.MustCompile(`(?s)<!-- results: ([^>]+) -->\n.*?\n\n`)

// TestResults checks that the tables of BENCHMARKS.md hold the results of the raw files in
// docs/bench. The columns of a missing file are empty. Z-099.
func TestResults(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	page := filepath.Join(root, "BENCHMARKS.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	want := resultsTable.ReplaceAllFunc(text, func(old []byte) []byte {
		tables++
		names := string(resultsTable.FindSubmatch(old)[1])
		var columns []column
		for name := range strings.SplitSeq(names, ", ") {
			c, err := readColumn(filepath.Join(root, "docs", "bench"), name)
			if err != nil {
				t.Fatal(err)
			}
			columns = append(columns, c)
		}
		return fmt.Appendf(nil, "<!-- results: %s -->\n\n%s\n", names, markdown(columns))
	})
	if tables == 0 {
		t.Fatal("found no table of results")
	}
	if bytes.Equal(text, want) {
		return
	}
	if !*update {
		t.Errorf("the tables of BENCHMARKS.md differ from the raw files; rewrite them with\n\tgo test ./cmd/lanewright/internal/suite -run TestResults -update")
		return
	}
	if err := os.WriteFile(page, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// column is a group of columns: the rows of a raw file.
type column struct {
	name string
	rows []bench.Row
}

// readColumn reads the raw file of name, which is arch-machine. The file need not exist.
func readColumn(dir, name string) (c column, err error) {
	c.name = name
	f, err := os.Open(filepath.Join(dir, "core-linux-"+name+".jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r bench.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return c, fmt.Errorf("%s: %w", f.Name(), err)
		}
		c.rows = append(c.rows, r)
	}
	return c, nil
}

// rowKey identifies a row of a table.
type rowKey struct {
	bench   string
	workers int
}

func (k rowKey) same(r bench.Row) bool { return r.Bench == k.bench && r.Workers == k.workers }

// markdown renders columns as one table with all their rows.
func markdown(columns []column) string {
	var keys []rowKey
	for _, c := range columns {
		for _, r := range c.rows {
			if key := (rowKey{r.Bench, r.Workers}); !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	var b strings.Builder
	b.WriteString("| name | workers |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s: median | p99 | ratio (p99) |", c.name)
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- | --- | --- |", len(columns)) + "\n")
	for _, key := range keys {
		fmt.Fprintf(&b, "| `%s` | %d |", key.bench, key.workers)
		for _, c := range columns {
			if i := slices.IndexFunc(c.rows, key.same); i >= 0 {
				b.WriteString(cells(c.rows[i]))
			} else {
				b.WriteString("  |  |  |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cells renders the three cells of a row.
func cells(r bench.Row) string {
	value := bench.Format(r.Value, r.Unit)
	switch r.Unit {
	case bench.Share:
		value += " of ideal"
	case bench.MsCPU:
		value += " CPU"
	case bench.BytesPerTask:
		value += "/task"
	case bench.BytesPerLane:
		value += "/lane"
	}
	if r.RefusedPerOp != nil {
		value += fmt.Sprintf(", %.3g refused", *r.RefusedPerOp)
	}
	p99 := ""
	if r.P99 != nil {
		p99 = bench.Format(*r.P99, r.Unit)
	}
	var ratios []string
	for name, ratio := range r.Ratios {
		s := fmt.Sprintf("%s %.3g", name, ratio)
		if tail, ok := r.RatiosP99[name]; ok {
			s += fmt.Sprintf(" (%.2g)", tail)
		}
		ratios = append(ratios, s)
	}
	slices.Sort(ratios)
	return fmt.Sprintf(" %s | %s | %s |", value, p99, strings.Join(ratios, ", "))
}
