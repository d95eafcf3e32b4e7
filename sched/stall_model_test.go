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

// In these models time passes at any step: whoever runs a task may be counted out
// whenever the watch has asked, and not been answered.

func stalls(preemptions int) interleave.Options {
	return interleave.Options{Preemptions: preemptions, Timeouts: true}
}

// newStallModel returns a model whose scheduler counts out who stalls, and whose places
// are all accounted for in the end.
func newStallModel(m *interleave.M, workers, failures int) *model {
	return newModelOf(m, sched.Config{MaxWorkers: workers, StallAfter: time.Hour}, failures)
}

// settled is the law that each place is free or a spare one in the end, as many as there
// should be.
func (md *model) settled() {
	md.m.Final(func() {
		if bad := md.s.CheckPlaces(); bad != "" {
			md.m.Fatalf("%s", bad)
		}
	})
}

// gate returns what lets a callback go on, and what waits for that without telling.
func gate() (open func(*sched.Worker), wait func()) {
	s := new(park.Sema)
	s.Init(1)
	return func(*sched.Worker) { s.Post() }, s.Wait
}

// TestModelStall: with one place, a callback blocks until a task has run that it has
// queued itself, or that came from outside, before or after.
func TestModelStall(t *testing.T) {
	interleave.Check(t, "sched-stall-inside", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		post, wait := gate()
		b := md.task("b", post)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			wait()
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-outside", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
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

// TestModelStallDo: the callback of a Do blocks until a task has run for which a worker
// has to be found, that is perhaps turned away first.
func TestModelStallDo(t *testing.T) {
	interleave.Check(t, "sched-stall-do", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		post, wait := gate()
		a, b := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post)
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("caller", func() { md.must(md.s.Schedule(b)) })
	})
}

// TestModelStallEnds: callbacks that end by themselves are counted out at any step
// of their end, and of the search that comes after it.
func TestModelStallEnds(t *testing.T) {
	interleave.Check(t, "sched-stall-ends", stalls(2), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		b := md.task("b", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)) })
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-do-ends", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		b, c := md.task("b", nil), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) { md.must(w.Schedule(b)) })
		m.Go("do", func() {
			md.must(md.s.Do(a))
			md.must(md.s.Do(c))
		})
	})
}

// TestModelStallTurnedAway: a worker is on its way that nobody needs any more, and the watch
// has ended. A push relies on that worker, which is turned away by a Do that stalls.
func TestModelStallTurnedAway(t *testing.T) {
	interleave.Check(t, "sched-stall-turned-away", stalls(0), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
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

// TestModelStallSearches: a worker is counted out while it searches in vain, as the waking
// worker. Somebody is woken for what comes later.
func TestModelStallSearches(t *testing.T) {
	interleave.Check(t, "sched-stall-searches", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
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

// TestModelStallBlocks: a callback that has been counted out, or not, blocks and tells,
// and waits for a group.
func TestModelStallBlocks(t *testing.T) {
	interleave.Check(t, "sched-stall-blocks", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		post, wait := gate()
		b, c := md.task("b", post), md.task("c", nil)
		a := md.task("a", func(w *sched.Worker) {
			md.must(w.Schedule(b))
			w.Blocking(wait)
			md.must(w.Schedule(c))
		})
		m.Go("caller", func() { md.must(md.s.Schedule(a)) })
	})
	interleave.Check(t, "sched-stall-waits", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
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

// TestModelStallGroup: the counts of a group are complete, whichever place its tasks were
// counted at.
func TestModelStallGroup(t *testing.T) {
	interleave.Check(t, "sched-stall-group", stalls(1), func(m *interleave.M) {
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

// TestModelStallShutdown: Shutdown runs what is queued although a callback stalls, which
// ends only then, and leaves nothing behind.
func TestModelStallShutdown(t *testing.T) {
	interleave.Check(t, "sched-stall-shutdown", stalls(1), func(m *interleave.M) {
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

// TestModelStallClose: Close comes at any step of a stall. What nobody ran is handed back,
// and Join returns after the stalled callback.
func TestModelStallClose(t *testing.T) {
	interleave.Check(t, "sched-stall-close", stalls(1), func(m *interleave.M) {
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
				m.Fatalf("%d tasks were accepted, %d ran, %d came back; %d have ended", accepted, ran, n, ended)
			}
		})
	})
}

// TestModelStallSpawnFails: no worker can be started at first for what a stalled one has
// queued. The watch tries again.
func TestModelStallSpawnFails(t *testing.T) {
	interleave.Check(t, "sched-stall-spawn-fails", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 1)
		post, wait := gate()
		a, b := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post)
		m.Go("do", func() { md.must(md.s.Do(a)) })
		m.Go("caller", func() { md.mustQueue(md.s.Schedule(b)) })
	})
}

// TestModelStallTwice: who runs what a stalled one has left stalls, too.
func TestModelStallTwice(t *testing.T) {
	interleave.Check(t, "sched-stall-twice", stalls(1), func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
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

// TestModelStallAfterGuestGone: a worker takes the place that a guest has left its stint on,
// and stalls, while the watch asks and looks at any step of either. Somebody comes for what is
// queued. There are too many interleavings of two preemptions, which it takes: PCT.
func TestModelStallAfterGuestGone(t *testing.T) {
	o := interleave.Options{Strategy: interleave.PCT, Timeouts: true, Depth: 6, Executions: 40_000}
	interleave.Check(t, "sched-stall-guest-gone", o, func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.settled()
		post, wait := gate()
		a, b, c := md.task("a", func(*sched.Worker) { wait() }), md.task("b", post), md.task("c", nil)
		m.Go("do", func() { md.must(md.s.Do(c)) })
		m.Go("caller", func() { md.must(md.s.Schedule(a, b)) })
	})
}

// TestModelStallShutdownTold: the watch looks while Shutdown waits, once, and its next look
// would come StallAfter later. Shutdown does not wait for that one: a place that is made for
// nobody looks held for a moment, and Shutdown is told when it is not.
func TestModelStallShutdownTold(t *testing.T) {
	interleave.Check(t, "sched-stall-shutdown-told", interleave.Options{Preemptions: 2, Budget: 5 * time.Second}, func(m *interleave.M) {
		md := newStallModel(m, 1, 0)
		md.s.SetStallMonitorRuns()
		asked, look := gate()
		a, b := md.task("a", func(w *sched.Worker) { md.s.ProbeAll(); asked(w) }), md.task("b", nil)
		m.Go("closer", func() {
			md.must(md.s.Schedule(a, b))
			md.must(md.s.Shutdown(context.Background()))
		})
		m.Go("watch", func() { look(); md.s.ReplaceStalled() })
	})
}

// TestModelStallWait: a Wait relies on a worker that is counted out at any step, also while it
// searches as the waking worker, and no other can be started at first.
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
