package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

// bars draws the rows of a group. A row with a value has a bar from the axis to the value,
// a line from the least to the greatest run, and the value as text. A row without a
// value has its note.
type bars struct{ g *Group }

// Plot implements [plot.Plotter].
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	impls := b.g.Impls()
	toX, toY := p.Transforms(&c)
	n := len(b.g.Workers)
	for _, r := range b.g.Rows {
		i := slices.Index(b.g.Workers, r.Workers)
		middle := toY(float64(len(impls) - 1 - slices.Index(impls, r.Impl)))
		y := middle + barHeight*vg.Length(float64(n-1)/2-float64(i))
		if !r.HasValue() {
			label(c, vg.Point{X: c.Min.X + 4, Y: y}, r.Note, alarm)
			continue
		}
		x := func(v float64) vg.Length { return toX(min(max(v, p.X.Min), p.X.Max)) }
		bar(c, x(max(0, p.X.Min)), x(r.Value), y, shade(r.Impl, i, n))
		spread(c, x(r.Min), x(r.Max), y)
		label(c, vg.Point{X: max(x(r.Max), x(r.Value)) + 5, Y: y}, valueText(r), ink)
	}
}

// valueText returns the value of a row and its note as text.
func valueText(r rows.Row) string {
	text := bench.Format(r.Value, r.Unit)
	if r.Note != "" {
		text += " (" + r.Note + ")"
	}
	return text
}

// bar draws the bar of a value.
func bar(c draw.Canvas, from, to, y vg.Length, fill color.Color) {
	h := barHeight * 0.42
	c.FillPolygon(fill, []vg.Point{{X: from, Y: y - h}, {X: from, Y: y + h}, {X: to, Y: y + h}, {X: to, Y: y - h}})
}

// spread draws an error bar.
func spread(c draw.Canvas, from, to, y vg.Length) {
	style := draw.LineStyle{Color: ink, Width: 0.8}
	const half = 2.5
	c.StrokeLine2(style, from, y, to, y)
	c.StrokeLine2(style, from, y-half, from, y+half)
	c.StrokeLine2(style, to, y-half, to, y+half)
}

// label draws a text.
func label(c draw.Canvas, at vg.Point, label string, ink color.Color) {
	c.FillText(text.Style{
		Color: ink, Font: font.From(plot.DefaultFont, fontSize-1),
		YAlign: text.YCenter, Handler: plot.DefaultTextHandler,
	}, at, label)
}
