package sched_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

var errEnded = errors.New("ended")

// endedGroup returns a group of s whose Context has ended with errEnded.
func endedGroup(s *sched.Scheduler, c sched.GroupConfig) *sched.Group {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.Context = ctx
	g := s.NewGroup(c)
	cancel(errEnded)
	return g
}

// TestGroupOfAnEndedContext: a group whose Context has ended calls none of the functions and
// tasks that it is given, and Wait returns the cause. V-11.
func TestGroupOfAnEndedContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for _, c := range []sched.GroupConfig{{}, {Limit: 1}, {AllErrors: true}} {
		g := endedGroup(s, c)
		must(t, g.Wait()) // no task was skipped
		calls := atomic.Int64{}
		fn := func() error { calls.Add(1); return nil }
		tasks := make([]sched.Task, 6)
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { calls.Add(1) }
		}
		g.Go(fn)
		if c.Limit == 0 && !g.TryGo(fn) {
			t.Error("TryGo = false, want true")
		}
		must(t, g.Schedule(nil, &tasks[0], &tasks[1]))
		var b sched.Batch
		must(t, errors.Join(b.Add(&tasks[2]), b.Add(&tasks[3]), g.ScheduleBatch(nil, &b)))
		var inside error
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			inside = g.Schedule(w, &tasks[4])
		}}))
		must(t, inside)
		job := sched.Job[int]{Fn: func(*sched.Worker, *sched.Job[int]) { calls.Add(1) }}
		must(t, g.Schedule(nil, job.Task()))
		if err := g.Wait(); !errors.Is(err, errEnded) || err.Error() != "ended" {
			t.Errorf("%+v: Wait = %v, want the cause once", c, err)
		}
		if n := calls.Load(); n != 0 {
			t.Errorf("%+v: %d functions were called", c, n)
		}
		// The tasks belong to the caller again.
		l := newLatch(len(tasks))
		for i := range tasks {
			tasks[i].Fn = func(*sched.Worker, *sched.Task) { l.hit() }
			must(t, s.Schedule(&tasks[i]))
		}
		l.wait(t)
	}
	deadline, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	g := s.NewGroup(sched.GroupConfig{Context: deadline})
	g.Go(func() error { t.Error("called after the deadline"); return nil })
	mustBe(t, g.Wait(), context.DeadlineExceeded)
}

// TestGroupSkipsTheRest: in a group with a Context, the tasks behind the one that ends the
// context are skipped, and Wait reports how it ended. A group without a Context, and one with
// RunAll, runs every task. V-11.
func TestGroupSkipsTheRest(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	ctx := context.Background()
	for _, tc := range []struct {
		name   string
		config sched.GroupConfig
		ran    int
	}{
		{"with a Context", sched.GroupConfig{Context: ctx}, 1},
		{"with a Context and all errors", sched.GroupConfig{Context: ctx, AllErrors: true}, 1},
		{"with a limit", sched.GroupConfig{Context: ctx, Limit: 9}, 1},
		{"with RunAll", sched.GroupConfig{Context: ctx, RunAll: true}, 4},
		{"without a Context", sched.GroupConfig{}, 4},
	} {
		for name, end := range map[string]func(cancel context.CancelCauseFunc) error{
			"Context": func(cancel context.CancelCauseFunc) error { cancel(errEnded); return nil },
			"error":   func(context.CancelCauseFunc) error { return errEnded },
			"panic":   func(context.CancelCauseFunc) error { panic(errEnded) },
		} {
			if tc.config.Context == nil && name == "Context" {
				continue
			}
			c := tc.config
			var cancel context.CancelCauseFunc
			if c.Context != nil {
				c.Context, cancel = context.WithCancelCause(ctx)
			}
			g := s.NewGroup(c)
			ran := 0
			must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { // keeps the only place until all are queued
				g.Go(func() error { ran++; return end(cancel) })
				for range 3 {
					g.Go(func() error { ran++; return nil })
				}
			}}))
			var err error
			p, _ := panicOf(func() { err = g.Wait() }).(*sched.PanicError)
			if ran != tc.ran {
				t.Errorf("%s, %s: %d tasks ran, want %d", tc.name, name, ran, tc.ran)
			}
			wantErr := name == "error" || name == "Context" && !c.RunAll
			if (name == "panic") != (p != nil) || wantErr != (err != nil) || wantErr && err.Error() != "ended" {
				t.Errorf("%s, %s: Wait = %v, panic %v", tc.name, name, err, p)
			}
		}
	}
}

// TestGroupSkipsAfterItsWait: the end of the context by a Wait skips no task, so a group with a
// Context can be used again. It skips tasks when its Context ends later, or when a task fails.
func TestGroupSkipsAfterItsWait(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for _, fails := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(context.Background())
		g := s.NewGroup(sched.GroupConfig{Context: ctx})
		ran := 0
		for range 3 {
			g.Go(func() error { ran++; return nil })
			must(t, g.Wait())
		}
		if fails {
			g.Go(func() error { ran++; return errEnded })
		} else {
			cancel(errEnded)
			g.Go(func() error { ran++; return nil })
		}
		mustBe(t, g.Wait(), errEnded)
		g.Go(func() error { ran++; return nil })
		mustBe(t, g.Wait(), errEnded)
		if want := 3; !fails && ran != want || fails && ran != want+1 {
			t.Errorf("fails %t: %d functions ran", fails, ran)
		}
		cancel(nil)
	}
}

// TestSkippedFunctionsReleaseTheirPermits: a skipped function gives its permit back. A skipped
// task has none to give back.
func TestSkippedFunctionsReleaseTheirPermits(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	ctx, cancel := context.WithCancelCause(context.Background())
	g := s.NewGroup(sched.GroupConfig{Context: ctx, Limit: 2})
	cancel(errEnded)
	for range 3 {
		for range 2 {
			if !g.TryGo(func() error { return nil }) {
				t.Fatal("a permit is missing")
			}
			must(t, g.Schedule(nil, noTask()))
		}
		mustBe(t, g.Wait(), errEnded)
	}
}

// TestWaitSkipsTasks: a Wait on a worker skips the tasks that it would run on top of its callback.
// The callback is then counted in its own group as before. OnPanic and Stats.Executed do not see
// skipped tasks.
func TestWaitSkipsTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { t.Error("OnPanic was called") }})
	outer := s.NewGroup(sched.GroupConfig{})
	var skipped, inner int
	var err, innerErr error
	must(t, outer.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		g := endedGroup(s, sched.GroupConfig{})
		for range 3 {
			innerErr = errors.Join(innerErr, g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { skipped++ }}))
		}
		err = w.Wait(g)
		if w.ID() != 0 {
			t.Error("the wait has released the place")
		}
		for range 2 {
			innerErr = errors.Join(innerErr, outer.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { inner++ }}))
		}
	}}))
	must(t, outer.Wait())
	must(t, innerErr)
	mustBe(t, err, errEnded)
	if skipped != 0 || inner != 2 {
		t.Errorf("%d tasks of the ended group ran, and %d of 2 others", skipped, inner)
	}
	must(t, s.Shutdown(within(t)))
	if n := s.Stats().Executed; n != 3 {
		t.Errorf("Executed = %d, want 3", n)
	}
}

// TestGroupSkipsOnlyItsOwnTasks: a task that has begun when the context of its group ends runs to
// its end, with the tasks of its Do, of its own groups, and with its forks.
func TestGroupSkipsOnlyItsOwnTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	ctx, cancel := context.WithCancelCause(context.Background())
	g := s.NewGroup(sched.GroupConfig{Context: ctx})
	var ran atomic.Int64
	count := func() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }} }
	var err error
	var sum int
	must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		cancel(errEnded)
		var zero sched.Group
		made := s.NewGroup(sched.GroupConfig{})
		err = errors.Join(
			s.Do(count(), count()),
			zero.Schedule(w, count()), w.Wait(&zero),
			made.Schedule(w, count()), w.Wait(made),
			w.Schedule(count()),
		)
		sum = sched.ForkJoin(s, fibOnDemand, 10)
	}}))
	must(t, g.Wait())
	must(t, err)
	until("the ungrouped task has run", func() bool { return ran.Load() == 5 })
	if sum != 55 {
		t.Errorf("fib(10) = %d", sum)
	}
}

// TestGroupFailureBeforeCause: Wait returns the error of a task that has failed, and not the
// cause of the tasks that were skipped because that task had ended the Context. With
// AllErrors the cause comes last.
func TestGroupFailureBeforeCause(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := newScheduler(t, sched.Config{MaxWorkers: 2})
		ctx, cancel := context.WithCancelCause(t.Context())
		ended, failed := errors.New("ended"), errors.New("failed")
		g := s.NewGroup(sched.GroupConfig{Context: ctx, AllErrors: all})
		began := make(chan struct{})
		g.Go(func() error {
			cancel(ended)
			close(began)
			until("a task is skipped", g.HasSkipped)
			return failed
		})
		<-began // external tasks have no order: a worker may take the last one first
		for range 10 {
			g.Go(func() error { return nil })
		}
		err := g.Wait()
		if !all {
			mustBe(t, err, failed)
			if errors.Is(err, ended) {
				t.Errorf("Wait = %v, want the error of the task alone", err)
			}
		} else if err == nil || err.Error() != "failed\nended" {
			t.Errorf("Wait = %q, want the error of the task and then the cause", err)
		}
	}
}
