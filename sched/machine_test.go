package sched_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/patience"
	"github.com/lanewright/lanewright/sched"
)

// A machine is a scheduler with one place and no worker, and the state that the
// documentation promises. Tasks run on the goroutine of the test only.
type machine struct {
	s        *sched.Scheduler
	m        placeModel
	jobs     []*sched.Job[int] // Value counts the runs
	queued   []bool            // by job
	refusal  error             // the error of a schedule after the end; nil while open
	left     []*sched.Task     // queued when Close was called
	ran      int
	children map[int][]int  // the jobs that a job schedules when it runs
	stop     func()         // ends the Run when nothing is queued
	inside   func(*machine) // called by the next job that runs
	expect   func() (int, bool)
	problem  string
}

func (l *machine) failf(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func (l *machine) check(what string, got, want error) {
	if !errors.Is(got, want) || want == nil && got != nil {
		l.failf("%s = %v, want %v", what, got, want)
	}
}

// enter is the function of all jobs. It compares the job with the one that the model expects.
func (l *machine) enter(id int, w *sched.Worker) {
	if want, ok := l.expect(); !ok || want != id {
		l.failf("job %d runs, want %d, %v", id, want, ok)
	}
	l.ran++
	l.jobs[id].Value++
	l.queued[id] = false
	if children := l.children[id]; len(children) > 0 {
		l.children[id] = nil
		l.check("Worker.Schedule", queuedOrNil(w.Schedule(l.tasks(children)...)), nil)
		l.m.push(children...)
	}
	if f := l.inside; f != nil {
		l.inside = nil
		f(l)
	}
	if len(l.m.queued()) == 0 && l.stop != nil {
		l.stop()
	}
}

func (l *machine) tasks(ids []int) (ts []*sched.Task) {
	for _, id := range ids {
		l.queued[id] = true
		ts = append(ts, l.jobs[id].Task())
	}
	return ts
}

// pick picks up to n jobs that are not queued, new ones among them.
func (l *machine) pick(t *rapid.T, n int) (ids []int) {
	for range rapid.IntRange(1, n).Draw(t, "jobs") {
		id := len(l.jobs)
		if unqueued := l.unqueued(); len(unqueued) > 0 && rapid.Bool().Draw(t, "again") {
			id = rapid.SampledFrom(unqueued).Draw(t, "job")
		} else {
			l.jobs = append(l.jobs, &sched.Job[int]{Fn: func(w *sched.Worker, _ *sched.Job[int]) { l.enter(id, w) }})
			l.queued = append(l.queued, false)
		}
		l.queued[id] = true
		ids = append(ids, id)
	}
	return ids
}

// unqueued returns the jobs that are not queued.
func (l *machine) unqueued() (ids []int) {
	for id, q := range l.queued {
		if !q {
			ids = append(ids, id)
		}
	}
	return ids
}

// pushed checks the result of a schedule by an external caller and records it.
func (l *machine) pushed(what string, ids []int, err error) {
	if l.refusal != nil {
		l.check(what, err, l.refusal)
		for _, id := range ids {
			l.queued[id] = false
		}
		return
	}
	l.check(what, err, sched.ErrQueued)
	l.m.injection.push(ids...)
}

// insideErrors checks that callbacks cannot end the scheduler or join it.
func (l *machine) insideErrors() {
	ctx := context.Background()
	_, err := l.s.Close()
	l.check("Close in a callback", err, sched.ErrInCallback)
	_, err = l.s.Join(ctx)
	l.check("Join in a callback", err, sched.ErrInCallback)
	l.check("Shutdown in a callback", l.s.Shutdown(ctx), sched.ErrInCallback)
	l.check("Run in a callback", l.s.Run(ctx), sched.ErrInCallback)
}

// TestSchedulerMachine: a scheduler with one place and no workers behaves like its model of
// slices. Jobs run once and in the documented order when Run, Do or Shutdown runs them. Close
// returns the queued jobs, and each call returns its documented result before and after the end.
func TestSchedulerMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &machine{children: map[int][]int{}}
		l.m.injection.fifo = true
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		mustIn(t, err)
		l.s = s
		closed := false // no job runs any more
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended, end := context.WithCancel(context.Background())
		end()
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				ids := l.pick(t, 5)
				l.pushed("Schedule", ids, s.Schedule(l.tasks(ids)...))
			},
			"schedule a batch": func(t *rapid.T) {
				ids := l.pick(t, 2*ringSize)
				var b sched.Batch
				for _, task := range l.tasks(ids) {
					l.check("Add", b.Add(task), nil)
				}
				l.pushed("ScheduleBatch", ids, s.ScheduleBatch(&b))
				if want := len(ids); l.refusal != nil {
					if b.Len() != want {
						t.Fatalf("a refused batch holds %d tasks, want %d", b.Len(), want)
					}
					l.check("ScheduleBatch(again)", s.ScheduleBatch(&b), l.refusal)
					for _, id := range ids { // the jobs stay in the batch
						l.jobs[id] = &sched.Job[int]{Fn: l.jobs[id].Fn, Value: l.jobs[id].Value}
					}
				}
			},
			"schedule a parent": func(t *rapid.T) {
				ids := l.pick(t, 1)
				l.children[ids[0]] = l.pick(t, ringSize+2)
				l.pushed("Schedule", ids, s.Schedule(l.tasks(ids)...))
				if l.refusal != nil {
					for _, id := range l.children[ids[0]] {
						l.queued[id] = false
					}
					l.children[ids[0]] = nil
				}
			},
			"go": func(t *rapid.T) {
				id := len(l.jobs)
				l.jobs = append(l.jobs, nil)
				l.queued = append(l.queued, true) // for ever, because the task of Go is not accessible
				l.jobs[id] = new(sched.Job[int])
				err := s.Go(func() { l.enter(id, nil); l.queued[id] = true })
				l.pushed("Go", []int{id}, err)
				l.queued[id] = true
			},
			"refused": func(t *rapid.T) {
				l.check("Schedule(nil)", s.Schedule(nil), sched.ErrNilTask)
				l.check("Schedule(zero)", s.Schedule(new(sched.Task)), sched.ErrNilTask)
				l.check("Schedule(job without Fn)", s.Schedule(new(sched.Job[int]).Task()), sched.ErrNilTask)
				l.check("Go(nil)", s.Go(nil), sched.ErrNilTask)
				l.check("Schedule()", s.Schedule(), nil)
				l.check("Do()", s.Do(), nil)
				fresh := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.failf("a refused task runs") }}
				l.check("Schedule(twice the same)", s.Schedule(fresh, fresh), sched.ErrAlreadyScheduled)
				l.check("Schedule(a task and nil)", s.Schedule(fresh, nil), sched.ErrNilTask)
				if !closed && len(l.m.queued()) > 0 {
					if task := l.jobs[rapid.SampledFrom(l.m.queued()).Draw(t, "job")].Task(); task != nil {
						l.check("Schedule(queued)", s.Schedule(fresh, task), sched.ErrAlreadyScheduled)
						if l.refusal == nil {
							l.check("Do(queued)", s.Do(fresh, task), sched.ErrAlreadyScheduled)
						}
					}
				}
			},
			"do": func(t *rapid.T) {
				ids := l.pick(t, 1)
				if rapid.Bool().Draw(t, "calls from inside") {
					l.inside = (*machine).insideErrors
				}
				if l.refusal != nil {
					l.inside = nil
				}
				l.expect = func() (int, bool) { return ids[0], true }
				err := s.Do(l.tasks(ids)...)
				l.check("Do", err, l.refusal)
				l.queued[ids[0]] = false
			},
			"run": func(t *rapid.T) {
				if l.refusal == nil && len(l.m.queued()) == 0 {
					t.Skip("no job would end the Run")
				}
				if l.refusal != nil {
					l.check("Run", s.Run(ctx), nil)
					return
				}
				if rapid.Bool().Draw(t, "calls from inside") {
					l.inside = (*machine).insideErrors
				}
				l.expect = l.m.next
				run, stop := context.WithCancelCause(ctx)
				why := errors.New("no more tasks")
				l.stop = func() { stop(why) }
				l.check("Run", s.Run(run), why)
				l.stop, l.inside = nil, nil
			},
			"run with an ended context": func(*rapid.T) {
				want := context.Canceled
				if l.refusal != nil {
					want = nil
				}
				l.check("Run(ended)", s.Run(ended), want)
			},
			"join too early": func(*rapid.T) {
				if l.refusal == nil {
					_, err := s.Join(ctx)
					l.check("Join", err, sched.ErrNotClosed)
				}
			},
			"shutdown": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 0 {
					return
				}
				if l.refusal == nil {
					l.refusal, closed = sched.ErrShutdown, true
					l.m.overflow.push(slices.Concat(l.m.injection.lists...)...)
					l.m.injection.lists = nil
				}
				l.expect = l.m.next
				l.check("Shutdown", s.Shutdown(ctx), nil)
				if n := len(l.m.queued()); n > 0 && len(l.left) == 0 {
					t.Fatalf("Shutdown left %d tasks", n)
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 0 {
					return
				}
				var want []*sched.Task
				strays := 0
				if l.refusal == nil {
					for _, id := range l.m.queued() {
						if task := l.jobs[id].Task(); task != nil {
							want = append(want, task)
							l.queued[id] = false
						} else {
							strays++
						}
					}
					l.m = placeModel{}
					l.refusal, closed = sched.ErrClosed, true
				}
				got, err := s.Close()
				l.check("Close", err, nil)
				for _, task := range want {
					if i := slices.Index(got, task); i >= 0 {
						got = slices.Delete(got, i, i+1)
						continue
					}
					t.Fatal("Close did not return a queued task")
				}
				if len(got) != strays {
					t.Fatalf("Close returned %d functions of Go, want %d", len(got), strays)
				}
			},
			"join": func(*rapid.T) {
				if l.refusal != nil {
					tasks, err := s.Join(ctx)
					l.check("Join", err, nil)
					if len(tasks) != 0 {
						l.failf("Join returned %d tasks", len(tasks))
					}
				}
			},
			"": func(t *rapid.T) {
				if l.problem != "" {
					t.Fatal(l.problem)
				}
				st := s.Stats()
				if st.Executed != uint64(l.ran) || st.Places != 1 || st.Held != 0 || st.Workers != 0 ||
					st.Parked != 0 || st.Spawns != 0 || st.Wakes != 0 || st.Steals != 0 {
					t.Fatalf("%d tasks ran, Stats = %+v", l.ran, st)
				}
				if s.MaxWorkers() != 1 {
					t.Fatalf("MaxWorkers = %d", s.MaxWorkers())
				}
				runs := 0
				for _, j := range l.jobs {
					runs += j.Value
				}
				if runs != l.ran {
					t.Fatalf("the jobs counted %d runs, want %d", runs, l.ran)
				}
			},
		})
	})
}

// A groupState is a group and the state that the documentation promises.
type groupState struct {
	g        *sched.Group
	all      bool
	limit    int
	observed bool

	runAll  bool
	ended   error // the cause of the end of the Context of the group
	noted   bool  // a task was skipped because of ended
	problem string

	queued int
	funcs  int     // the functions among them
	failed []error // in the order of the failures
	panics []error // values of the panics among them
	cause  error   // the cause of the end of the context
}

func (m *groupState) fail(err error) {
	m.failed = append(m.failed, err)
	m.end(err)
}

func (m *groupState) end(cause error) {
	if m.cause == nil {
		m.cause = cause
	}
}

// skips reports whether a task that is entered now is skipped.
func (m *groupState) skips() bool { return !m.runAll && (m.ended != nil || len(m.failed) > 0) }

// enter records that a task is entered.
func (m *groupState) enter() {
	m.queued--
	if m.skips() {
		m.problem = "a task ran that had to be skipped"
	}
}

// result checks the error that a Wait returned, or the panic that it raised.
func (m *groupState) result(t *rapid.T, err error, raised any) {
	if m.problem != "" {
		t.Fatal(m.problem)
	}
	if m.skips() && m.queued > 0 {
		m.noted = m.noted || m.ended != nil
		m.queued, m.funcs = 0, 0
	}
	if m.queued != 0 {
		t.Fatalf("Wait returned while %d tasks were queued", m.queued)
	}
	m.end(context.Canceled)
	if len(m.panics) > 0 && !m.observed {
		p, ok := raised.(*sched.PanicError)
		if !ok || !errors.Is(p, m.panics[0]) {
			t.Fatalf("Wait raised %v, want %v", raised, m.panics[0])
		}
		return
	}
	want := slices.Clone(m.failed)
	if m.noted {
		want = append(want, m.ended)
	}
	if !m.all {
		want = want[:min(1, len(want))]
	}
	got := []error{err}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		got = j.Unwrap()
	}
	if err == nil {
		got = nil
	}
	if raised != nil || !slices.EqualFunc(got, want, func(g, w error) bool { return errors.Is(g, w) }) {
		t.Fatalf("Wait = %v, raised %v, want %v", err, raised, want)
	}
}

// TestGroupMachine: a group behaves like its model of counts and lists of errors. The model
// covers limits, contexts, skipped tasks, first and all errors, panics with and without
// OnPanic. It also covers waits and Close. Only waiters run tasks, so that the test uses one
// goroutine.
func TestGroupMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &groupState{
			all:      rapid.Bool().Draw(t, "all errors"),
			limit:    rapid.IntRange(0, 3).Draw(t, "limit"),
			observed: rapid.Bool().Draw(t, "observed"),
			runAll:   rapid.Bool().Draw(t, "run all"),
		}
		config := sched.Config{MaxWorkers: 1, Spawner: noSpawner{}}
		if m.observed {
			config.OnPanic = func(*sched.Task, any, []byte) {}
		}
		s, err := sched.New(config)
		mustIn(t, err)
		parent, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		m.g = s.NewGroup(sched.GroupConfig{Context: parent, Limit: m.limit, AllErrors: m.all, RunAll: m.runAll})
		closed := false
		number := 0
		failure := func(t *rapid.T) error { // the error of a task, or nil
			number++
			if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
				return fmt.Errorf("failure %d", number)
			}
			return nil
		}
		full := func() bool { return m.limit > 0 && m.funcs == m.limit }
		function := func(err error, panics bool) func() error {
			return func() error {
				m.enter()
				m.funcs--
				if err != nil {
					m.fail(err)
				}
				if err != nil && panics {
					m.panics = append(m.panics, err)
					panic(err)
				}
				return err
			}
		}
		started := func() { // a function was accepted, or the group recorded the refusal
			if closed {
				m.fail(sched.ErrClosed)
				return
			}
			m.queued++
			m.funcs++
		}
		limitQueue := func(t *rapid.T) { // a Wait for more tasks than a ring holds is slow
			if m.queued >= 4 {
				t.Skip("enough tasks are queued")
			}
		}
		task := func(err error) *sched.Task {
			return &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				m.enter()
				if err != nil {
					m.fail(err)
					m.panics = append(m.panics, err)
					panic(err)
				}
			}}
		}
		wait := func(t *rapid.T, call func() error) {
			var err error
			var raised any
			func() {
				defer func() { raised = recover() }()
				err = call()
			}()
			m.result(t, err, raised)
		}
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				limitQueue(t)
				want := sched.ErrQueued
				if closed {
					want = sched.ErrClosed
				} else {
					m.queued++
				}
				wantIn(t, "Schedule", m.g.Schedule(nil, task(failure(t))), want)
			},
			"schedule a batch": func(t *rapid.T) {
				limitQueue(t)
				var b sched.Batch
				mustIn(t, b.Add(task(failure(t))))
				mustIn(t, b.Add(task(nil)))
				want := sched.ErrQueued
				if closed {
					want = sched.ErrClosed
				} else {
					m.queued += 2
				}
				wantIn(t, "ScheduleBatch", m.g.ScheduleBatch(nil, &b), want)
			},
			"schedule nothing": func(t *rapid.T) {
				wantIn(t, "Schedule(nil)", m.g.Schedule(nil, nil), sched.ErrNilTask)
				var zero sched.Group
				wantIn(t, "Schedule(a zero group)", zero.Schedule(nil, task(nil)), sched.ErrNoScheduler)
				mustIn(t, zero.Wait())
			},
			"go": func(t *rapid.T) {
				limitQueue(t)
				if full() {
					t.Skip("the call would wait")
				}
				fn := function(failure(t), rapid.IntRange(0, 3).Draw(t, "panics") == 0)
				done := make(chan struct{})
				go func() { m.g.Go(fn); close(done) }()
				select {
				case <-done:
				case <-time.After(patience.Limit):
					t.Fatalf("Go waits with %d of %d functions", m.funcs, m.limit)
				}
				started()
			},
			"go nothing": func(t *rapid.T) {
				if full() {
					t.Skip("the call would wait")
				}
				m.g.Go(nil)
				m.fail(sched.ErrNilTask)
			},
			"try to go": func(t *rapid.T) {
				limitQueue(t)
				can := !full()
				if got := m.g.TryGo(function(failure(t), false)); got != can {
					t.Fatalf("TryGo = %v with %d of %d functions", got, m.funcs, m.limit)
				}
				if can {
					started()
				}
			},
			"go without a permit": func(t *rapid.T) { // at the limit, on a closed scheduler
				if !closed || !full() {
					t.Skip("not full, or not closed")
				}
				m.g.Go(func() error { return nil })
				m.fail(sched.ErrClosed)
			},
			"wait": func(t *rapid.T) { wait(t, m.g.Wait) },
			"wait with a context": func(t *rapid.T) {
				wait(t, func() error { return m.g.WaitContext(context.Background()) })
			},
			"wait inside": func(t *rapid.T) {
				if closed {
					t.Skip("closed")
				}
				mustIn(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					defer func() {
						// Rapid ends a test by a panic, which a task must not contain.
						if r := recover(); r != nil {
							t.Fatal(r)
						}
					}()
					if m.queued == 0 {
						wait(t, func() error { return w.Wait(m.g) })
					}
				}}))
			},
			"end the parent": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") != 0 {
					return
				}
				err := errors.New("parent ended")
				if context.Cause(parent) == nil {
					m.ended = err
					cancel(err)
					m.end(err)
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 14).Draw(t, "rarely") != 0 || closed {
					return
				}
				closed = true
				tasks, err := s.Close()
				mustIn(t, err)
				if len(tasks) != 0 {
					t.Fatalf("Close returned %d tasks of a group", len(tasks))
				}
				for range m.queued {
					m.fail(sched.ErrClosed)
				}
				m.queued = 0 // the permits of the functions stay taken
			},
			"": func(t *rapid.T) {
				if got := context.Cause(m.g.Context()); !errors.Is(got, m.cause) || m.cause == nil && got != nil {
					t.Fatalf("the context of the group ended with %v, want %v", got, m.cause)
				}
			},
		})
	})
}
