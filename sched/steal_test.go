package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/sched"
)

// TestSearchOrder: a worker with an empty run queue polls the injection queue first and then the
// other places. At each place it polls the overflow queue before the ring, also when the place
// is free. Z-019, Z-040, Z-041, Z-056.
func TestSearchOrder(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2, Spawner: noSpawner{}})
	must(t, err)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	const n = ringSize + 1 // the last push moves half of the tasks to the overflow queue
	var got []int
	record := func(i int) *sched.Task {
		return &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			if got = append(got, i); len(got) == n+2 {
				cancel()
			}
			if w.ID() != 0 {
				t.Errorf("task %d ran on place %d", i, w.ID())
			}
		}}
	}
	// A Do inside another one holds the second place, and leaves its tasks there.
	err = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		done := make(chan error)
		go func() {
			done <- s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if w.ID() != 1 {
					t.Errorf("the second Do holds place %d", w.ID())
				}
				for i := range n {
					if err := queuedOrNil(w.Schedule(record(i))); err != nil {
						t.Error(err)
					}
				}
			}})
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}})
	must(t, err)
	const external, internal = 1000, 1001
	must(t, queuedOrNil(s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		got = append(got, external)
		if err := w.Schedule(record(internal)); err != nil {
			t.Error(err)
		}
	}})))
	mustBe(t, s.Run(ctx), context.Canceled)
	want := []int{external, internal}
	for i := range ringSize / 2 {
		want = append(want, i)
	}
	want = append(want, n-1)
	for i := ringSize / 2; i < n-1; i++ {
		want = append(want, i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("ran  %v\nwant %v", got, want)
	}
	must(t, s.Shutdown(within(t)))
}

// TestWaitRunsTasksOfNestedGroups: a wait also runs tasks of a group that a running task of its
// own group waits for, in any queue.
func TestWaitRunsTasksOfNestedGroups(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	started, ran := make(chan struct{}), make(chan struct{})
	var waiter, helper uintptr
	var err error
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		waiter = park.Self()
		var outer, inner sched.Group
		child := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			err = errors.Join(
				inner.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					helper = park.Self()
					close(ran)
				}}),
				// The newest task, which the child runs itself.
				inner.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					close(started)
					<-ran
				}}),
				w.Wait(&inner),
			)
		}}
		if err := outer.Schedule(w, child); err != nil {
			t.Error(err)
		}
		<-started // the other worker has stolen the child; both places are held
		if err := w.Wait(&outer); err != nil {
			t.Error(err)
		}
	}}))
	must(t, err)
	if helper != waiter {
		t.Error("the wait did not run the task that its child waits for")
	}
}

// stealAll runs a task that fills the ring of its place, and another worker that steals all of
// it. It returns the number of steals.
func stealAll(tb testing.TB, s *sched.Scheduler, tasks []sched.Task) uint64 {
	tb.Helper()
	before := s.Stats().Steals
	l := newLatch(len(tasks))
	for i := range tasks {
		tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
	}
	must(tb, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var b sched.Batch
		for i := range tasks {
			if err := b.Add(&tasks[i]); err != nil {
				tb.Error(err)
			}
		}
		if err := w.ScheduleBatch(&b); err != nil {
			tb.Error(err)
		}
		for l.left.Load() > 0 {
			runtime.Gosched()
		}
	}}))
	for s.Stats().Parked != s.Stats().Workers { // the thief adds its counts before it parks
		runtime.Gosched()
	}
	return s.Stats().Steals - before
}

// TestStealsTakeHalf: one thief empties a full ring in a logarithmic number of steals. Z-028,
// Z-098.
func TestStealsTakeHalf(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for n := 1; n <= ringSize; n *= 2 {
		got := stealAll(t, s, make([]sched.Task, n))
		if want := uint64(bits.Len(uint(n))); got != want {
			t.Errorf("%d tasks were stolen in %d steals, want %d", n, got, want)
		}
	}
}

// BenchmarkSteal measures the cost of a stolen task for small and large steals. Z-098.
func BenchmarkSteal(b *testing.B) {
	for queued := 1; queued <= ringSize; queued *= 4 {
		b.Run(fmt.Sprintf("queued=%d", queued), func(b *testing.B) {
			s := benchScheduler(b, 2)
			tasks := make([]sched.Task, queued)
			var steals uint64
			for b.Loop() {
				steals += stealAll(b, s, tasks)
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
			b.ReportMetric(ns/float64(queued), "ns/task")
			b.ReportMetric(float64(steals)/float64(b.N), "steals/op")
		})
	}
}

// TestVictimsInRandomOrder: the place at which a thief begins to search changes from search to
// search, and each other place is the first one at times. Z-094.
func TestVictimsInRandomOrder(t *testing.T) {
	const places, rounds = 4, 25
	s, err := sched.New(sched.Config{MaxWorkers: places, Spawner: noSpawner{}})
	must(t, err)
	s.NeverYieldByTime()
	first := map[int]int{}
	for range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		var got []int
		// Calls of Do inside each other, on goroutines of their own, hold all places. Each
		// but the first leaves a task there.
		var hold func(place int)
		hold = func(place int) {
			if err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if w.ID() != place {
					t.Errorf("the Do holds place %d, want %d", w.ID(), place)
				}
				if place > 0 {
					err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
						if got = append(got, place); len(got) == places-1 {
							cancel()
						}
					}})
					if queuedOrNil(err) != nil {
						t.Error(err)
					}
				}
				if place+1 < places {
					done := make(chan struct{})
					go func() { defer close(done); hold(place + 1) }()
					<-done
				}
			}}); err != nil {
				t.Error(err)
			}
		}
		hold(0)
		mustBe(t, s.Run(ctx), context.Canceled) // takes place 0, the last one returned
		if len(got) != places-1 {
			t.Fatalf("%d tasks were stolen, want %d", len(got), places-1)
		}
		first[got[0]]++
	}
	if len(first) != places-1 {
		t.Errorf("the thief began at these places in %d rounds: %v", rounds, first)
	}
	must(t, s.Shutdown(within(t)))
}

// TestThiefFindsTheOnlyTask: a thief finds the only queued task at any place, also at a free
// one. Z-040, Z-094.
func TestThiefFindsTheOnlyTask(t *testing.T) {
	const workers = 8
	for round := range 100 {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		// All workers hold a place. One of them pushes a task and continues its callback.
		all, found := newLatch(workers), newLatch(1)
		release := make(chan struct{})
		end := sync.OnceFunc(func() { close(release) })
		t.Cleanup(end) // otherwise a failed wait leaves the callbacks to the Join of the scheduler
		for i := range workers {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				all.hit()
				select {
				case <-all.done:
				case <-release:
				}
				if i != round%workers {
					return // the worker searches
				}
				own := w.ID()
				err := w.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					if w.ID() == own {
						t.Errorf("place %d ran two tasks at once", own)
					}
					found.hit()
				}})
				if err != nil {
					t.Error(err)
				}
				<-release
			}}))
		}
		found.wait(t)
		end()
	}
}
