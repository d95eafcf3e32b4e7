package suite

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/external"
	"github.com/lanewright/lanewright/cmd/lanewright/internal/version"
	"github.com/lanewright/lanewright/internal/bench"
)

// Help is the text of lanewright bench -h.
const Help = `lanewright bench measures every figure of BENCHMARKS.md on this machine.

Usage: lanewright bench [flags]

  -list           print the names of the benchmarks and measure nothing
  -only a,b       run these benchmarks only; a name that ends in a slash stands for all below it
  -workers 1,2    run each with these numbers of workers (default 1,2)
  -runs n         measure each variant n times (default 6), after one run to warm up
  -json           print one JSON object a line instead of a table
  -native         build the programs of bench/native, in C++ and Rust, and run them as well
  -peers          build the program of bench/ and measure other Go libraries with it as well
  -html FILE      write a page with a chart and a table for each benchmark, with that program

Examples:

  lanewright bench                                    everything, a table; some ten minutes
  lanewright bench -only sched/yield,sched/chain      two of them
  lanewright bench -only sched/quicksort -runs 20     one of them, thoroughly
  lanewright bench -only process/                     all of the calls into worker processes
  lanewright bench -json > results.jsonl              for a program to read

A row is a benchmark with w workers. The scheduler has w workers, and Go uses at most w processors
(GOMAXPROCS). External callers share these processors, and the references get the same w. A figure
is the median of the runs. A ratio is the time of lanewright over that of a reference in the same
process, taken run by run, so less is better. Each reference does the same work:

  goroutines   one goroutine for each task
  gosched      one goroutine that calls runtime.Gosched
  sequential   the same work in one loop
  ideal        the work divided among w goroutines beforehand
  channel      workers that receive from a channel; for lanes, a goroutine with a pair of channels
  loop         the same loop over one atomic flag
  concurrency  the same calls on one lane that runs as many calls at once
  socket       another process of this program, over a blocking stream with one write a message
  spin-limit   two processes that spin on two words of shared memory
  handler      the computation of the handler, without a call
  a/b          the benchmark of that name, in the same process

Processor time is that of the whole process. Round trips and wake-ups are p50 and p99; the cost of
reading the clock is subtracted. lane/web also has the refusals for each answered call.

The program starts with a calibration: the same loop on one processor and on two. It reports a
second processor that is not free. With -json the calibration goes to the standard error.
`

const defaultRuns = 6

// Options are the flags of lanewright bench, and the benchmarks that they choose.
type Options struct {
	JSON, List    bool
	Native, Peers bool
	Page          string // the file of -html
	Runs          int
	Workers       []int
	Chosen        []*bench.Benchmark

	only, workers string // the texts of -only and -workers
}

// Flags returns the flags, which store into o.
func (o *Options) Flags() *flag.FlagSet {
	f := cli.NewFlags("bench")
	f.BoolVar(&o.JSON, "json", false, "")
	f.BoolVar(&o.List, "list", false, "")
	f.BoolVar(&o.Native, "native", false, "")
	f.BoolVar(&o.Peers, "peers", false, "")
	f.StringVar(&o.Page, "html", "", "")
	f.IntVar(&o.Runs, "runs", defaultRuns, "")
	f.StringVar(&o.only, "only", "", "")
	f.StringVar(&o.workers, "workers", "1,2", "")
	return f
}

// Parse reads the command line. all holds the benchmarks that -only can name.
func Parse(args []string, all []*bench.Benchmark) (Options, error) {
	var o Options
	f := o.Flags()
	if err := cli.Parse(f, args); err != nil {
		return o, err
	}
	if o.Runs < 1 || o.Runs > 10_000 {
		return o, cli.Usagef("-runs is %d: it must be between 1 and 10000", o.Runs)
	}
	for field := range strings.SplitSeq(o.workers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > cli.MaxWorkers {
			return o, cli.Usagef("-workers holds %q: it must be a list of numbers between 1 and %d, as in -workers 1,2", field, cli.MaxWorkers)
		}
		if !slices.Contains(o.Workers, n) {
			o.Workers = append(o.Workers, n)
		}
	}
	given := false
	f.Visit(func(f *flag.Flag) { given = given || f.Name == "only" })
	if !given {
		o.Chosen = all
		return o, nil
	}
	for name := range strings.SplitSeq(o.only, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, b := range all {
			if !bench.Chooses(name, b.Name) {
				continue
			}
			found = true
			if !slices.Contains(o.Chosen, b) {
				o.Chosen = append(o.Chosen, b)
			}
		}
		if !found {
			return o, cli.Usagef("-only names %q, which does not exist; lanewright bench -list prints the names", name)
		}
	}
	return o, nil
}

// Run measures the benchmarks that args choose and prints the results.
func Run(ctx context.Context, c *cli.Console, args []string) error {
	return run(ctx, c, args, Benchmarks())
}

// run is Run with another list of benchmarks.
func run(ctx context.Context, c *cli.Console, args []string, all []*bench.Benchmark) error {
	o, err := Parse(args, all)
	if err != nil {
		return err
	}
	if o.List {
		for _, b := range o.Chosen {
			cli.Printf(c.Out, "%s\n", b.Name)
		}
		return nil
	}
	if o.Page != "" {
		if err := checkPage(o.Page); err != nil {
			return err
		}
	}
	var peers *external.Peers
	if o.Peers || o.Page != "" {
		if peers, err = external.BuildPeers(ctx); err != nil { // before any measurement: it fails without a checkout
			return err
		}
		defer peers.Remove()
	}
	info := c.Out // for notes and warnings
	if o.JSON {
		info = c.Err
	}
	cli.Printf(info, "%s\n%s\n", version.Machine(), bench.Calibrate(ctx))
	for _, w := range o.Workers {
		if n := runtime.NumCPU(); w > n {
			cli.Printf(info, "note: %d workers share %d processors here\n", w, n)
		}
	}
	results, busy, err := measure(ctx, c, o)
	c.Bar.Clear()
	if !o.JSON && len(results) > 0 {
		cli.Printf(c.Out, "\n")
		err = errors.Join(err, bench.WriteTable(c.Out, results))
		cli.Printf(c.Out, "\nA ratio is the time of lanewright over that of the reference, taken run by run: less is better.\n")
	}
	var rows bytes.Buffer // for the page
	for _, res := range results {
		err = errors.Join(err, res.Row.WriteJSON(&rows))
	}
	if o.Native && ctx.Err() == nil {
		err = errors.Join(err, measureNative(ctx, c, o, &rows))
	}
	if peers != nil && ctx.Err() == nil {
		err = errors.Join(err, peers.Run(ctx, c, o.request(), rows.Bytes()))
	}
	if len(busy) > 0 {
		cli.Printf(info, "\nwarning: the second processor was not free before %s\n", strings.Join(busy, ", "))
	}
	return err
}

// request returns the request to the program of the peers. It names each benchmark, because that program knows no names
// that end in a slash.
func (o *Options) request() external.Request {
	var names []string
	if o.only != "" {
		for _, b := range o.Chosen {
			names = append(names, b.Name)
		}
	}
	return external.Request{Measure: o.Peers, Only: strings.Join(names, ","), Workers: o.Workers, Runs: o.Runs, JSON: o.JSON, Page: o.Page}
}

// checkPage returns an error unless the file of the page can be written. A file that
// did not exist does not exist afterwards.
func checkPage(file string) error {
	_, missing := os.Stat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return cli.Usagef("-html: %w", err)
	}
	err = f.Close()
	if missing != nil {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// measureNative runs the programs of bench/native that have one of the chosen
// benchmarks. It prints their rows and also writes them to lines.
func measureNative(ctx context.Context, c *cli.Console, o Options, lines io.Writer) error {
	var rows []external.Row
	n := external.Native{Workers: o.Workers, Runs: o.Runs, Console: c, Row: func(line string, r external.Row) error {
		if o.JSON {
			c.Bar.Clear()
			cli.Printf(c.Out, "%s\n", line)
		}
		rows = append(rows, r)
		cli.Printf(lines, "%s\n", line)
		return nil
	}}
	for _, b := range o.Chosen {
		n.Names = append(n.Names, b.Name)
	}
	err := n.Run(ctx)
	if !o.JSON && len(rows) > 0 {
		cli.Printf(c.Out, "\n")
		err = errors.Join(err, external.WriteRows(c.Out, rows))
	}
	return err
}

// measure runs the chosen benchmarks, the remaining ones also after a failure. busy
// holds the names of the benchmarks before which no second processor was free.
func measure(ctx context.Context, c *cli.Console, o Options) (results []bench.Result, busy []string, err error) {
	steps := o.Runs + 1 // with the run to warm up
	total := len(o.Chosen) * len(o.Workers) * steps
	failed := 0
	for i, b := range o.Chosen {
		for k, w := range o.Workers {
			if w < b.MinWorkers {
				continue
			}
			if w > 1 && runtime.NumCPU() > 1 && !bench.Check(ctx).Free() && !slices.Contains(busy, b.Name) {
				busy = append(busy, b.Name)
			}
			done := (i*len(o.Workers) + k) * steps
			what := fmt.Sprintf("%s, %d workers", b.Name, w)
			c.Bar.Draw(done, total, what)
			res, e := b.Measure(ctx, w, o.Runs, func() { done++; c.Bar.Draw(done, total, what) })
			switch {
			case ctx.Err() != nil:
				return results, busy, context.Cause(ctx)
			case errors.Is(e, errors.ErrUnsupported):
				c.Bar.Clear()
				cli.Printf(c.Err, "skipped: %s\n", cli.OneLine(e))
				continue
			case e != nil:
				c.Bar.Clear()
				cli.Printf(c.Err, "failed: %s\n", cli.OneLine(e))
				failed++
				continue
			}
			results = append(results, res)
			if o.JSON {
				c.Bar.Clear()
				if e := res.Row.WriteJSON(c.Out); e != nil {
					return results, busy, e
				}
			}
		}
	}
	if failed > 0 {
		err = fmt.Errorf("%d of %d measurements failed", failed, len(o.Chosen)*len(o.Workers))
	}
	return results, busy, err
}
