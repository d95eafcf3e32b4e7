package sched_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/sched"
)

// A life is a scheduler with one place and no worker, so that tasks run on the
// goroutine of the test only, and what the documentation says about it.
type life struct {
	s       *sched.Scheduler
	m       loop
	jobs    []*sched.Job[int] // Value counts the runs
	queued  []bool            // by job
	ended   error             // what schedules are refused with; nil: open
	left    []*sched.Task     // queued when Close was called
	ran     int
	kids    map[int][]int // jobs that a job schedules when it runs
	stop    func()        // ends the Run when nothing is queued
	inside  func(*life)   // called by the next job that runs
	expect  func() (int, bool)
	problem string
}

func (l *life) failf(format string, args ...any) {
	if l.problem == "" {
		l.problem = fmt.Sprintf(format, args...)
	}
}

func (l *life) is(what string, got, want error) {
	if !errors.Is(got, want) || want == nil && got != nil {
		l.failf("%s = %v, want %v", what, got, want)
	}
}

// enter is the function of all jobs: the model says which one runs now.
func (l *life) enter(id int, w *sched.Worker) {
	if want, ok := l.expect(); !ok || want != id {
		l.failf("job %d runs, want %d, %v", id, want, ok)
	}
	l.ran++
	l.jobs[id].Value++
	l.queued[id] = false
	if kids := l.kids[id]; len(kids) > 0 {
		l.kids[id] = nil
		l.is("Worker.Schedule", queuedOrNil(w.Schedule(l.tasks(kids)...)), nil)
		l.m.push(kids...)
	}
	if f := l.inside; f != nil {
		l.inside = nil
		f(l)
	}
	if len(l.m.queued()) == 0 && l.stop != nil {
		l.stop()
	}
}

func (l *life) tasks(ids []int) (ts []*sched.Task) {
	for _, id := range ids {
		l.queued[id] = true
		ts = append(ts, l.jobs[id].Task())
	}
	return ts
}

// draw draws up to n jobs that are not queued, and makes those that are missing.
func (l *life) draw(t *rapid.T, n int) (ids []int) {
	for range rapid.IntRange(1, n).Draw(t, "jobs") {
		id := len(l.jobs)
		if loose := l.loose(); len(loose) > 0 && rapid.Bool().Draw(t, "again") {
			id = rapid.SampledFrom(loose).Draw(t, "job")
		} else {
			l.jobs = append(l.jobs, &sched.Job[int]{Fn: func(w *sched.Worker, _ *sched.Job[int]) { l.enter(id, w) }})
			l.queued = append(l.queued, false)
		}
		l.queued[id] = true
		ids = append(ids, id)
	}
	return ids
}

// loose returns the jobs that are the caller's.
func (l *life) loose() (ids []int) {
	for id, q := range l.queued {
		if !q {
			ids = append(ids, id)
		}
	}
	return ids
}

// pushed notes what a schedule from outside has returned for jobs.
func (l *life) pushed(what string, ids []int, err error) {
	if l.ended != nil {
		l.is(what, err, l.ended)
		for _, id := range ids {
			l.queued[id] = false
		}
		return
	}
	l.is(what, err, sched.ErrQueued)
	l.m.injection.push(ids...)
}

// insideErrors checks what callbacks must not call.
func (l *life) insideErrors() {
	ctx := context.Background()
	_, err := l.s.Close()
	l.is("Close in a callback", err, sched.ErrInCallback)
	_, err = l.s.Join(ctx)
	l.is("Join in a callback", err, sched.ErrInCallback)
	l.is("Shutdown in a callback", l.s.Shutdown(ctx), sched.ErrInCallback)
	l.is("Run in a callback", l.s.Run(ctx), sched.ErrInCallback)
}

// TestSchedulerMachine drives a scheduler with one place and a Spawner that starts
// nobody, so that all happens on one goroutine, in step with slices: jobs that are
// scheduled, one by one and in batches, with Go and with Do, run in the documented
// order, each once, when Run, Do or Shutdown come by; Close hands back what is
// queued; and each call returns what it says in each phase of a scheduler's life.
func TestSchedulerMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{kids: map[int][]int{}}
		l.m.injection.fifo = true
		s, err := sched.New(sched.Config{MaxWorkers: 1, Spawner: noSpawner{}})
		mustIn(t, err)
		l.s = s
		closed := false // nothing can run any more
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		gone, end := context.WithCancel(context.Background())
		end()
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				ids := l.draw(t, 5)
				l.pushed("Schedule", ids, s.Schedule(l.tasks(ids)...))
			},
			"schedule a batch": func(t *rapid.T) {
				ids := l.draw(t, 2*ringSize)
				var b sched.Batch
				for _, task := range l.tasks(ids) {
					l.is("Add", b.Add(task), nil)
				}
				l.pushed("ScheduleBatch", ids, s.ScheduleBatch(&b))
				if want := len(ids); l.ended != nil {
					if b.Len() != want {
						t.Fatalf("a batch that was refused holds %d tasks, want %d", b.Len(), want)
					}
					l.is("ScheduleBatch(again)", s.ScheduleBatch(&b), l.ended)
					for _, id := range ids { // they stay in the batch
						l.jobs[id] = &sched.Job[int]{Fn: l.jobs[id].Fn, Value: l.jobs[id].Value}
					}
				}
			},
			"schedule what schedules": func(t *rapid.T) {
				ids := l.draw(t, 1)
				l.kids[ids[0]] = l.draw(t, ringSize+2)
				l.pushed("Schedule", ids, s.Schedule(l.tasks(ids)...))
				if l.ended != nil {
					for _, id := range l.kids[ids[0]] {
						l.queued[id] = false
					}
					l.kids[ids[0]] = nil
				}
			},
			"go": func(t *rapid.T) {
				id := len(l.jobs)
				l.jobs = append(l.jobs, nil)
				l.queued = append(l.queued, true) // for ever: nobody has the task
				l.jobs[id] = new(sched.Job[int])
				err := s.Go(func() { l.enter(id, nil); l.queued[id] = true })
				l.pushed("Go", []int{id}, err)
				l.queued[id] = true
			},
			"refused": func(t *rapid.T) {
				l.is("Schedule(nil)", s.Schedule(nil), sched.ErrNilTask)
				l.is("Schedule(zero)", s.Schedule(new(sched.Task)), sched.ErrNilTask)
				l.is("Schedule(job without Fn)", s.Schedule(new(sched.Job[int]).Task()), sched.ErrNilTask)
				l.is("Go(nil)", s.Go(nil), sched.ErrNilTask)
				l.is("Schedule()", s.Schedule(), nil)
				l.is("Do()", s.Do(), nil)
				fresh := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.failf("a task runs that was refused") }}
				l.is("Schedule(twice the same)", s.Schedule(fresh, fresh), sched.ErrAlreadyScheduled)
				l.is("Schedule(a task and nil)", s.Schedule(fresh, nil), sched.ErrNilTask)
				if !closed && len(l.m.queued()) > 0 {
					if task := l.jobs[rapid.SampledFrom(l.m.queued()).Draw(t, "job")].Task(); task != nil {
						l.is("Schedule(queued)", s.Schedule(fresh, task), sched.ErrAlreadyScheduled)
						if l.ended == nil {
							l.is("Do(queued)", s.Do(fresh, task), sched.ErrAlreadyScheduled)
						}
					}
				}
			},
			"do": func(t *rapid.T) {
				ids := l.draw(t, 1)
				if rapid.Bool().Draw(t, "looks around") {
					l.inside = (*life).insideErrors
				}
				if l.ended != nil {
					l.inside = nil
				}
				l.expect = func() (int, bool) { return ids[0], true }
				err := s.Do(l.tasks(ids)...)
				l.is("Do", err, l.ended)
				l.queued[ids[0]] = false
			},
			"run": func(t *rapid.T) {
				if l.ended == nil && len(l.m.queued()) == 0 {
					t.Skip("nothing would end it")
				}
				if l.ended != nil {
					l.is("Run", s.Run(ctx), nil)
					return
				}
				if rapid.Bool().Draw(t, "looks around") {
					l.inside = (*life).insideErrors
				}
				l.expect = l.m.next
				run, stop := context.WithCancelCause(ctx)
				why := errors.New("no more tasks")
				l.stop = func() { stop(why) }
				l.is("Run", s.Run(run), why)
				l.stop, l.inside = nil, nil
			},
			"run not": func(*rapid.T) {
				want := context.Canceled
				if l.ended != nil {
					want = nil
				}
				l.is("Run(ended)", s.Run(gone), want)
			},
			"join too early": func(*rapid.T) {
				if l.ended == nil {
					_, err := s.Join(ctx)
					l.is("Join", err, sched.ErrNotClosed)
				}
			},
			"shutdown": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 0 {
					return
				}
				if l.ended == nil {
					l.ended, closed = sched.ErrShutdown, true
					l.m.overflow.push(slices.Concat(l.m.injection.lists...)...)
					l.m.injection.lists = nil
				}
				l.expect = l.m.next
				l.is("Shutdown", s.Shutdown(ctx), nil)
				if n := len(l.m.queued()); n > 0 && len(l.left) == 0 {
					t.Fatalf("Shutdown has left %d tasks", n)
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") != 0 {
					return
				}
				var want []*sched.Task
				strays := 0
				if l.ended == nil {
					for _, id := range l.m.queued() {
						if task := l.jobs[id].Task(); task != nil {
							want = append(want, task)
							l.queued[id] = false
						} else {
							strays++
						}
					}
					l.m = loop{}
					l.ended, closed = sched.ErrClosed, true
				}
				got, err := s.Close()
				l.is("Close", err, nil)
				for _, task := range want {
					if i := slices.Index(got, task); i >= 0 {
						got = slices.Delete(got, i, i+1)
						continue
					}
					t.Fatal("Close has not handed back a task that was queued")
				}
				if len(got) != strays {
					t.Fatalf("Close has handed back %d functions of Go, want %d", len(got), strays)
				}
			},
			"join": func(*rapid.T) {
				if l.ended != nil {
					tasks, err := s.Join(ctx)
					l.is("Join", err, nil)
					if len(tasks) != 0 {
						l.failf("Join has handed back %d tasks", len(tasks))
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
					t.Fatalf("the jobs count %d runs, want %d", runs, l.ran)
				}
			},
		})
	})
}

// A tally is what the documentation says about a group.
type tally struct {
	g        *sched.Group
	all      bool
	limit    int
	observed bool

	queued int
	funcs  int     // of those, functions
	failed []error // in the order in which they came
	panics []error // values of the panics among them
	cause  error   // of the end of the context
}

func (m *tally) fail(err error) {
	m.failed = append(m.failed, err)
	m.end(err)
}

func (m *tally) end(cause error) {
	if m.cause == nil {
		m.cause = cause
	}
}

// result checks what a Wait has returned, or raised.
func (m *tally) result(t *rapid.T, err error, raised any) {
	if m.queued != 0 {
		t.Fatalf("Wait has returned while %d tasks are queued", m.queued)
	}
	m.end(context.Canceled)
	if len(m.panics) > 0 && !m.observed {
		p, ok := raised.(*sched.PanicError)
		if !ok || !errors.Is(p, m.panics[0]) {
			t.Fatalf("Wait has raised %v, want %v", raised, m.panics[0])
		}
		return
	}
	want := m.failed
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

// TestGroupMachine compares groups with counts and lists of errors: limits,
// contexts, one error or all of them, panics raised again or handed to OnPanic,
// waits, and what Close cancels. Nobody but who waits runs a task, so that all
// happens on one goroutine.
func TestGroupMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &tally{
			all:      rapid.Bool().Draw(t, "all errors"),
			limit:    rapid.IntRange(0, 3).Draw(t, "limit"),
			observed: rapid.Bool().Draw(t, "observed"),
		}
		config := sched.Config{MaxWorkers: 1, Spawner: noSpawner{}}
		if m.observed {
			config.OnPanic = func(*sched.Task, any, []byte) {}
		}
		s, err := sched.New(config)
		mustIn(t, err)
		parent, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		m.g = s.NewGroup(sched.GroupConfig{Context: parent, Limit: m.limit, AllErrors: m.all})
		closed := false
		number := 0
		draw := func(t *rapid.T) error { // how a task fails, if it does
			number++
			if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
				return fmt.Errorf("failure %d", number)
			}
			return nil
		}
		full := func() bool { return m.limit > 0 && m.funcs == m.limit }
		function := func(err error, panics bool) func() error {
			return func() error {
				m.queued--
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
		started := func() { // a function was accepted, or the group has the refusal
			if closed {
				m.fail(sched.ErrClosed)
				return
			}
			m.queued++
			m.funcs++
		}
		room := func(t *rapid.T) { // a Wait that finds more than a ring holds takes its time
			if m.queued >= 4 {
				t.Skip("enough is queued")
			}
		}
		task := func(err error) *sched.Task {
			return &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				m.queued--
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
				room(t)
				want := sched.ErrQueued
				if closed {
					want = sched.ErrClosed
				} else {
					m.queued++
				}
				wantIn(t, "Schedule", m.g.Schedule(nil, task(draw(t))), want)
			},
			"schedule a batch": func(t *rapid.T) {
				room(t)
				var b sched.Batch
				mustIn(t, b.Add(task(draw(t))))
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
				room(t)
				if full() {
					t.Skip("it would wait")
				}
				fn := function(draw(t), rapid.IntRange(0, 3).Draw(t, "panics") == 0)
				done := make(chan struct{})
				go func() { m.g.Go(fn); close(done) }()
				select {
				case <-done:
				case <-time.After(patience):
					t.Fatalf("Go waits with %d of %d functions", m.funcs, m.limit)
				}
				started()
			},
			"go nothing": func(t *rapid.T) {
				if full() {
					t.Skip("it would wait")
				}
				m.g.Go(nil)
				m.fail(sched.ErrNilTask)
			},
			"try to go": func(t *rapid.T) {
				room(t)
				can := !full()
				if got := m.g.TryGo(function(draw(t), false)); got != can {
					t.Fatalf("TryGo = %v with %d of %d functions", got, m.funcs, m.limit)
				}
				if can {
					started()
				}
			},
			"go for good": func(t *rapid.T) { // with the limit reached, on a closed scheduler
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
						// Rapid ends a test by a panic, which is not to meet a task.
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
					t.Fatalf("Close has handed back %d tasks of a group", len(tasks))
				}
				for range m.queued {
					m.fail(sched.ErrClosed)
				}
				m.queued = 0 // and the permits of functions stay taken
			},
			"": func(t *rapid.T) {
				if got := context.Cause(m.g.Context()); !errors.Is(got, m.cause) || m.cause == nil && got != nil {
					t.Fatalf("the context of the group has ended with %v, want %v", got, m.cause)
				}
			},
		})
	})
}
