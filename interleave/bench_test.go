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
		{"steps=15/threads=3", counter(3, 5)},
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
