package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/bench/chart"
	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

// row returns a row with a spread of 10 % about its value.
func row(name, impl string, workers int, value float64) rows.Row {
	return rows.Row{Row: bench.Row{
		Bench: name, Impl: impl, Workers: workers, Value: value, Unit: bench.NsPerOp, Better: bench.Less,
		Min: value * 0.9, Max: value * 1.1, Runs: 6, Ratios: map[string]float64{"sequential": 2},
	}}
}

// hung returns a row without a value.
func hung(name, impl string, workers int) rows.Row {
	r := rows.Row{Note: "deadlock: not done after 6 s"}
	r.Bench, r.Impl, r.Workers, r.Unit, r.Better = name, impl, workers, bench.NsPerOp, bench.Less
	return r
}

// mixed returns the rows of a comparison: lanewright and peers, values of different orders
// of magnitude, a missing value, notes, and markup in a name.
func mixed() []rows.Row {
	noted := row("fork-join/fib", "goroutines", 2, 757)
	noted.Note = "fib(25)"
	share := row("sched/efficiency-1us", "conc", 2, 0.4)
	share.Unit, share.Better = bench.Share, bench.More
	better := row("sched/efficiency-1us", bench.Lanewright, 2, 0.95)
	better.Unit, better.Better = bench.Share, bench.More
	return []rows.Row{
		row("fork-join/fib", "goroutines", 1, 760), noted,
		hung("fork-join/fib", "pond", 1), hung("fork-join/fib", "pond", 2),
		row("fork-join/fib", "<b>&amp;", 2, 100),
		row("fork-join/fib", bench.Lanewright, 1, 3.6), row("fork-join/fib", bench.Lanewright, 2, 2),
		share, better,
	}
}

// TestGroups checks the order of groups and rows, and that a later row replaces an earlier
// one.
func TestGroups(t *testing.T) {
	all := append(mixed(), row("fork-join/fib", bench.Lanewright, 2, 1.5))
	groups := chart.Groups(all)
	if len(groups) != 2 || groups[0].Bench != "fork-join/fib" || groups[1].Bench != "sched/efficiency-1us" {
		t.Fatalf("groups = %+v", groups)
	}
	if got, want := groups[0].Impls(), []string{bench.Lanewright, "<b>&amp;", "goroutines", "pond"}; !slices.Equal(got, want) {
		t.Errorf("order = %q, want %q: the best first, rows without a value last", got, want)
	}
	if got, want := groups[1].Impls(), []string{bench.Lanewright, "conc"}; !slices.Equal(got, want) {
		t.Errorf("order = %q, want %q: more is better", got, want)
	}
	if got := groups[0].Rows[1]; len(groups[0].Rows) != 7 || got.Workers != 2 || got.Value != 1.5 {
		t.Errorf("%d rows, the second %+v; want 7, and the later one of two equal rows", len(groups[0].Rows), got)
	}
	if !slices.Equal(groups[0].Workers, []int{1, 2}) {
		t.Errorf("workers = %v", groups[0].Workers)
	}
	if got := chart.Groups(nil); len(got) != 0 {
		t.Errorf("groups of no rows = %v", got)
	}
}

// TestSVG checks that each chart is one well-formed element with the expected texts, and has
// no NaN and no infinity.
func TestSVG(t *testing.T) {
	odd := func(value, least, most float64) []rows.Row {
		r := row("b", "x", 1, value)
		r.Min, r.Max = least, most
		return []rows.Row{r, row("b", "y", 1, 5)}
	}
	var many []rows.Row
	for i := range 40 {
		many = append(many, row("b", fmt.Sprintf("library-%d", i), i%4+1, math.Pow(2, float64(i))))
	}
	for _, tc := range []struct {
		name string
		rows []rows.Row
		want []string
		log  bool
	}{
		{"one", []rows.Row{row("fork-join/fib", "x", 1, 4)}, []string{"fork-join/fib", "4 ns", "1 worker<", "ns/op, less is better<"}, false},
		{"mixed", mixed()[:7], []string{
			"757 ns (fib(25))", ">deadlock: not done after 6 s<", "2 workers<", "&lt;b&gt;&amp;amp;", "1 ns<", "10 ns<", "#0B7A75",
		}, true},
		{"markup in the name", []rows.Row{row("<a&b>", "x", 1, 4)}, []string{"&lt;a&amp;b&gt;"}, false},
		{"more is better", mixed()[7:], []string{"0.400", "0.950", "more is better<"}, false},
		{"only deadlocks", []rows.Row{hung("b", "x", 1), hung("b", "y", 1)}, []string{"deadlock", "x<", "y<"}, false},
		{"zero", odd(0, 0, 0), []string{"0 ns", "5 ns"}, false},
		{"least zero", odd(1000, 0, 2000), []string{"1.00 µs", "5 ns"}, false},
		{"negative", odd(-3, -4, 2), []string{"-3 ns", "5 ns"}, false},
		{"all zero", odd(0, 0, 0)[:1], []string{"0 ns"}, false},
		{"100 apart", []rows.Row{row("b", "x", 1, 1), row("b", "y", 1, 80)}, nil, false},
		{"more than 100 apart", []rows.Row{row("b", "x", 1, 1), row("b", "y", 1, 120)}, nil, true},
		{"far apart", odd(1e-3, 1e-3, 1e12), []string{"logarithmic"}, true},
		{"many", many, []string{"library-39", "4 workers<"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			groups := chart.Groups(tc.rows)
			if len(groups) != 1 {
				t.Fatalf("%d groups", len(groups))
			}
			svg, err := chart.SVG(groups[0])
			if err != nil {
				t.Fatal(err)
			}
			for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%v in\n%s", err, svg)
				}
			}
			text := string(svg)
			if !strings.HasPrefix(text, "<svg ") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("not one element, or an invalid number:\n%s", text)
			}
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if got := strings.Contains(text, "logarithmic"); got != tc.log {
				t.Errorf("logarithmic: %t, want %t", got, tc.log)
			}
			if strings.Contains(text, ">-") && tc.name != "negative" {
				t.Errorf("the axis goes below zero:\n%s", text)
			}
			inside(t, svg)
		})
	}
}

var size = regexp.MustCompile(`viewBox="0 0 (\d+) (\d+)"`)

// inside checks that every text begins inside the chart.
func inside(t *testing.T, svg []byte) {
	t.Helper()
	var w, h float64
	if m := size.FindSubmatch(svg); m == nil {
		t.Fatal("no viewBox")
	} else if _, err := fmt.Sscan(string(m[1])+" "+string(m[2]), &w, &h); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`<text x="([^"]+)" y="([^"]+)"`).FindAllSubmatch(svg, -1) {
		var x, y float64
		if _, err := fmt.Sscan(string(m[1])+" "+string(m[2]), &x, &y); err != nil {
			t.Fatal(err)
		}
		if x < 0 || x > w || -y < 0 || -y > h {
			t.Errorf("text at %v, %v of a chart of %v by %v", x, -y, w, h)
		}
	}
}

// reference matches the references of a page to other files.
var reference = regexp.MustCompile(`(?i)https?:|//[a-z]|@import|url\(|src=|<link[^>]*>|<iframe|<object`)

// TestPage checks that the page has every row and no reference to other files.
func TestPage(t *testing.T) {
	var page bytes.Buffer
	if err := chart.Page(&page, chart.Groups(mixed())); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	rest := strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
	rest = strings.Replace(rest, `<link rel="icon" href="data:,">`, "", 1)
	if found := reference.FindAllString(rest, -1); len(found) > 0 {
		t.Errorf("the page refers to other files: %q", found)
	}
	if got := strings.Count(text, "<svg "); got != 2 {
		t.Errorf("%d charts, want 2", got)
	}
	if got := strings.Count(text, "<tr"); got != 2+len(mixed()) {
		t.Errorf("%d rows of tables, want %d", got, 2+len(mixed()))
	}
	if got := strings.Count(text, `<tr class="lanewright">`); got != 3 {
		t.Errorf("%d rows are highlighted, want 3", got)
	}
	for _, want := range []string{"deadlock: not done after 6 s", "&lt;b&gt;&amp;amp;", "sequential 2", `data-sort="757"`, "prefers-color-scheme: dark"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "<b>") {
		t.Error("the markup of a name is not escaped")
	}
	for row := range strings.SplitSeq(text, "<tr>") {
		if n := strings.Count(row, "<td"); n != 0 && n%11 != 0 {
			t.Errorf("%d cells, want 11 a row: %s", n, row)
		}
	}
}
