package chart

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// section is a group on the page.
type section struct {
	ID    string
	Group *Group
	Chart template.HTML
	Lines []tableRow
}

// tableRow is a row of a table.
type tableRow struct {
	Lanewright bool // the row is highlighted
	Cells      []cell
}

// cell is a cell of a table.
type cell struct {
	Text string
	Sort float64 // the key for sorting; 0 for text
	Num  bool
}

// Page writes a page with a chart and a table for each group. The page needs no network and
// loads no other file.
func Page(w io.Writer, groups []*Group) error {
	var sections []section
	for i, g := range groups {
		svg, err := SVG(g)
		if err != nil {
			return err
		}
		s := section{ID: fmt.Sprintf("b%d", i), Group: g, Chart: template.HTML(svg)}
		for _, r := range g.Rows {
			s.Lines = append(s.Lines, tableRow{r.Impl == bench.Lanewright, cells(r)})
		}
		sections = append(sections, s)
	}
	return page.Execute(w, struct {
		Head     []string
		Sections []section
	}{head, sections})
}

// head names the columns of a table.
var head = []string{"library", "workers", "median", "least", "greatest", "note", "runs", "p99", "ratio to", "allocations", "processor time"}

// cells returns the cells of a row in the order of head.
func cells(r rows.Row) []cell {
	number := func(v float64, unit string) cell { return cell{bench.Format(v, unit), v, true} }
	optional := func(v *float64, unit string) cell {
		if v == nil {
			return cell{Num: true}
		}
		return number(*v, unit)
	}
	list := []cell{{Text: r.Impl}, {fmt.Sprint(r.Workers), float64(r.Workers), true}}
	if !r.HasValue() {
		list = append(list, cell{}, cell{}, cell{}, cell{Text: r.Note})
		return append(list, make([]cell, len(head)-len(list))...)
	}
	var ratios []string
	for name, ratio := range rows.Sorted(r.Ratios) {
		ratios = append(ratios, fmt.Sprintf("%s %.3g", name, ratio))
	}
	return append(list,
		number(r.Value, r.Unit), number(r.Min, r.Unit), number(r.Max, r.Unit), cell{Text: r.Note},
		cell{fmt.Sprint(r.Runs), float64(r.Runs), true}, optional(r.P99, r.Unit),
		cell{Text: strings.Join(ratios, ", ")},
		cell{fmt.Sprintf("%.4g", r.AllocsPerOp), r.AllocsPerOp, true}, optional(r.CPUNsPerOp, bench.NsPerOp))
}
