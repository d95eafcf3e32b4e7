//go:build interleave

package program_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/interleave"
)

// maxSteps is far more than what any drawn program takes.
const maxSteps = 20_000

// A drawn program can be explored, and read.
type drawn interface {
	fmt.Stringer
	body() func(m *interleave.M)
}

// drawSchedule draws how the executions of a program are picked.
func drawSchedule(t *rapid.T) interleave.Options {
	o := interleave.Options{
		Strategy: rapid.SampledFrom([]interleave.Strategy{interleave.PCT, interleave.PCT, interleave.Random}).Draw(t, "strategy"),
		Seed:     rapid.Uint64().Draw(t, "seed"),
	}
	o.Executions = 1
	if o.Strategy == interleave.PCT {
		o.Depth = rapid.IntRange(1, 5).Draw(t, "depth")
		o.Executions = 2 // the first one tells how long the execution is
	}
	return o
}

// check draws programs and runs each under a schedule that is drawn with it.
//
// Once a program has failed, and while a fail file of rapid is run again, each
// program is also searched for a failure under other schedules, those with few
// preemptions first. A smaller program seldom fails under the schedule of a
// larger one: without the search little would be left out.
func check(t *testing.T, draw func(*rapid.T) drawn) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", "rapid", t.Name(), "*.fail"))
	failed := len(files) > 0 || flag.Lookup("rapid.failfile").Value.String() != ""
	rapid.Check(t, func(rt *rapid.T) {
		p := draw(rt)
		o := drawSchedule(rt)
		f := explore(o, p)
		if f == nil && !failed {
			return
		}
		failed = true
		if g := search(o, p); g != nil {
			f = g
		}
		if f != nil {
			// Rapid wants the same message each time; the steps name addresses.
			rt.Logf("%s\n%s\nrun it again with\n\tgo test -tags interleave -run '^%s$' ./internal/program\nand the -rapid.failfile or -rapid.seed above", f.Trace, f.Stack, t.Name())
			rt.Fatalf("%v\n\n%s\nschedule %s", p, f.Message, f.Schedule)
		}
	})
}

// search looks for a failure with few preemptions, and then for any.
func search(o interleave.Options, p drawn) *interleave.Failure {
	for _, so := range []interleave.Options{
		{Preemptions: 0, Executions: 30},
		{Preemptions: 1, Executions: 150},
		{Strategy: interleave.PCT, Depth: 3, Executions: 60, Seed: o.Seed},
		{Strategy: interleave.Random, Executions: 60, Seed: o.Seed},
	} {
		if f := explore(so, p); f != nil {
			return f
		}
	}
	return nil
}

func explore(o interleave.Options, p drawn) *interleave.Failure {
	o.MaxSteps = maxSteps
	if pr, ok := p.(*program); ok {
		o.Timeouts = pr.failures != 0
	}
	return interleave.Explore(o, p.body()).Failure
}
