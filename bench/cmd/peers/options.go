package main

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lanewright/lanewright/bench/peers"
	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

const maxWorkers = 1024

// options are the flags, and the workloads and peers that they name.
type options struct {
	list, json bool
	lanewright bool // measure lanewright too
	runs       int
	workers    []int
	html, svg  string
	in, with   []string
	only       []string // empty: all
	chosen     []*peers.Workload
	unmatched  []string // names of -only without a workload: lanewright may have them
	peers      []*peers.Peer
}

func parse(args []string) (options, error) {
	var o options
	var only, names, workers string
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&o.list, "list", false, "")
	f.BoolVar(&o.json, "json", false, "")
	f.BoolVar(&o.lanewright, "ours", true, "")
	f.IntVar(&o.runs, "runs", 6, "")
	f.StringVar(&only, "only", "", "")
	f.StringVar(&names, "peers", "", "")
	f.StringVar(&workers, "workers", "1,2", "")
	f.StringVar(&o.html, "html", "", "")
	f.StringVar(&o.svg, "svg", "", "")
	f.Func("in", "", func(name string) error {
		o.in = append(o.in, name)
		return nil
	})
	f.Func("with", "", func(name string) error {
		o.with = append(o.with, name)
		return nil
	})
	for left := args; ; { // -in takes all names up to the next flag
		if err := f.Parse(left); errors.Is(err, flag.ErrHelp) {
			return o, err
		} else if err != nil {
			return o, usageError{err}
		}
		if left = f.Args(); len(left) == 0 {
			break
		}
		if len(o.in) == 0 {
			return o, usagef("unexpected argument %q", left[0])
		}
		o.in = append(o.in, left[0])
		left = left[1:]
	}
	if o.runs < 1 || o.runs > 10_000 {
		return o, usagef("-runs is %d: it must be between 1 and 10000", o.runs)
	}
	if len(o.in)+len(o.with) > 0 && o.html == "" && o.svg == "" {
		return o, usagef("-in and -with need a file for the charts: -html FILE or -svg DIR")
	}
	for _, field := range list(workers) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > maxWorkers {
			return o, usagef("-workers holds %q: it must be a list of numbers between 1 and %d, as in -workers 1,2", field, maxWorkers)
		}
		o.workers = append(o.workers, n)
	}
	return o, o.choose(list(only), list(names))
}

// list returns the fields of a list with commas. Each field occurs once.
func list(text string) []string {
	var fields []string
	for field := range strings.SplitSeq(text, ",") {
		if field = strings.TrimSpace(field); field != "" && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// choose finds workloads and peers by their names. With -in the names are not checked,
// because files may have rows with other names.
func (o *options) choose(only, names []string) error {
	o.only = only
	o.chosen = peers.Suite(peers.Full())
	o.peers = peers.All()
	if len(only) > 0 && len(o.in) == 0 {
		all := o.chosen
		o.chosen = nil
		for _, name := range only {
			found := false
			for _, w := range all {
				if !bench.Chooses(name, w.Name) {
					continue
				}
				found = true
				if !slices.Contains(o.chosen, w) {
					o.chosen = append(o.chosen, w)
				}
			}
			if !found {
				o.unmatched = append(o.unmatched, name)
			}
		}
	}
	if len(names) > 0 {
		o.peers = nil
		o.lanewright = slices.Contains(names, bench.Lanewright)
		for _, name := range names {
			p := peers.Find(name)
			if p == nil && name != bench.Lanewright {
				return unknown("-peers", name)
			}
			if p != nil {
				o.peers = append(o.peers, p)
			}
		}
	}
	return nil
}

func unknown(option, name string) error {
	return usagef("%s names %q, which does not exist; -list prints the names", option, name)
}

// names reports whether -only names a benchmark.
func (o *options) names(workload string) bool {
	return slices.ContainsFunc(o.only, func(name string) bool { return bench.Chooses(name, workload) })
}

// read returns the rows of files. With -only it returns the rows with these names.
func (o *options) read(files []string) ([]rows.Row, error) {
	var all []rows.Row
	for _, name := range files {
		some, err := rows.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return slices.DeleteFunc(all, func(r rows.Row) bool { return len(o.only) > 0 && !o.names(r.Bench) }), nil
}
