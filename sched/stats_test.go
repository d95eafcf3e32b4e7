package sched_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestStatsCountsQueuedAndRunning: while callbacks do not end, Stats counts them and the tasks
// that are queued behind them: each one in a ring, and one for each queue without a length. V-06e.
func TestStatsCountsQueuedAndRunning(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2})
	begun, blocked, queued := newLatch(2), newLatch(1), newLatch(2)
	push, end := make(chan struct{}), make(chan struct{})
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		w.Blocking(func() {
			blocked.hit()
			<-end
		})
	}}))
	blocked.wait(t)
	for _, tasks := range []int{3, ringSize + 1} { // the second number does not fit the ring
		must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			begun.hit()
			<-push
			for range tasks {
				if err := w.Schedule(noTask()); err != nil {
					t.Error(err)
				}
			}
			queued.hit()
			<-end
		}}))
	}
	begun.wait(t)
	if st := s.Stats(); st.Running != 3 || st.Queued != 0 {
		t.Errorf("before the pushes: Stats = %+v, want 3 running and 0 queued", st)
	}
	close(push)
	queued.wait(t)
	const inRing = ringSize / 2 // the older half and the new task have moved to the overflow queue
	if got, want := s.Stats().Queued, 3+inRing+1; got != want {
		t.Errorf("after the pushes: %d are queued, want %d", got, want)
	}
	must(t, s.Go(func() {}))
	must(t, s.Go(func() {}))
	if got, want := s.Stats().Queued, 3+inRing+1+1; got != want {
		t.Errorf("after two pushes from outside: %d are queued, want %d", got, want)
	}
	close(end)
	atRest(t, s)
	if st := s.Stats(); st.Running != 0 || st.Queued != 0 {
		t.Errorf("at the end: Stats = %+v, want nothing queued or running", st)
	}
}

// TestStatsCountsEachQueue: Queued counts each task in a ring, and 1 for an overflow queue or the
// injection queue that holds tasks. Latent forks do not count.
func TestStatsCountsEachQueue(t *testing.T) {
	schedule := func(n int, schedule func(*sched.Task) error) error {
		for range n {
			if err := schedule(noTask()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, tc := range []struct {
		name string
		want int
		fn   func(w *sched.Worker) error // fills the queue
	}{
		{"no queue", 0, func(*sched.Worker) error { return nil }},
		{"a ring", 3, func(w *sched.Worker) error {
			return schedule(3, func(task *sched.Task) error { return w.Schedule(task) })
		}},
		{"a full ring", ringSize, func(w *sched.Worker) error {
			return schedule(ringSize, func(task *sched.Task) error { return w.Schedule(task) })
		}},
		{"a ring and its overflow queue", ringSize/2 + 1, func(w *sched.Worker) error { // half of the ring has moved there
			return schedule(ringSize+1, func(task *sched.Task) error { return w.Schedule(task) })
		}},
		{"the injection queue", 1, func(w *sched.Worker) error {
			return schedule(3, func(task *sched.Task) error { return w.Scheduler().Schedule(task) })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spawner := heldSpawner{begin: make(chan struct{})} // no worker takes a task during the Do
			s := openScheduler(t, sched.Config{MaxWorkers: 2, Spawner: spawner})
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if must(t, tc.fn(w)); s.Stats().Queued != tc.want {
					t.Errorf("Queued is %d, want %d", s.Stats().Queued, tc.want)
				}
			}}))
			close(spawner.begin)
			atRest(t, s)
			if got := s.Stats().Queued; got != 0 {
				t.Errorf("at the end Queued is %d", got)
			}
		})
	}
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	sched.ForkJoin(s, func(f *ints, n int) int {
		if n == 0 {
			if f.Push(1); s.Stats().Queued != 0 {
				t.Errorf("with a latent fork Queued is %d", s.Stats().Queued)
			}
			joined(f, func(*ints, int) int { return 0 }, 1)
		}
		return 0
	}, 0)
	atRest(t, s)
}

// TestStatsNamesInJSON: the JSON name of each field of Stats is its name with a small first letter.
func TestStatsNamesInJSON(t *testing.T) {
	for f := range reflect.TypeFor[sched.Stats]().Fields() {
		if got, want := f.Tag.Get("json"), strings.ToLower(f.Name[:1])+f.Name[1:]; got != want {
			t.Errorf("%s has the JSON name %q, want %q", f.Name, got, want)
		}
	}
}
