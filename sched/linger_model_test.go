//go:build interleave

package sched_test

import (
	"context"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestModelLingerTakers: a push resumes the worker that lingers with the only place, while a Do
// takes the place. Both tasks run, and the place has one holder at a time.
func TestModelLingerTakers(t *testing.T) {
	interleave.Check(t, "sched-linger-takers", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		running := 0
		var step atomix.Bool
		alone := func(*sched.Worker) {
			if running++; running > 1 {
				m.Fatalf("%d callbacks run on one place", running)
			}
			step.Load()
			running--
		}
		a, b, c := md.task("a", nil), md.task("b", alone), md.task("c", alone)
		m.Go("caller", func() {
			g := md.s.NewGroup(sched.GroupConfig{})
			md.must(g.Schedule(nil, a))
			md.must(g.Wait())
			interleave.Go("do", func() { md.must(md.s.Do(c)) })
			md.must(md.s.Schedule(b))
		})
	})
}

// TestModelLingersAgain: the only worker lingers whenever it is parked, also when it has taken a
// notification at the moment at which it was about to linger.
func TestModelLingersAgain(t *testing.T) {
	interleave.Check(t, "sched-lingers-again", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", nil)))
			md.must(md.s.Schedule(md.task("b", nil)))
		})
		m.Final(func() {
			if md.s.Stats().Parked != 1 || !md.s.Lingering() {
				m.Fatalf("at rest: a worker lingers: %t, %+v", md.s.Lingering(), md.s.Stats())
			}
		})
	})
}

// TestModelLingerRefused: there are two workers and one place. A worker that is refused a place
// gets that of the worker that lingers, or the latter sees that a place is awaited.
func TestModelLingerRefused(t *testing.T) {
	interleave.Check(t, "sched-linger-refused", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		m.GoDaemon("run", func() { _ = md.s.Run(context.Background()) })
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", nil)))
			md.must(md.s.Schedule(md.task("b", nil)))
		})
	})
}

// TestModelLingerShutdown: Shutdown returns although a worker lingers, or is about to.
func TestModelLingerShutdown(t *testing.T) {
	interleave.Check(t, "sched-linger-shutdown", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		m.Go("caller", func() {
			md.must(md.s.Schedule(md.task("a", nil)))
			md.must(md.s.Shutdown(context.Background()))
		})
	})
}

// TestModelLingerClose: Close ends a worker that lingers, that a push resumes, or whose place a
// TryDo takes. Each accepted task runs, or is returned.
func TestModelLingerClose(t *testing.T) {
	interleave.Check(t, "sched-linger-close", bounded(), func(m *interleave.M) {
		md := newModel(m, 1, 0)
		ran, accepted := 0, 0
		count := func(*sched.Worker, *sched.Task) { ran++ }
		m.Go("caller", func() {
			var ended park.Sema
			ended.Init(1)
			md.must(md.s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ended.Post() }}))
			ended.Wait()
			interleave.Go("closer", func() { ran += md.closeAndJoin() })
			interleave.Go("do", func() {
				if ok, _ := md.s.TryDo(&sched.Task{Fn: count}); ok {
					accepted++
				}
			})
			if md.s.Schedule(&sched.Task{Fn: count}) == nil {
				accepted++
			}
		})
		m.Final(func() {
			if ran != accepted {
				m.Fatalf("%d tasks were accepted, %d ran or were returned", accepted, ran)
			}
		})
	})
}

// TestModelOneCallerHasOneWorker: a caller that waits for each of its tasks starts one worker.
func TestModelOneCallerHasOneWorker(t *testing.T) {
	interleave.Check(t, "sched-one-caller", bounded(), func(m *interleave.M) {
		md := newModel(m, 3, 0)
		m.Go("caller", func() {
			for _, name := range []string{"a", "b", "c"} {
				g := md.s.NewGroup(sched.GroupConfig{})
				md.must(g.Schedule(nil, md.task(name, nil)))
				md.must(g.Wait())
			}
			if n := md.s.Stats().Spawns; n != 1 {
				m.Fatalf("%d workers were started", n)
			}
		})
	})
}

// TestModelOneTaskAtATime: a caller that is woken by each of its tasks, before the callback ends, has one
// worker, and one more for each worker that was preempted between that wake-up and its count as idle.
func TestModelOneTaskAtATime(t *testing.T) {
	for i, name := range []string{"sched-one-task-0", "sched-one-task-1", "sched-one-task-2"} {
		preemptions := i
		if i == 0 {
			preemptions = interleave.None
		}
		interleave.Check(t, name, interleave.Options{Preemptions: preemptions}, func(m *interleave.M) {
			md := newModel(m, 4, 0)
			m.Go("caller", func() {
				var ended park.Sema
				ended.Init(1)
				for _, name := range []string{"a", "b", "c", "d"} {
					md.must(md.s.Schedule(md.task(name, func(*sched.Worker) { ended.Post() })))
					ended.Wait()
				}
				if n := md.s.Stats().Spawns; n > uint64(1+i) {
					m.Fatalf("%d workers were started after %d preemptions at most", n, i)
				}
			})
		})
	}
}

// TestModelForkWakesNextRequester: a worker that was woken for a fork wakes the next worker, which
// requests a fork of the same computation, although no other task is queued.
func TestModelForkWakesNextRequester(t *testing.T) {
	interleave.Check(t, "fork-wakes-requester", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 3, 0)
		var begun park.Sema
		begun.Init(1)
		m.Go("owner", func() {
			sched.ForkJoin(md.s, func(f *ints, n int) int {
				if n == 1 {
					begun.Post()
					return 1
				}
				f.Push(1)
				f.PromoteNow()
				begun.Wait()
				return joined(f, func(*ints, int) int { return 1 }, 1)
			}, 0)
		})
		m.Final(func() {
			if n := md.s.Stats().Spawns; n != 2 {
				m.Fatalf("%d workers were started", n)
			}
		})
	})
}

// TestModelHeldDuringACallback: Stats counts the place of a callback that runs the whole time,
// while a worker takes the other place and begins to linger with it.
func TestModelHeldDuringACallback(t *testing.T) {
	interleave.Check(t, "sched-held", interleave.Options{Preemptions: 1}, func(m *interleave.M) {
		md := newModel(m, 2, 0)
		var begun, end park.Sema
		begun.Init(2)
		end.Init(1)
		m.Go("callback", func() {
			md.must(md.s.Do(md.task("long", func(*sched.Worker) { begun.Post(); begun.Post(); end.Wait() })))
		})
		m.Go("caller", func() {
			begun.Wait()
			g := md.s.NewGroup(sched.GroupConfig{})
			md.must(g.Schedule(nil, md.task("a", nil)))
			md.must(g.Wait())
		})
		m.Go("stats", func() {
			begun.Wait()
			if st := md.s.Stats(); st.Held < 1 || st.Held > 2 {
				m.Fatalf("%d places are held", st.Held)
			}
			end.Post()
		})
	})
}
