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

var drawnProgram = flag.String("linear.program", "", "run this `program` in place of the drawn ones, all of its executions or the one of -interleave.replay")

// drawProgram draws a program and a schedule for it. A schedule may ask for more
// steps than a thread has; so the thread does as many for nothing at its end.
func drawProgram(t *rapid.T, w words) (p program, schedule string) {
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
	var turns []string
	for range rapid.IntRange(0, 8).Draw(t, "turns") {
		th, n := pick("thread", threads), rapid.IntRange(1, 12).Draw(t, "steps")
		turns = append(turns, fmt.Sprintf("%dx%d", th, n))
		idle[th] += n
	}
	if turns == nil {
		turns = []string{"-"}
	}
	for th, n := range idle {
		if n > 0 {
			p.threads[th] = append(p.threads[th], op{"idle", n})
		}
	}
	return p, strings.Join(turns, ",")
}

// drawn runs one execution of each of many programs, drawn together with its
// schedule, so that rapid makes both smaller when its history is not linearizable.
func drawn(t *testing.T, name string, fresh func() subject, w words) {
	t.Helper()
	if *drawnProgram != "" {
		interleave.Check(t, name, bounded(3), explored(fresh, parse(*drawnProgram)))
		return
	}
	rapid.Check(t, func(rt *rapid.T) {
		p, schedule := drawProgram(rt, w)
		f := interleave.Explore(interleave.Options{Replay: schedule}, explored(fresh, p)).Failure
		if f == nil {
			return
		}
		rt.Fatalf("%v\n\nrun it again with\n\tgo test -tags interleave -run '^%s$' ./internal/linear -linear.program='%v' -interleave.replay=%s:%s",
			f, t.Name(), p, name, f.Schedule)
	})
}

// TestDrawnQueue: programs of an mpsc.Queue.
func TestDrawnQueue(t *testing.T) { drawn(t, "drawn-queue", newQueueSubject, queueWords) }

// TestDrawnRing: programs of a ring for each thread, which steal from each other.
func TestDrawnRing(t *testing.T) { drawn(t, "drawn-ring", newRingSubject, ringWords) }

// TestDrawnRunQueue: programs of a run queue for each thread.
func TestDrawnRunQueue(t *testing.T) { drawn(t, "drawn-runqueue", newRunSubject, runWords) }
