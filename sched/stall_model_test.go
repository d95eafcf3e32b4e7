//go:build interleave

package sched_test

import (
	"context"
	"testing"
	"time"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// In these models the time StallAfter may pass at any step. A worker may therefore be marked as
// stalled at each step between a probe and the moment when it clears the probe.

// stallOptions explores all schedules with the given number of preemptions, and all timeouts.
func stallOptions(preemptions int) interleave.Options {
	return interleave.Options{Preemptions: preemptions, Timeouts: true}
}

// newStallModel returns a model whose scheduler has a stall monitor.
func newStallModel(m *interleave.M, workers, failures int) *model {
	return newModelOf(m, sched.Config{MaxWorkers: workers, StallAfter: time.Hour}, failures)
}

// checkPlaces adds the law of [sched.Scheduler.CheckPlaces]: in the end each place is free or
// a spare one, and there are as many of both as there should be.
func (md *model) checkPlaces() {
	md.m.Final(func() {
		if bad := md.s.CheckPlaces(); bad != "" {
			md.m.Fatalf("%s", bad)
		}
	})
}

// gate returns two functions. wait blocks outside Worker.Blocking until open has been called.
func gate() (open func(*sched.Worker), wait func()) {
	s := new(park.Sema)
	s.Init(1)
	return func(*sched.Worker) { s.Post() }, s.Wait
}

// TestModelStall checks that a queued task runs although the only place is stalled. The
// callback there waits for that task, which it has queued itself, or which an external caller
// queues while it blocks.
func TestModelStall(t *testing.T) {
	interleave.Check(t, "sched-stall-own-task", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		b := md.task("b", post)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			wait()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-external-task", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		begin, began := gate()
		a, b := md.task("a", func(w *sched.Worker) { begin(w); wait() }), md.task("b", post)
		m.Go("caller", func() {
			md.must(md.s.Schedule(a))
			began()
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelStallDo checks that a task runs for which the callback of a Do waits, although the
// worker that is started for the task may first find no free place.
func TestModelStallDo(t *testing.T) {
	interleave.Check(t, "sched-stall-do", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		a, b := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post)
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("caller", func() { md.must(md.s.Schedule(b)) })
	})
}

// TestModelStallEnds checks that no place and no count is lost when a worker is marked as
// stalled while its callback ends, or during the search that follows.
func TestModelStallEnds(t *testing.T) {
	interleave.Check(t, "sched-stall-ends", stallOptions(2), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)) })
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-do-ends", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)) })
		m.Go("do", func() {
			md.must(md.s.Do(a))
			md.must(md.s.Do(c))
		})
	})
}

// TestModelStallNoFreePlace checks that a worker that finds no free place starts the stall
// monitor. The worker was started for a task that the first Do has run itself, and the monitor
// has ended. A push relies on that worker while the second Do stalls in the only place.
func TestModelStallNoFreePlace(t *testing.T) {
	interleave.Check(t, "sched-stall-no-free-place", stallOptions(interleave.None), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		begin, began := gate()
		post, wait := gate()
		a, x, b := md.task("a", nil), md.task("x", nil), md.task("b", post)
		c := md.task("c", func(w *sched.Worker) { begin(w); wait() })
		m.Go("do", func() {
			md.must(md.s.Do(a, x))
			md.must(md.s.Do(c))
		})
		m.Go("caller", func() {
			began()
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelStallSearches checks that the waking worker passes on the waking state when it is
// marked as stalled during a search that finds no task. A worker is woken for later tasks.
func TestModelStallSearches(t *testing.T) {
	interleave.Check(t, "sched-stall-searches", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		done, ended := gate()
		post, wait := gate()
		a, x, b, c := md.task("a", nil), md.task("x", nil), md.task("b", post), md.task("c", nil)
		m.Go("do", func() {
			md.must(md.s.Do(a, x))
			done(nil)
		})
		m.Go("caller", func() {
			ended()
			md.must(md.s.Schedule(b))
			wait()
			md.must(md.s.Schedule(c))
		})
	})
}

// TestModelStallBlocks checks that a callback that may be stalled can call Worker.Blocking and
// wait for a group.
func TestModelStallBlocks(t *testing.T) {
	interleave.Check(t, "sched-stall-blocks", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		b, c := md.task("b", post), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			w.Blocking(wait)
			md.must(w.Schedule(c))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-waits", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		b, c := md.task("b", post), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			var g sched.Group
			md.must(w.Schedule(b))
			wait()
			md.must(g.Schedule(w, c))
			md.must(w.Wait(&g))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelStallGroup checks that Wait returns after all tasks of a group, although they are
// counted at a stalled place and at the place that replaced it.
func TestModelStallGroup(t *testing.T) {
	interleave.Check(t, "sched-stall-group", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		g := md.s.NewGroup(sched.GroupConfig{})
		post, wait := gate()
		b, c := md.task("b", post), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(g.Schedule(w, b))
			wait()
			md.must(g.Schedule(w, c))
		})
		m.Go("caller", func() {
			md.must(g.Schedule(nil, a))
			md.must(g.Wait())
			if *md.ran["a"] != 1 || *md.ran["b"] != 1 || *md.ran["c"] != 1 {
				m.Fatalf("Wait returned before the tasks had run")
			}
		})
	})
}

// TestModelStallShutdown checks that Shutdown returns after the queued tasks have run,
// although a callback is stalled until one of them has run.
func TestModelStallShutdown(t *testing.T) {
	checkAndDraw(t, "sched-stall-shutdown", stallOptions(interleave.None), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		post, wait := gate()
		b := md.task("b", post)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			wait()
		})
		m.Go("closer", func() {
			md.must(md.s.Schedule(a))
			md.must(md.s.Shutdown(context.Background()))
			if *md.ran["b"] != 1 {
				m.Fatalf("Shutdown returned before its tasks had run")
			}
		})
	})
}

// TestModelStallClose checks that Close at any step of a stall loses no task. Close and Join
// return the tasks that have not run, and Join returns after the stalled callback.
func TestModelStallClose(t *testing.T) {
	interleave.Check(t, "sched-stall-close", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		post, wait := gate()
		accepted, ran, ended := 1, 0, 0
		b := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
		a := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			ran++
			if w.Schedule(b) == nil {
				accepted++
			}
			wait()
			ended++
		}}
		m.Go("closer", func() {
			md.must(md.s.Schedule(a))
			now, err := md.s.Close()
			md.must(err)
			post(nil)
			later, err := md.s.Join(context.Background())
			md.must(err)
			if n := len(now) + len(later); ran+n != accepted || ran > 0 && ended != 1 {
				m.Fatalf("%d tasks were accepted, %d ran, %d were returned; %d callbacks have ended", accepted, ran, n, ended)
			}
		})
	})
}

// TestModelStallSpawnFails checks that the stall monitor notifies again when no worker could
// be started at first for a task that is queued behind a stalled worker.
func TestModelStallSpawnFails(t *testing.T) {
	interleave.Check(t, "sched-stall-spawn-fails", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 1)
		post, wait := gate()
		a, b := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post)
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("caller", func() { md.mustQueue(md.s.Schedule(b)) })
	})
}

// TestModelStallTwice checks that a queued task runs when the worker that replaced a stalled
// one stalls as well.
func TestModelStallTwice(t *testing.T) {
	interleave.Check(t, "sched-stall-twice", stallOptions(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		again, waitAgain := gate()
		c := md.task("c", func(w *sched.Worker) { post(w); again(w) })
		b := md.task("b", func(*sched.Worker) { waitAgain() })
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b, c))
			wait()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
}

// TestModelStallAfterCallerLeft checks that a stall is noticed at a place whose occupancy word
// a caller worker has left behind. The monitor probes and looks at any step of the caller
// worker and of the worker that follows. The fault needs two preemptions, and there are too
// many such schedules to explore all, so the strategy is PCT.
func TestModelStallAfterCallerLeft(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Timeouts: true, Depth: 6, Executions: 40_000}
	interleave.Check(t, "sched-stall-caller-left", o, func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.checkPlaces()
		post, wait := gate()
		a, b, c := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post), md.task("c", nil)
		m.Go("do", func() { md.must(md.s.Do(c)) })
		m.Go("caller", func() { md.must(md.s.Schedule(a, b)) })
	})
}

// TestModelStallShutdownWoken checks that Shutdown does not wait for the next round of the stall
// monitor. The monitor makes a place and then does not need it. That place looks held for a
// moment, and the monitor wakes Shutdown when it has become a spare one. The monitor of this
// model makes one round only, so without that wake-up Shutdown would wait for ever.
func TestModelStallShutdownWoken(t *testing.T) {
	interleave.Check(t, "sched-stall-shutdown-woken", interleave.Options{Preemptions: 2, Budget: 5 * time.Second}, func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.s.SetStallMonitorRuns()
		probed, look := gate()
		a, b := md.task("a", func(w *sched.Worker) { md.s.ProbeAll(); probed(w) }), md.task("b", nil)
		m.Go("closer", func() {
			md.must(md.s.Schedule(a, b))
			md.must(md.s.Shutdown(context.Background()))
		})
		m.Go("stall monitor", func() { look(); md.s.ReplaceStalled() })
	})
}

// TestModelStallDrain checks that the tasks that the stall monitor moves away from a stalled
// place are run before Shutdown returns, and are returned by Close or Join. They are in no
// queue for a moment. The callback may end meanwhile.
func TestModelStallDrain(t *testing.T) {
	begin := func(m *interleave.M) (md *model, a *sched.Task) {
		md = newStallModel(m, 1, 0)
		md.s.SetStallMonitorRuns()
		marked, look := gate()
		b := md.task("b", nil)
		a = md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			md.s.ProbeAll()
			md.s.ReplaceStalled()
			marked(w)
		})
		m.GoDaemon("stall monitor", func() { look(); md.s.DrainStalled() })
		return md, a
	}
	interleave.Check(t, "sched-stall-drain-shutdown", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md, a := begin(m)
		m.Go("closer", func() {
			md.must(md.s.Schedule(a))
			md.must(md.s.Shutdown(context.Background()))
			if *md.ran["b"] != 1 {
				m.Fatalf("Shutdown returned before its tasks had run")
			}
		})
	})
}

// TestModelStallMove checks that a task runs that the holder of a stalled place moves when it
// returns the place, although a worker may search in the moment in which the task is in no
// queue. The first model has no monitor that would notify later.
func TestModelStallMove(t *testing.T) {
	program := func(monitor bool) func(m *interleave.M) {
		return func(m *interleave.M) {
			md := newStallModel(m, 1, 0)
			if !monitor {
				md.s.SetStallMonitorRuns()
			}
			b := md.task("b", nil)
			a := md.task("a", func(w *sched.Worker) {
				md.must(w.Schedule(b))
				md.s.ProbeAll()
				md.s.ReplaceStalled()
			})
			m.Go("do", func() { md.must(md.s.Do(a)) })
		}
	}
	interleave.Check(t, "sched-stall-move", stallOptions(1), program(false))
	interleave.Check(t, "sched-stall-move-monitor", stallOptions(1), program(true))
}

// TestModelStallRejoins checks that a task runs whose push relied on a worker that is marked as
// stalled and ends before the monitor has subtracted it from the count. The monitor of this
// model makes one round, so it notifies after the subtraction or never.
func TestModelStallRejoins(t *testing.T) {
	interleave.Check(t, "sched-stall-rejoins", bounded(), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.s.SetStallMonitorRuns()
		probed, look := gate()
		a, b := md.task("a", func(w *sched.Worker) { md.s.ProbeAll(); probed(w) }), md.task("b", nil)
		m.Go("caller", func() { md.must(md.s.Schedule(a)); md.must(md.s.Schedule(b)) })
		m.Go("stall monitor", func() { look(); md.s.ReplaceStalled() })
	})
}

// TestModelStallWait checks that a Wait ends that relies on a worker which is marked as stalled
// at any step, also while it searches as the waking worker. No other worker can be started at
// first.
func TestModelStallWait(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Timeouts: true, Depth: 6, Executions: 20_000, Budget: 5 * time.Second}
	interleave.Check(t, "sched-stall-wait", o, func(m *interleave.M) {
		md := newStallModel(m, 1, 2)
		g := md.s.NewGroup(sched.GroupConfig{})
		a, b := md.task("a", nil), md.task("b", nil)
		m.Go("caller", func() { md.mustQueue(md.s.Schedule(a)) })
		m.Go("waiter", func() {
			md.mustQueue(g.Schedule(nil, b))
			md.must(g.Wait())
		})
	})
}
