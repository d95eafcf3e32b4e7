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

// maxSteps is chosen as far more steps than any generated program takes.
const maxSteps = 20_000

// A generated program can be explored and printed.
type generated interface {
	fmt.Stringer
	body() func(m *interleave.M)
}

// generateSchedule generates how the explorer picks the executions of a program.
func generateSchedule(t *rapid.T) interleave.Options {
	o := interleave.Options{
		Strategy: rapid.SampledFrom([]interleave.Strategy{interleave.PCT, interleave.PCT, interleave.Random}).Draw(t, "strategy"),
		Seed:     rapid.Uint64().Draw(t, "seed"),
	}
	o.Executions = 1
	if o.Strategy == interleave.PCT {
		o.Depth = rapid.IntRange(1, 5).Draw(t, "depth")
		o.Executions = 2 // the first execution measures its length
	}
	return o
}

// check generates programs and runs each under a schedule that is generated with it.
//
// After the first failure, and while rapid runs a fail file again, check also searches
// each program for a failure under other schedules, those with few preemptions first. A
// smaller program seldom fails under the schedule of a larger one, so that rapid could
// shrink little without the search.
func check(t *testing.T, generate func(*rapid.T) generated) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", "rapid", t.Name(), "*.fail"))
	failed := len(files) > 0 || flag.Lookup("rapid.failfile").Value.String() != ""
	rapid.Check(t, func(rt *rapid.T) {
		p := generate(rt)
		o := generateSchedule(rt)
		f := explore(o, p)
		if f == nil && !failed {
			return
		}
		failed = true
		if g := search(o, p); g != nil {
			f = g
		}
		if f != nil {
			// Rapid needs the same message each time, and the steps contain addresses.
			rt.Logf("%s\n%s\nrun it again with\n\tgo test -tags interleave -run '^%s$' ./internal/program\nand the -rapid.failfile or -rapid.seed above", f.Trace, f.Stack, t.Name())
			rt.Fatalf("%v\n\n%s\nschedule %s", p, f.Message, f.Schedule)
		}
	})
}

// search searches for a failure with few preemptions, and then for any failure.
func search(o interleave.Options, p generated) *interleave.Failure {
	for _, so := range []interleave.Options{
		{Preemptions: interleave.None, Executions: 30},
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

func explore(o interleave.Options, p generated) *interleave.Failure {
	o.MaxSteps = maxSteps
	if pr, ok := p.(*program); ok {
		o.Timeouts = pr.failures != 0
	}
	return interleave.Explore(o, p.body()).Failure
}
