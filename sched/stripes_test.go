package sched_test

import (
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// TestGroupModel: the stripes of a group add up to the numbers of scheduled and finished tasks,
// for callers with and without a place.
func TestGroupModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.SampledFrom([]int{1, 2, 5, sched.MaxStripes, sched.MaxStripes + 1, 70}).Draw(t, "workers")
		s, err := sched.New(sched.Config{MaxWorkers: workers})
		if err != nil {
			t.Fatal(err)
		}
		g := s.NewGroup(sched.GroupConfig{})
		all := make([]*sched.Place, workers)
		for i := range all {
			all[i] = sched.NewPlace(i)
		}
		var scheduled, finished uint64
		home, grown, atHome := -1, false, sched.Stripe{}
		last := make([]sched.Stripe, workers)
		pick := func(t *rapid.T) *sched.Place {
			i := rapid.OneOf(rapid.IntRange(-1, workers-1), rapid.Just(-1), rapid.Just(workers-1)).Draw(t, "place")
			if i < 0 {
				return nil
			}
			return all[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				n := rapid.Uint64Range(1, sched.GrowAfter).Draw(t, "n")
				g.AddScheduled(pick(t), n)
				scheduled += n
			},
			"finish": func(t *rapid.T) {
				if finished == scheduled {
					t.Skip("all tasks are finished")
				}
				n := rapid.OneOf(rapid.Uint64Range(1, scheduled-finished), rapid.Just(scheduled-finished)).Draw(t, "n")
				g.AddFinished(pick(t), n)
				finished += n
			},
			"wait": func(t *rapid.T) {
				if finished != scheduled {
					t.Skip("the Wait would park")
				}
				if err := g.Wait(); err != nil {
					t.Fatalf("Wait = %v", err)
				}
			},
			"": func(t *rapid.T) {
				if got, want := g.Done(), scheduled == finished; got != want {
					t.Fatalf("done = %v with %d scheduled and %d finished", got, scheduled, finished)
				}
				h, own, shared, more := g.Stripes()
				if home >= 0 && h != home {
					t.Fatalf("the home of the group moved from place %d to %d", home, h)
				}
				home = h
				if grown && own != atHome {
					t.Fatal("the first stripe is stored although there are more")
				}
				grown, atHome = more != nil, own
				if len(more) > min(workers, sched.MaxStripes) {
					t.Fatalf("%d stripes for %d workers", len(more), workers)
				}
				sum := sched.Stripe{Scheduled: own.Scheduled + shared.Scheduled, Finished: own.Finished + shared.Finished}
				for i, st := range more {
					sum.Scheduled += st.Scheduled
					sum.Finished += st.Finished
					if st.Scheduled < last[i].Scheduled || st.Finished < last[i].Finished {
						t.Fatalf("a counter of stripe %d shrank", i)
					}
					last[i] = st
				}
				if want := (sched.Stripe{Scheduled: scheduled, Finished: finished}); sum != want {
					t.Fatalf("the stripes hold %+v, want %+v", sum, want)
				}
			},
		})
	})
}

// TestGroupStripes: places get stripes of their own only after the shared stripe has counted
// GrowAfter tasks, and places beyond MaxStripes never get one.
func TestGroupStripes(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: sched.MaxStripes + 2})
	g := s.NewGroup(sched.GroupConfig{})
	home, other := sched.NewPlace(3), sched.NewPlace(5)
	beyond := sched.NewPlace(sched.MaxStripes)
	check := func(own, shared, fifth uint64) {
		t.Helper()
		i, o, sh, more := g.Stripes()
		got := [3]uint64{o.Scheduled, sh.Scheduled}
		if len(more) > 0 {
			got[2] = more[5].Scheduled
		}
		if want := [3]uint64{own, shared, fifth}; i != 3 || got != want {
			t.Fatalf("the home is place %d, the counts are %v; want place 3, %v", i, got, want)
		}
	}
	add := func(p *sched.Place, n uint64) { g.AddScheduled(p, n); g.AddFinished(p, n) }
	add(home, 1000)
	check(1000, 0, 0)
	add(other, sched.GrowAfter)
	add(nil, 1) // a caller without a place makes no stripes
	check(1000, sched.GrowAfter+1, 0)
	if _, _, _, more := g.Stripes(); more != nil {
		t.Fatal("stripes were made too early")
	}
	add(other, 1)
	check(1000, sched.GrowAfter+2, 0)
	add(other, 7)
	add(beyond, 9)
	add(nil, 11)
	add(home, 1)
	check(1000, sched.GrowAfter+22, 7)
	if _, _, _, more := g.Stripes(); len(more) != sched.MaxStripes || more[3].Scheduled != 1 {
		t.Errorf("%d stripes, that of the home has %d; want %d and 1", len(more), more[3].Scheduled, sched.MaxStripes)
	}
	must(t, g.Wait())
}

// TestGroupManyPlaces: a group counts the tasks of more places than it has stripes.
func TestGroupManyPlaces(t *testing.T) {
	const workers = sched.MaxStripes + 5
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	s := newScheduler(t, sched.Config{MaxWorkers: workers})
	g := s.NewGroup(sched.GroupConfig{})
	var ran atomic.Int64
	want := int64(0)
	for range rounds {
		// All workers hold a place at the same time before any of them continues.
		all := newLatch(workers)
		for range workers {
			must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				all.hit()
				<-all.done
				for range 5 {
					err := g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})
					if err != nil {
						t.Error(err)
					}
				}
				ran.Add(1)
			}}))
		}
		want += 6 * workers
		must(t, g.Wait())
		if got := ran.Load(); got != want {
			t.Fatalf("Wait returned after %d of %d tasks", got, want)
		}
	}
	if _, _, _, more := g.Stripes(); len(more) != sched.MaxStripes {
		t.Errorf("the group has %d padded stripes, want %d", len(more), sched.MaxStripes)
	}
}
