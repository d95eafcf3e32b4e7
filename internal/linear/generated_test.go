//go:build interleave

package linear_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/interleave"
)

var programFlag = flag.String("linear.program", "", "run this `program` instead of the generated ones: all of its executions, or the one of -interleave.replay")

// generateProgram generates a program and a schedule. The schedule may name more steps
// than a thread has, so each thread does as many idle steps at its end.
func generateProgram(t *rapid.T, w words) (p program, schedule string) {
	pick := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
	threads := rapid.IntRange(2, 3).Draw(t, "threads")
	for range rapid.IntRange(0, capacity).Draw(t, "setup") {
		p.setup = append(p.setup, op{"push", -1})
	}
	for th := range threads {
		var ops []op
		for range rapid.IntRange(0, 4).Draw(t, "words") {
			ops = append(ops, w.ops(th, threads, pick)...)
		}
		p.threads = append(p.threads, ops)
	}
	idle := make([]int, threads)
	var entries []string
	for range rapid.IntRange(0, 8).Draw(t, "turns") {
		th, n := pick("thread", threads), rapid.IntRange(1, 12).Draw(t, "steps")
		entries = append(entries, fmt.Sprintf("%dx%d", th, n))
		idle[th] += n
	}
	if entries == nil {
		entries = []string{"-"}
	}
	for th, n := range idle {
		if n > 0 {
			p.threads[th] = append(p.threads[th], op{"idle", n})
		}
	}
	return p, strings.Join(entries, ",")
}

// generated runs one execution of each of many programs, each generated together with
// its schedule. When a history is not linearizable, rapid shrinks both.
func generated(t *testing.T, name string, fresh func() subject, w words) {
	t.Helper()
	if *programFlag != "" {
		interleave.Check(t, name, bounded(3), explored(fresh, parse(*programFlag)))
		return
	}
	rapid.Check(t, func(rt *rapid.T) {
		p, schedule := generateProgram(rt, w)
		f := interleave.Explore(interleave.Options{Replay: schedule}, explored(fresh, p)).Failure
		if f == nil {
			return
		}
		rt.Fatalf("%v\n\nrun it again with\n\tgo test -tags interleave -run '^%s$' ./internal/linear -linear.program='%v' -interleave.replay=%s:%s",
			f, t.Name(), p, name, f.Schedule)
	})
}

// TestGeneratedQueue checks generated programs of an mpsc.Queue.
func TestGeneratedQueue(t *testing.T) { generated(t, "generated-queue", newQueueSubject, queueWords) }

// TestGeneratedRing checks generated programs of rings, one of each thread, that steal
// from each other.
func TestGeneratedRing(t *testing.T) { generated(t, "generated-ring", newRingSubject, ringWords) }

// TestGeneratedRunQueue checks generated programs of run queues, one of each thread.
func TestGeneratedRunQueue(t *testing.T) { generated(t, "generated-runqueue", newRunSubject, runWords) }
