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

// TestStatsNamesInJSON: the JSON name of each field of Stats is its name with a small first letter.
func TestStatsNamesInJSON(t *testing.T) {
	for f := range reflect.TypeFor[sched.Stats]().Fields() {
		if got, want := f.Tag.Get("json"), strings.ToLower(f.Name[:1])+f.Name[1:]; got != want {
			t.Errorf("%s has the JSON name %q, want %q", f.Name, got, want)
		}
	}
}
