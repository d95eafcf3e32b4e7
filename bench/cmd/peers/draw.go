package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/lanewright/lanewright/bench/chart"
	"github.com/lanewright/lanewright/bench/rows"
)

// draw writes the page and the charts. The file of a chart has the name of the benchmark:
// that of fork-join/fib is fork-join-fib.svg.
func draw(o options, all []rows.Row) error {
	groups := chart.Groups(all)
	if o.html != "" {
		var page bytes.Buffer
		if err := chart.Page(&page, groups); err != nil {
			return err
		}
		if err := os.WriteFile(o.html, page.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if o.svg == "" {
		return nil
	}
	if err := os.MkdirAll(o.svg, 0o755); err != nil {
		return err
	}
	for _, g := range groups {
		svg, err := chart.SVG(g)
		if err != nil {
			return err
		}
		name := strings.ReplaceAll(g.Bench, "/", "-") + ".svg"
		if err := os.WriteFile(filepath.Join(o.svg, name), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}
