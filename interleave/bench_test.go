package interleave_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// BenchmarkExplore measures whole executions: one op is one execution.
func BenchmarkExplore(b *testing.B) {
	counter := func(threads, steps int) func(m *interleave.M) {
		return func(m *interleave.M) {
			var x interleave.Int32
			f := func() {
				for range steps {
					x.Add(1)
				}
			}
			for range threads {
				m.Go("t", f)
			}
		}
	}
	programs := []struct {
		name string
		body func(m *interleave.M)
	}{
		{"steps=6/threads=2", counter(2, 3)},
		{"steps=15/threads=3", counter(3, 5)},
		{"steps=40/threads=8", counter(8, 5)},
		{"steps=60/threads=3", counter(3, 20)},
		{"mpsc", mpscProgram(mpscBugs{}, 2)},
		{"mailbox", mailboxProgram(mailboxBugs{}, 1, 2)},
		{"throttle", throttleProgram(throttleBugs{}, 2, 2, 0)},
	}
	options := []struct {
		name string
		o    interleave.Options
	}{
		{"dfs", interleave.Options{Preemptions: interleave.All}},
		{"pct", interleave.Options{Strategy: interleave.PCT}},
		{"random", interleave.Options{Strategy: interleave.Random}},
		{"random/backend=baton", interleave.Options{Strategy: interleave.Random, Backend: interleave.Baton}},
	}
	for _, p := range programs {
		for _, o := range options {
			b.Run("program="+p.name+"/strategy="+o.name, func(b *testing.B) {
				b.ReportAllocs()
				o := o.o
				executions, steps := 0, 0
				for executions < b.N { // one exploration may end before b.N
					o.Executions = b.N - executions
					r := interleave.Explore(o, p.body)
					if r.Failure != nil {
						b.Fatal(r.Failure)
					}
					executions += r.Executions
					steps += r.Steps
				}
				b.ReportMetric(float64(executions)/b.Elapsed().Seconds(), "executions/s")
				b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}

// BenchmarkSearch measures complete searches: one op is one search. It reports the
// executions that were run and those that were abandoned.
func BenchmarkSearch(b *testing.B) {
	programs := []struct {
		name string
		body func(m *interleave.M)
		o    interleave.Options
	}{
		{"readers=8/reduce", readers(8), interleave.Options{Reduce: true}},
		{"independent=8/reduce", independent(8), interleave.Options{Reduce: true}},
		{"lastzero=6/reduce", lastZero(6), interleave.Options{Reduce: true}},
		{"michael-scott=3/reduce", msProgram(msBugs{}, 2, 1, false), interleave.Options{Reduce: true}},
		{"michael-scott=4/reduce", msProgram(msBugs{}, 2, 2, false), interleave.Options{Reduce: true}},
		{"michael-scott=3/preemptions=4", msProgram(msBugs{}, 2, 1, false), interleave.Options{Preemptions: 4}},
		{"philosophers=4/reduce", philosophers(4, oneRight), interleave.Options{Reduce: true}},
		{"philosophers=4/preemptions=4", philosophers(4, oneRight), interleave.Options{Preemptions: 4}},
	}
	for _, p := range programs {
		b.Run("program="+p.name, func(b *testing.B) {
			var r interleave.Result
			executions := 0
			for b.Loop() {
				if r = interleave.Explore(p.o, p.body); !r.Complete {
					b.Fatal(r)
				}
				executions += r.Executions + r.Pruned
			}
			b.ReportMetric(float64(r.Executions), "run")
			b.ReportMetric(float64(r.Pruned), "abandoned")
			b.ReportMetric(float64(executions)/b.Elapsed().Seconds(), "executions/s")
		})
	}
}

// BenchmarkPlain measures a model operation outside an exploration.
func BenchmarkPlain(b *testing.B) {
	b.Run("op=load", func(b *testing.B) {
		var x interleave.Uint32
		for b.Loop() {
			x.Load()
		}
	})
	b.Run("op=cell", func(b *testing.B) {
		var c interleave.Cell[int]
		for b.Loop() {
			c.Set(c.Get() + 1)
		}
	})
}
