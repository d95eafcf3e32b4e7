package sched_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/lanewright/lanewright/sched"
)

// TestNilArguments: a nil argument fails at the caller with an error or a panic that names it,
// and the call takes none of its other tasks. V-01.
func TestNilArguments(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{AllErrors: true})
	var b sched.Batch
	var inside []error
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		inside = []error{
			w.Schedule(nil), w.Schedule(new(sched.Task)), w.ScheduleBatch(nil),
			g.Schedule(w, nil), g.Schedule(w, new(sched.Task)), g.ScheduleBatch(w, nil),
			s.Do(nil), s.Go(nil), b.Append(nil),
		}
		if r := panicOf(func() { _ = w.Wait(nil) }); r != "sched: Worker.Wait: nil group" {
			t.Errorf("Wait(nil) panics with %v", r)
		}
		for name, fn := range map[string]func(){
			"Blocking":           func() { w.Blocking(nil) },
			"Scheduler.Blocking": func() { s.Blocking(nil) },
			"ForkJoinFunc":       func() { sched.ForkJoinFunc(s, nil) },
			"ForkJoinValue":      func() { sched.ForkJoinValue[int](s, nil) },
		} {
			if r := panicOf(fn); r != "sched: "+name+": nil function" {
				t.Errorf("%s(nil) panics with %v", name, r)
			}
		}
	}}))
	for i, err := range inside {
		if !errors.Is(err, sched.ErrNilTask) {
			t.Errorf("call %d in a callback = %v, want ErrNilTask", i, err)
		}
	}
	g.Go(nil)
	if !g.TryGo(nil) {
		t.Error("TryGo(nil) = false, want true")
	}
	mustBe(t, g.Wait(), sched.ErrNilTask)

	// With one nil task among several, the call takes none of them.
	l := newLatch(2)
	one := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	two := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}
	for _, bad := range []*sched.Task{nil, new(sched.Task)} {
		mustBe(t, s.Schedule(one, bad, two), sched.ErrNilTask)
		mustBe(t, s.Do(one, bad, two), sched.ErrNilTask)
		mustBe(t, g.Schedule(nil, one, bad, two), sched.ErrNilTask)
	}
	must(t, s.Schedule(one, two))
	l.wait(t)

	if r := panicOf(func() { _ = s.Run(nil) }); r != "sched: Run: nil context" { //nolint:staticcheck // on purpose
		t.Errorf("Run(nil) panics with %v", r)
	}
	var none *sched.Scheduler
	var group *sched.Group
	for name, fn := range map[string]func(){
		"Schedule": func() { _ = none.Schedule(noTask()) },
		"Do":       func() { _ = none.Do(noTask()) },
		"Go":       func() { _ = none.Go(func() {}) },
		"Shutdown": func() { _ = none.Shutdown(context.Background()) },
		"Close":    func() { _, _ = none.Close() },
		"NewGroup": func() { none.NewGroup(sched.GroupConfig{}) },
		"Group.Go": func() { group.Go(func() error { return nil }) },
		"Wait":     func() { _ = group.Wait() },
		"Add":      func() { _ = (*sched.Batch)(nil).Add(noTask()) },
	} {
		if _, ok := panicOf(fn).(runtime.Error); !ok {
			t.Errorf("%s on nil does not panic at its caller", name)
		}
	}
	atRest(t, s)
}

// TestNilAndZeroTasks: nil tasks and tasks without a function are refused. V-01.
func TestNilAndZeroTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var b sched.Batch
	var j sched.Job[int]
	var nilJob *sched.Job[int]
	var g sched.Group
	for name, err := range map[string]error{
		"Schedule(nil)":       s.Schedule(nil),
		"Schedule(zero)":      s.Schedule(new(sched.Task)),
		"Schedule(zero job)":  s.Schedule(j.Task()),
		"Schedule(nil job)":   s.Schedule(nilJob.Task()),
		"ScheduleBatch(nil)":  s.ScheduleBatch(nil),
		"Go(nil)":             s.Go(nil),
		"Do(nil)":             s.Do(nil),
		"TryDo(nil)":          second(s.TryDo(nil)),
		"Do(zero)":            s.Do(new(sched.Task)),
		"Batch.Add(nil)":      b.Add(nil),
		"Batch.Add(zero)":     b.Add(new(sched.Task)),
		"Group.Schedule":      s.NewGroup(sched.GroupConfig{}).Schedule(nil, nil),
		"Group.ScheduleBatch": s.NewGroup(sched.GroupConfig{}).ScheduleBatch(nil, nil),
	} {
		if !errors.Is(err, sched.ErrNilTask) {
			t.Errorf("%s = %v, want ErrNilTask", name, err)
		}
	}
	mustBe(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}), sched.ErrNoScheduler)
	must(t, s.Do())
}

// TestRunRefusesNilContext: Run refuses a nil context before it enters the worker count. V-01.
func TestRunRefusesNilContext(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	func() {
		defer func() { _ = recover() }()
		_ = s.Run(nil) //nolint:staticcheck // on purpose
	}()
	if n := s.Stats().Workers; n != 0 {
		t.Errorf("%d workers counted", n)
	}
	l := newLatch(1)
	must(t, s.Go(l.hit))
	ends(t, "a task after Run(nil)", func() { <-l.done })
}

// TestAppendRefusesNil: Append of a nil batch returns an error and does not panic. V-01.
func TestAppendRefusesNil(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("Append(nil) panics: %v", r)
		}
	}()
	var b sched.Batch
	_ = b.Append(nil)
}

// TestEmptyCalls: a call that schedules no task does nothing and returns nil, also after the end
// of the scheduler.
func TestEmptyCalls(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{})
	must(t, s.Do())
	must(t, s.ScheduleBatch(new(sched.Batch)))
	must(t, g.ScheduleBatch(nil, new(sched.Batch)))
	must(t, g.Wait())
	if st := s.Stats(); st.Spawns != 0 {
		t.Errorf("nothing to do started %d workers", st.Spawns)
	}
	must(t, s.Shutdown(within(t)))
	if err := errors.Join(s.Do(), s.ScheduleBatch(new(sched.Batch)), g.Wait()); err != nil {
		t.Error(err)
	}
}
