package tour

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/version"
	"github.com/lanewright/lanewright/internal/bench"
	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/pool"
)

// Help is the text of lanewright tour -h.
const Help = `lanewright tour sorts and hashes in three ways, shows the cost of each, makes calls on lanes,
and kills a worker process.

Usage: lanewright tour [flags]

  -quick       one to three rounds instead of five, as time allows: less than 20 s
  -dir path    the directory tree to hash (default: the source of Go, go env GOROOT + /src)
  -workers n   processors for goroutines and for the scheduler (default: all that Go uses)
  -json        print one JSON object a line instead of text

Examples:

  lanewright tour -quick
  lanewright tour -dir ~/projects
  lanewright tour -workers 1 -json

The first part sorts ten million integers with quicksort. It divides each part of the array in two,
and each half is a task of its own, 1,211,202 in all. The second part computes one SHA-256 over all
files of a directory tree. It does not follow links, and it lists the files that it cannot read.

The three ways are one loop (sequential), one goroutine for each task (goroutines), and tasks on the
scheduler (lanewright).

In the third part 64 goroutines make a million typed calls over two lanes, a fifth of that with
-quick. One more call is aborted, one times out, and one panics. The pool is paused and resumed, and
then shut down.

In the fourth part 64 goroutines make 100,000 calls into two worker processes, which run this
program. One of the processes is killed in the middle. Each call has its answer or is lost, and the
sum of the answers shows which. Where the system has no worker processes, one line says so.

The tour checks all results and counts: if one is wrong, the exit code is 1.
`

// tour holds the sizes of a tour. Tests make smaller ones.
type tour struct {
	size  int // integers to sort
	parts int // tasks of the sort
	quick int // rounds with -quick, at most
	full  int // rounds without -quick
	calls int // calls on lanes without -quick; with it a fifth of them

	remote int // calls into worker processes
	open   func(*pool.Handlers, pool.Config) (*pool.Pool, error)
}

// Options are the flags of lanewright tour.
type Options struct {
	Quick, JSON bool
	Dir         string
	Workers     int
	Rounds      int
}

// fullTour is the tour of the command.
var fullTour = tour{size: qsort.Size, parts: qsort.Scheduled, quick: 3, full: 5, calls: 1_000_000, remote: 100_000, open: pool.New}

// Run makes the tour with the options of args.
func Run(ctx context.Context, c *cli.Console, args []string) error { return fullTour.run(ctx, c, args) }

// Parse reads the command line.
func Parse(ctx context.Context, args []string) (Options, error) { return fullTour.parse(ctx, args) }

// Flags returns the flags, which store into o.
func (o *Options) Flags() *flag.FlagSet {
	f := cli.NewFlags("tour")
	f.BoolVar(&o.Quick, "quick", false, "")
	f.BoolVar(&o.JSON, "json", false, "")
	f.StringVar(&o.Dir, "dir", "", "")
	f.IntVar(&o.Workers, "workers", runtime.GOMAXPROCS(0), "")
	return f
}

func (t tour) parse(ctx context.Context, args []string) (Options, error) {
	var o Options
	f := o.Flags()
	if err := cli.Parse(f, args); err != nil {
		return o, err
	}
	if o.Workers < 1 || o.Workers > cli.MaxWorkers {
		return o, cli.Usagef("-workers is %d: it must be between 1 and %d", o.Workers, cli.MaxWorkers)
	}
	o.Rounds = t.full
	if o.Quick {
		o.Rounds = t.quick
	}
	given := false
	f.Visit(func(f *flag.Flag) { given = given || f.Name == "dir" })
	if !given {
		root, err := goRoot(ctx)
		if err != nil {
			return o, cli.Usagef("no Go source to hash (%v); name a directory with -dir", err)
		}
		o.Dir = filepath.Join(root, "src")
	}
	if err := checkDir(o.Dir); err != nil {
		return o, cli.Usagef("-dir: %w", err)
	}
	return o, nil
}

// checkDir returns an error unless dir is a directory that can be read.
func checkDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// goRoot returns GOROOT as the go command reports it. That command is available when
// go run started this program.
func goRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" {
		root = os.Getenv("GOROOT")
	}
	if root == "" {
		return "", cmp.Or(err, errors.New("go env GOROOT is empty"))
	}
	return root, nil
}

func (t tour) run(ctx context.Context, c *cli.Console, args []string) error {
	o, err := t.parse(ctx, args)
	if err != nil {
		return err
	}
	prev := runtime.GOMAXPROCS(o.Workers)
	defer runtime.GOMAXPROCS(prev)
	r := &report{Console: c, Options: o, began: time.Now(), steps: 2*3*o.Rounds + 1 + tourLaneSteps + tourProcessSteps}
	r.printf("%s\n%d workers, and as many processors for goroutines\n", version.Machine(), o.Workers)
	if o.Workers > 1 && !bench.Check(ctx).Free() {
		info := c.Out
		if o.JSON {
			info = c.Err
		}
		cli.Printf(info, "note: no second processor is free, so the comparison means little\n")
	}
	if err := t.tourSort(ctx, r); err != nil {
		return err
	}
	if err := tourHash(ctx, r); err != nil {
		return err
	}
	calls := t.calls
	if o.Quick {
		calls /= 5
	}
	if err := tourLanes(ctx, r, calls); err != nil {
		return err
	}
	if err := tourProcesses(ctx, r, t.remote, t.open); err != nil {
		return err
	}
	c.Bar.Clear()
	r.printf("\nAll results agree. The tour took %.1f s.\n", time.Since(r.began).Seconds())
	return nil
}

// report is the output of a tour.
type report struct {
	*cli.Console
	Options
	began       time.Time
	done, steps int
}

// printf writes text. It does nothing with -json.
func (r *report) printf(format string, args ...any) {
	if r.JSON {
		return
	}
	r.Bar.Clear()
	cli.Printf(r.Out, format, args...)
}

// step draws the bar at the begin of a step.
func (r *report) step(what string) {
	r.Bar.Draw(r.done, r.steps, what)
	r.done++
}

// stage is a part of the tour that is done in several ways.
type stage struct {
	name   string
	ways   []way
	result string // the result of all ways

	// Only for the directory tree.
	files, bytes int64
	unreadable   []string
}

// The names of the ways.
const (
	waySequential = "sequential"
	wayGoroutines = "goroutines"
	wayLanewright = "lanewright"
)

// way is one way to do the work of a stage.
type way struct {
	name string
	run  func(l *lap) error // one run; calls l.start and l.stop around the measured part
	laps []*lap
}

// race runs each way once in a round. Every second round has the reverse order. With
// -quick a second or third round begins only until the tour has taken last.
func (s *stage) race(ctx context.Context, r *report, last time.Duration) error {
	order := make([]*way, len(s.ways))
	for i := range s.ways {
		order[i] = &s.ways[i]
	}
	for round := range r.Rounds {
		if r.Quick && round > 0 && time.Since(r.began) > last {
			break
		}
		for _, w := range order {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			r.step(s.name + ", " + w.name)
			l := new(lap)
			if err := w.run(l); err != nil {
				if cause := context.Cause(ctx); cause != nil {
					return cause
				}
				return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
			}
			w.laps = append(w.laps, l)
		}
		slices.Reverse(order)
	}
	return context.Cause(ctx)
}

// way returns the way of that name.
func (s *stage) way(name string) *way {
	i := slices.IndexFunc(s.ways, func(w way) bool { return w.name == name })
	return &s.ways[i]
}

// ratio returns the time of w divided by that of other: the median over the rounds.
func (w *way) ratio(other *way) float64 {
	return medianOf(w.laps, func(i int, l *lap) float64 { return l.elapsed.Seconds() / other.laps[i].elapsed.Seconds() })
}

// write writes the results of the stage: a table, or a line for each way.
func (s *stage) write(r *report) error {
	if r.JSON {
		for i := range s.ways {
			if err := s.writeJSON(r, &s.ways[i]); err != nil {
				return err
			}
		}
		return nil
	}
	r.Bar.Clear()
	tw := tabwriter.NewWriter(r.Out, 0, 0, 3, ' ', tabwriter.AlignRight)
	rate := ""
	if s.bytes > 0 {
		rate = "MB/s\t"
	}
	memory := "peak memory"
	if !s.ways[0].laps[0].resets {
		memory = "memory at the end" // the system keeps one peak for all ways
	}
	cli.Printf(tw, "\ttime\t%svs sequential\tvs goroutines\tCPU time\t%s\ttasks\tsteals\twakes\t\n", rate, memory)
	for i := range s.ways {
		w := &s.ways[i]
		seconds := w.seconds()
		rate := ""
		if s.bytes > 0 {
			rate = fmt.Sprintf("%.0f\t", float64(s.bytes)/seconds/1e6)
		}
		steals, wakes := "", ""
		if w.name == wayLanewright {
			steals, wakes = thousands(w.steals()), thousands(w.wakes())
		}
		cli.Printf(tw, "  %s\t%.3f s\t%s%.2f\t%.2f\t%s\t%s\t%s\t%s\t%s\t\n", w.name, seconds, rate,
			w.ratio(s.way(waySequential)), w.ratio(s.way(wayGoroutines)), w.cpuText(), w.memoryText(),
			w.tasksText(), steals, wakes)
	}
	return tw.Flush()
}

// tourRow is a line of -json.
type tourRow struct {
	Tour       string             `json:"tour"`
	Impl       string             `json:"impl"`
	Workers    int                `json:"workers"`
	Seconds    float64            `json:"seconds"` // median of the runs
	Min        float64            `json:"min"`
	Max        float64            `json:"max"`
	Runs       int                `json:"runs"`
	Ratios     map[string]float64 `json:"ratios"`
	CPUSeconds *float64           `json:"cpu_seconds,omitempty"` // nil where it is unknown
	PeakBytes  int64              `json:"peak_bytes"`
	Tasks      int64              `json:"tasks"`
	Steals     int64              `json:"steals"`
	Wakes      int64              `json:"wakes"`
	Result     string             `json:"result"`
	Files      int64              `json:"files,omitempty"`
	Bytes      int64              `json:"bytes,omitempty"`
	Unreadable []string           `json:"unreadable,omitempty"`
}

func (s *stage) writeJSON(r *report, w *way) error {
	each := make([]float64, len(w.laps))
	for i, l := range w.laps {
		each[i] = l.elapsed.Seconds()
	}
	row := tourRow{
		Tour: s.name, Impl: w.name, Workers: r.Workers, Runs: len(w.laps),
		Seconds: w.seconds(), Min: slices.Min(each), Max: slices.Max(each),
		Ratios:    map[string]float64{},
		PeakBytes: w.memory(), Tasks: w.tasks(), Steals: w.steals(), Wakes: w.wakes(),
	}
	for i := range s.ways {
		if other := &s.ways[i]; other != w {
			row.Ratios[other.name] = w.ratio(other)
		}
	}
	if cpu, ok := w.cpu(); ok {
		row.CPUSeconds = &cpu
	}
	row.Result, row.Files, row.Bytes, row.Unreadable = s.result, s.files, s.bytes, s.unreadable
	r.Bar.Clear()
	return writeLine(r.Out, row)
}

// writeLine writes a row as one line of JSON.
func writeLine(out io.Writer, row any) error {
	line, err := json.Marshal(row)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// verdict compares the scheduler with goroutines in one sentence.
func (s *stage) verdict() string {
	scheduled, goroutines := s.way(wayLanewright), s.way(wayGoroutines)
	text := fmt.Sprintf("%s: lanewright took %.0f%% of the time that goroutines took, and %.0f%% of that of one loop",
		roundsText(len(scheduled.laps)),
		100*scheduled.ratio(goroutines), 100*scheduled.ratio(s.way(waySequential)))
	a, ok := scheduled.cpu()
	b, _ := goroutines.cpu()
	if ok && b > 0 {
		text += fmt.Sprintf(";\n   it used %.0f%% of the processor time of goroutines", 100*a/b)
	}
	if m := goroutines.memory(); m > 0 {
		text += fmt.Sprintf(" and %.0f%% of their memory", 100*float64(scheduled.memory())/float64(m))
	}
	return text + "."
}

// thousands returns n with commas between groups of three digits.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// roundsText returns the words for figures of n rounds.
func roundsText(n int) string {
	if n == 1 {
		return "One round"
	}
	return fmt.Sprintf("Medians of %d rounds", n)
}
