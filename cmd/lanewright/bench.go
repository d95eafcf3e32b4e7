package main

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

	"github.com/lanewright/lanewright/internal/bench"
)

const benchHelp = `lanewright bench measures every figure of BENCHMARKS.md on this machine.

Usage: lanewright bench [flags]

  -list           print the names of the benchmarks, and do nothing else
  -only a,b       run these benchmarks only
  -workers 1,2    run each with these numbers of workers (default 1,2)
  -runs n         measure each variant n times (default 6), after one run to warm up
  -json           print one JSON object a line instead of a table
  -native         build the programs of bench/native, in C++ and Rust, and run them as well
  -peers          build the program of bench/ and measure other Go libraries with it as well
  -html FILE      write a page with a chart and a table for each benchmark, by the same program

Examples:

  lanewright bench                                    everything, a table; some ten minutes
  lanewright bench -only sched/yield,sched/chain      two of them
  lanewright bench -only sched/quicksort -runs 20     one of them, thoroughly
  lanewright bench -json > results.jsonl              for a program to read

A row is a benchmark with a number of workers w. The scheduler has w workers and Go may use w
processors (GOMAXPROCS), which callers outside the scheduler share; the references get the same w.
A figure is the median of the runs. A ratio is our time over that of a reference which does the same
work in the same process, taken run by run, so less is better:

  goroutines   one goroutine a task
  gosched      one goroutine that calls runtime.Gosched
  sequential   the same work in one loop
  ideal        the work divided among w goroutines beforehand
  channel      workers that receive from a channel; for lanes, a goroutine that answers over a pair
  loop         the least that the same loop can do
  lane/call    that benchmark, on the same pool

Processor time is that of the whole process. Round trips and wake-ups are p50 and p99, without
what it costs to read the clock.

Each run starts with a calibration: the same loop on one processor and on two. It says so when the
second one was not free. With -json it goes to the standard error.
`

const (
	defaultRuns = 6
	maxWorkers  = 1024 // of -workers: more than any machine that this was tried on
)

// benchOptions are the flags of bench, and what they ask for.
type benchOptions struct {
	json, list  bool
	native      bool
	peers       bool
	html        string
	runs        int
	onlyText    string
	workersText string
	workers     []int
	chosen      []*bench.Benchmark
}

func (o *benchOptions) flags() *flag.FlagSet {
	f := newFlags("bench")
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.list, "list", false, "")
	f.BoolVar(&o.native, "native", false, "")
	f.BoolVar(&o.peers, "peers", false, "")
	f.StringVar(&o.html, "html", "", "")
	f.IntVar(&o.runs, "runs", defaultRuns, "")
	f.StringVar(&o.onlyText, "only", "", "")
	f.StringVar(&o.workersText, "workers", "1,2", "")
	return f
}

func parseBench(args []string, all []*bench.Benchmark) (benchOptions, error) {
	var o benchOptions
	f := o.flags()
	if err := parse(f, args); err != nil {
		return o, err
	}
	if o.runs < 1 || o.runs > 10_000 {
		return o, usagef("-runs is %d: it must be between 1 and 10000", o.runs)
	}
	for field := range strings.SplitSeq(o.workersText, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > maxWorkers {
			return o, usagef("-workers holds %q: it must be a list of numbers between 1 and %d, as in -workers 1,2", field, maxWorkers)
		}
		if !slices.Contains(o.workers, n) {
			o.workers = append(o.workers, n)
		}
	}
	given := false
	f.Visit(func(f *flag.Flag) { given = given || f.Name == "only" })
	if !given {
		o.chosen = all
		return o, nil
	}
	for name := range strings.SplitSeq(o.onlyText, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(all, func(b *bench.Benchmark) bool { return b.Name == name })
		if i < 0 {
			return o, usagef("-only names %q, which does not exist; lanewright bench -list prints what there is", name)
		}
		if !slices.Contains(o.chosen, all[i]) {
			o.chosen = append(o.chosen, all[i])
		}
	}
	return o, nil
}

func runBench(ctx context.Context, c *console, args []string) error {
	return runSuite(ctx, c, args, suite(fullSizes))
}

// runSuite is runBench with a list of benchmarks.
func runSuite(ctx context.Context, c *console, args []string, all []*bench.Benchmark) error {
	o, err := parseBench(args, all)
	if err != nil {
		return err
	}
	if o.list {
		for _, b := range o.chosen {
			say(c.out, "%s\n", b.Name)
		}
		return nil
	}
	if o.html != "" {
		if err := checkPage(o.html); err != nil {
			return err
		}
	}
	var others *peers
	if o.peers || o.html != "" {
		if others, err = buildPeers(ctx); err != nil { // first: it takes a checkout
			return err
		}
		defer others.remove()
	}
	info := c.out
	if o.json {
		info = c.err
	}
	say(info, "%s\n%s\n", machine(), bench.Calibrate(ctx))
	for _, w := range o.workers {
		if n := runtime.NumCPU(); w > n {
			say(info, "note: %d workers share %d processors here\n", w, n)
		}
	}
	results, busy, err := measure(ctx, c, o)
	c.bar.clear()
	if !o.json && len(results) > 0 {
		say(c.out, "\n")
		err = errors.Join(err, bench.WriteTable(c.out, results))
		say(c.out, "\nA ratio is our time over that of the reference, taken pair by pair: less is better.\n")
	}
	var rows bytes.Buffer // for the page
	for _, res := range results {
		err = errors.Join(err, res.Row.WriteJSON(&rows))
	}
	if o.native && ctx.Err() == nil {
		err = errors.Join(err, measureNative(ctx, c, o, &rows))
	}
	if others != nil && ctx.Err() == nil {
		err = errors.Join(err, others.run(ctx, c, o, rows.Bytes()))
	}
	if len(busy) > 0 {
		say(info, "\nwarning: the second processor was not free before %s\n", strings.Join(busy, ", "))
	}
	return err
}

// checkPage checks that the file can be written. It leaves no file behind that was
// not there.
func checkPage(file string) error {
	_, missing := os.Stat(file)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return usagef("-html: %w", err)
	}
	err = f.Close()
	if missing != nil {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// measureNative runs the programs of bench/native that know the chosen benchmarks, and
// writes their rows to lines too.
func measureNative(ctx context.Context, c *console, o benchOptions, lines io.Writer) error {
	var rows []nativeRow
	n := native{workers: o.workers, runs: o.runs, c: c, row: func(line string, r nativeRow) error {
		if o.json {
			c.bar.clear()
			say(c.out, "%s\n", line)
		}
		rows = append(rows, r)
		say(lines, "%s\n", line)
		return nil
	}}
	for _, b := range o.chosen {
		n.names = append(n.names, b.Name)
	}
	err := n.run(ctx)
	if !o.json && len(rows) > 0 {
		say(c.out, "\n")
		err = errors.Join(err, writeNative(c.out, rows))
	}
	return err
}

// measure runs the chosen benchmarks. A benchmark that fails does not keep the
// others from running. It also returns the names of those before which no second
// processor was free.
func measure(ctx context.Context, c *console, o benchOptions) (results []bench.Result, busy []string, err error) {
	turns := o.runs + 1
	total := len(o.chosen) * len(o.workers) * turns
	failed := 0
	for i, b := range o.chosen {
		for k, w := range o.workers {
			if w < b.MinWorkers {
				continue
			}
			if w > 1 && runtime.NumCPU() > 1 && !bench.Check(ctx).Free() && !slices.Contains(busy, b.Name) {
				busy = append(busy, b.Name)
			}
			done := (i*len(o.workers) + k) * turns
			what := fmt.Sprintf("%s, %d workers", b.Name, w)
			c.bar.draw(done, total, what)
			res, e := b.Measure(ctx, w, o.runs, func() { done++; c.bar.draw(done, total, what) })
			switch {
			case ctx.Err() != nil:
				return results, busy, context.Cause(ctx)
			case e != nil:
				c.bar.clear()
				say(c.err, "failed: %s\n", oneLine(e))
				failed++
				continue
			}
			results = append(results, res)
			if o.json {
				c.bar.clear()
				if e := res.Row.WriteJSON(c.out); e != nil {
					return results, busy, e
				}
			}
		}
	}
	if failed > 0 {
		err = fmt.Errorf("%d of %d measurements failed", failed, len(o.chosen)*len(o.workers))
	}
	return results, busy, err
}
