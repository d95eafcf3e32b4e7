//go:build interleave

package sched_test

import (
	"context"
	"errors"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/sched"
)

// TestModelRun: the context of a Run may end at any moment, also while a signal for the Run is
// in flight, and no task is stranded. The Run is the only worker until the Spawner is called.
func TestModelRun(t *testing.T) {
	interleave.Check(t, "sched-run", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a := md.task("a", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() {
			if err := md.s.Run(ctx); !errors.Is(err, context.Canceled) {
				m.Fatalf("Run = %v", err)
			}
		})
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			cancel()
		})
	})
}

// TestModelRunSignal: the context of a Run ends between the CAS of a waker and its wake token,
// and the Run passes the signal on.
func TestModelRunSignal(t *testing.T) {
	interleave.Check(t, "sched-run-signal", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a := md.task("a", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
		m.Go("cancel", func() {
			var step atomix.Bool
			step.Load() // a step, so that the end may occur at any time
			cancel()
		})
	})
}

// TestModelRunLeaves: a Run that found no free place is the only counted worker when its context
// ends, and no task is stranded.
func TestModelRunLeaves(t *testing.T) {
	interleave.Check(t, "sched-run-leaves", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		a, b := md.task("a", nil), md.task("b", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(b))
			cancel()
		})
	})
}

// TestModelRunBlocks: the context of a Run ends while its callback blocks, and no task is
// stranded.
func TestModelRunBlocks(t *testing.T) {
	interleave.Check(t, "sched-run-blocks", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)); w.Blocking(func() {}) })
		c := md.task("c", nil)
		ctx, cancel := context.WithCancel(context.Background())
		m.Go("run", func() { _ = md.s.Run(ctx) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			cancel()
			md.must(md.s.Schedule(c))
		})
	})
}
