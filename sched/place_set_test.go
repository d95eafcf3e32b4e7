package sched_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// TestPlaceSetVisitsEachMember: a visit begins at the given place, wraps around, reaches each
// member once, and stops where it is told to.
func TestPlaceSetVisitsEachMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 128, 200}).Draw(t, "places")
		place := rapid.IntRange(0, n-1)
		set := sched.NewPlaceSet(n)
		model := make([]bool, n)
		for _, i := range rapid.SliceOfN(place, 0, 2*n).Draw(t, "added") {
			set.Add(i)
			model[i] = true
		}
		for _, i := range rapid.SliceOfN(place, 0, n).Draw(t, "removed") {
			set.Remove(i)
			model[i] = false
		}
		first := place.Draw(t, "first")
		var want []int
		for k := range n {
			if i := (first + k) % n; model[i] {
				want = append(want, i)
			}
		}
		stop := rapid.IntRange(0, len(want)).Draw(t, "stop")
		var got []int
		found := set.Any(first, n, func(i int) bool {
			got = append(got, i)
			return len(got) == stop
		})
		if stop != 0 {
			want = want[:stop]
		}
		if !slices.Equal(got, want) || found != (stop != 0) {
			t.Fatalf("visited %v and reported %t, want %v and %t", got, found, want, stop != 0)
		}
	})
}

// TestPlaceSetWraps: a visit continues with the members before the place that it began with.
func TestPlaceSetWraps(t *testing.T) {
	set := sched.NewPlaceSet(200)
	for _, i := range []int{3, 9, 70, 130} {
		set.Add(i)
	}
	for _, tc := range []struct {
		first int
		want  []int
	}{
		{0, []int{3, 9, 70, 130}},
		{9, []int{9, 70, 130, 3}},
		{71, []int{130, 3, 9, 70}},
		{199, []int{3, 9, 70, 130}},
	} {
		var got []int
		set.Any(tc.first, 200, func(i int) bool { got = append(got, i); return false })
		if !slices.Equal(got, tc.want) {
			t.Errorf("from %d: visited %v, want %v", tc.first, got, tc.want)
		}
	}
}

// TestPlacesWithTasksAreListed: searches visit each place that has tasks, whichever way the
// tasks came there. A place that was returned without tasks is not visited.
func TestPlacesWithTasksAreListed(t *testing.T) {
	type env struct {
		s     *sched.Scheduler
		check func()
	}
	nop := func(*sched.Worker, *sched.Task) {}
	several := func() []*sched.Task { return []*sched.Task{{Fn: nop}, {Fn: nop}, {Fn: nop}} }
	inCallback := func(e env, fn func(w *sched.Worker)) {
		must(t, e.s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { fn(w) }}))
	}
	for _, tc := range []struct {
		name    string
		workers int
		run     func(e env)
	}{
		{"one task", 1, func(e env) {
			inCallback(e, func(w *sched.Worker) { must(t, w.Schedule(&sched.Task{Fn: nop})); e.check() })
		}},
		{"several tasks", 1, func(e env) {
			inCallback(e, func(w *sched.Worker) { must(t, w.Schedule(several()...)); e.check() })
		}},
		{"a batch", 1, func(e env) {
			inCallback(e, func(w *sched.Worker) {
				var b sched.Batch
				for _, k := range several() {
					must(t, b.Add(k))
				}
				must(t, w.ScheduleBatch(&b))
				e.check()
			})
		}},
		{"Do of several tasks", 1, func(e env) {
			tasks := append([]*sched.Task{{Fn: func(*sched.Worker, *sched.Task) { e.check() }}}, several()...)
			must(t, e.s.Do(tasks...))
		}},
		{"a promoted fork", 2, func(e env) {
			sched.ForkJoin(e.s, func(f *ints, n int) int {
				if n == 1 {
					return 1
				}
				f.Push(1)
				f.PromoteNow()
				e.check()
				return joined(f, func(*ints, int) int { return 1 }, 1)
			}, 0)
		}},
		{"a refill from the injection queue", 1, func(e env) {
			l := newLatch(1)
			first := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { e.check(); l.hit() }}
			must(t, e.s.Schedule(append([]*sched.Task{first}, several()...)...))
			l.wait(t)
		}},
		{"a steal", 2, func(e env) {
			inCallback(e, func(w *sched.Worker) {
				var stolen atomic.Bool
				checked := func(*sched.Worker, *sched.Task) { e.check(); stolen.Store(true) }
				tasks := several()
				for _, k := range tasks {
					k.Fn = checked
				}
				must(t, w.Schedule(append(tasks, several()...)...))
				until("a worker steals", stolen.Load)
			})
		}},
		{"a steal for a wait", 2, func(e env) {
			g := e.s.NewGroup(sched.GroupConfig{})
			var begun, queued, waited atomic.Bool
			must(t, e.s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				begun.Store(true)
				until("the tasks are queued", queued.Load)
				must(t, w.Wait(g))
				waited.Store(true)
			}}))
			until("a worker is about to wait", begun.Load)
			inCallback(e, func(w *sched.Worker) {
				tasks := several()
				for _, k := range tasks {
					k.Fn = func(*sched.Worker, *sched.Task) { e.check() }
				}
				must(t, g.Schedule(w, tasks...))
				queued.Store(true)
				until("the other worker has run the tasks", waited.Load)
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			processors(t, 2)
			s := newScheduler(t, sched.Config{MaxWorkers: tc.workers, OnIdle: func(*sched.Worker) {}}) // the place of a lingering worker remains listed
			tc.run(env{s, func() {
				if n := s.UnlistedPlaces(); n != 0 {
					t.Errorf("%d places have tasks and are not listed", n)
				}
			}})
			// With two workers, a thief may empty a place that was returned with tasks.
			if tc.workers == 1 {
				until("no place is listed", func() bool { return s.ListedPlaces() == 0 })
			}
		})
	}
}
