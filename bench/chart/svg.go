package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/lanewright/lanewright/internal/bench"
)

// Sizes of a chart, in points: the unit of vg.Length.
const (
	width     vg.Length = 640
	barHeight vg.Length = 11
	frame     vg.Length = 85 // height of the title, the axis and its label
	fontSize            = 9
)

var (
	ink            = color.NRGBA{0x24, 0x29, 0x2f, 0xff}
	grid           = color.NRGBA{0xdd, 0xdf, 0xe3, 0xff}
	alarm          = color.NRGBA{0xb4, 0x23, 0x18, 0xff}
	lanewrightFull = color.NRGBA{0x0b, 0x7a, 0x75, 0xff}
	peerFull       = color.NRGBA{0x5b, 0x6b, 0x8c, 0xff}
)

// shade returns the colour of an implementation for number i of n numbers of workers. More
// workers have a darker colour.
func shade(impl string, i, n int) color.Color {
	full := peerFull
	if impl == bench.Lanewright {
		full = lanewrightFull
	}
	share := 0.45 + 0.55*float64(i+1)/float64(n)
	mix := func(c uint8) uint8 { return uint8(255 - share*float64(255-c)) }
	return color.NRGBA{mix(full.R), mix(full.G), mix(full.B), 0xff}
}

// fonts sets the font of all plots: one without serifs.
var fonts = sync.OnceFunc(func() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
})

// SVG returns the chart of a group as one element without references to other files.
func SVG(g *Group) ([]byte, error) {
	fonts()
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text = g.Bench
	p.Title.TextStyle.Font.Size = 13
	p.Title.Padding = 6
	p.Y.LineStyle.Width = 0
	p.Y.Tick.LineStyle.Width = 0
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = fontSize, fontSize
	p.X.Label.TextStyle.Font.Size, p.Legend.TextStyle.Font.Size = fontSize, fontSize
	p.Legend.Padding, p.Legend.ThumbnailWidth = 3, 14
	p.Legend.Top = g.Better != bench.More // next to the short bars
	lines := plotter.NewGrid()
	lines.Horizontal.Width = 0
	lines.Vertical.Color = grid
	p.Add(lines, &bars{g})
	g.scale(p)
	for i, w := range g.Workers {
		unit := "workers"
		if w == 1 {
			unit = "worker"
		}
		p.Legend.Add(fmt.Sprintf("%d %s", w, unit), patch{shade("", i, len(g.Workers))})
	}
	canvas := vgsvg.New(width, frame+barHeight*vg.Length(g.lines()))
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("chart: %s: %w", g.Bench, err)
	}
	return clean(out.String(), g), nil
}

// lines returns the height of the chart in bars: one for each implementation and number of
// workers, and one between implementations.
func (g *Group) lines() int { return len(g.Impls()) * (len(g.Workers) + 1) }

// scale sets up the axes. An implementation has height 1, and the first one is on top.
func (g *Group) scale(p *plot.Plot) {
	impls := g.Impls()
	var names plot.ConstantTicks
	for i, impl := range impls {
		names = append(names, plot.Tick{Value: float64(len(impls) - 1 - i), Label: impl})
	}
	p.Y.Tick.Marker = names
	p.Y.Min, p.Y.Max = -0.5, float64(len(impls))-0.5

	direction := "less is better"
	if g.Better == bench.More {
		direction = "more is better"
	}
	lo, hi, log := g.span()
	if log {
		p.X.Scale = plot.LogScale{}
		p.X.Min, p.X.Max = lo/2, hi*math.Pow(hi/lo, 0.35)
		direction += ", logarithmic"
	} else {
		p.X.Min, p.X.Max = min(lo, 0), max(hi, 0)*1.3
		if p.X.Max <= p.X.Min {
			p.X.Max = p.X.Min + 1 // the chart has notes only
		}
	}
	p.X.Tick.Marker = ticks{unit: g.Unit, log: log}
	p.X.Label.Text = g.Unit + ", " + direction
}

// ticks labels an axis in the unit of the values.
type ticks struct {
	unit string
	log  bool
}

// Ticks implements [plot.Ticker].
func (t ticks) Ticks(lo, hi float64) []plot.Tick {
	if !t.log {
		return t.label(plot.DefaultTicks{}.Ticks(lo, hi))
	}
	var all []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for m := 1.0; m < 10; m++ {
			if v := m * math.Pow(10, e); v >= lo && v <= hi {
				tick := plot.Tick{Value: v}
				if m == 1 {
					tick.Label = "1"
				}
				all = append(all, tick)
			}
		}
	}
	return t.label(all)
}

// label gives the major ticks a value with its unit.
func (t ticks) label(all []plot.Tick) []plot.Tick {
	for i, tick := range all {
		if tick.Label != "" {
			all[i].Label = zeros.ReplaceAllString(bench.Format(tick.Value, t.unit), "$1")
		}
	}
	return all
}

// zeros matches a whole number with zeros behind the point.
var zeros = regexp.MustCompile(`^(-?\d+)\.0+\b`)

// patch is the coloured rectangle of a number of workers in the legend.
type patch struct{ color.Color }

// Thumbnail implements [plot.Thumbnailer].
func (t patch) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(t.Color, []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}})
}

var (
	familyName = regexp.MustCompile(`font-family:[^;"]*`)
	linkSpace  = regexp.MustCompile(`\s+xmlns:xlink="[^"]*"`)
)

// clean turns a document into an element. It removes the head of the document, adds a name
// for screen readers, and names fonts that other machines have.
func clean(text string, g *Group) []byte {
	text = text[strings.Index(text, "<svg"):]
	text = linkSpace.ReplaceAllString(text, "")
	text = familyName.ReplaceAllString(text, "font-family:Liberation Sans,Arial,Helvetica,sans-serif")
	name := html.EscapeString("Bar chart of " + g.Bench)
	return []byte(strings.Replace(text, "<svg", `<svg role="img" aria-label="`+name+`"`, 1))
}
