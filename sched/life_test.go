package sched_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/sched"
)

// TestShutdownDrains: Shutdown runs all accepted tasks and the tasks that they schedule.
// Z-088 to Z-092. V-05a, V-05b.
func TestShutdownDrains(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		s, err := sched.New(sched.Config{MaxWorkers: workers})
		must(t, err)
		const n = 2000
		var ran atomic.Int64
		for range n {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				ran.Add(1)
				err := w.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					w.Blocking(runtime.Gosched)
					// A callback without a place may schedule too.
					if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}); err != nil {
						t.Error(err)
					}
					ran.Add(1)
				}})
				if err != nil {
					t.Error(err)
				}
			}}))
		}
		must(t, s.Shutdown(within(t)))
		if ran.Load() != 3*n {
			t.Fatalf("%d tasks ran, want %d", ran.Load(), 3*n)
		}
		must(t, s.Shutdown(within(t))) // a second Shutdown changes nothing
		mustBe(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}), sched.ErrShutdown)
		mustBe(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}), sched.ErrShutdown)
		var b sched.Batch
		task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}
		must(t, b.Add(task))
		mustBe(t, s.ScheduleBatch(&b), sched.ErrShutdown)
		if b.Len() != 1 {
			t.Error("a refused batch lost its task")
		}
		must(t, s.Run(within(t)))
		tasks, err := s.Join(within(t))
		must(t, err)
		if len(tasks) != 0 {
			t.Errorf("Join returned %d tasks after a drain", len(tasks))
		}
	}
}

// TestShutdownOfAnUnusedScheduler: Shutdown, Close and Join of a scheduler without workers
// return at once.
func TestShutdownOfAnUnusedScheduler(t *testing.T) {
	var s sched.Scheduler
	must(t, s.Shutdown(within(t)))
	s2, err := sched.New(sched.Config{})
	must(t, err)
	tasks, err := s2.Close()
	if len(tasks) != 0 || err != nil {
		t.Errorf("Close = %v, %v", tasks, err)
	}
	_, err = s2.Join(within(t))
	must(t, err)
}

// TestShutdownWithContext: the end of the context of Shutdown ends its wait for a stuck
// callback, and the drain continues. V-06e.
func TestShutdownWithContext(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	release, started := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { started.hit(); <-release }))
	started.wait(t)
	l := newLatch(1)
	must(t, s.Go(l.hit))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mustBe(t, s.Shutdown(ctx), context.Canceled)
	mustBe(t, s.Go(func() {}), sched.ErrShutdown)
	_, err = s.Join(ctx)
	mustBe(t, err, context.Canceled)
	close(release)
	must(t, s.Shutdown(within(t)))
	l.wait(t)
}

// fewGoroutines returns when the error of a Shutdown names functions, and keeps the number of
// goroutines true until the end of the test. Goroutines of earlier tests may take time to end, and
// runtime.NumGoroutine counts ended ones while a garbage collection frees their stacks.
func fewGoroutines(t *testing.T) {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	until("few goroutines are left", func() bool { return runtime.NumGoroutine() <= sched.MaxStopped })
}

// TestEndNamesWhatIsLeft: the error of a Shutdown or Join whose context ends gives the callbacks
// that run and their functions, the tasks that are queued and the workers that have not begun, and wraps the cause.
// V-06e.
func TestEndNamesWhatIsLeft(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	check := func(s *sched.Scheduler, left string) {
		t.Helper()
		_, joined := s.Join(ctx)
		for call, err := range map[string]error{"Shutdown": s.Shutdown(ctx), "Join": joined} {
			mustBe(t, err, why)
			if want := "sched: " + call + ": " + left + ": why"; err.Error() != want {
				t.Errorf("%s = %q, want %q", call, err, want)
			}
		}
	}

	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	release, started := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { started.hit(); <-release }))
	started.wait(t)
	must(t, s.Go(func() {}))
	mustBe(t, s.Shutdown(ctx), why)
	fewGoroutines(t)
	check(s, "running callbacks: 1 (github.com/lanewright/lanewright/sched_test.TestEndNamesWhatIsLeft.func2), queued tasks: about 1")
	close(release)
	atRest(t, s)

	k := &keepSpawner{runs: make(chan func(), 1)}
	s = openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: k})
	must(t, s.Go(func() {}))
	mustBe(t, s.Shutdown(ctx), why)
	check(s, "running callbacks: 0, queued tasks: about 1, workers that the Spawner has not begun: 1")
	go (<-k.runs)()
	atRest(t, s)
}

// TestEndNamesFewFunctions: the error of a Shutdown names the most frequent functions first, and
// four of them at most.
func TestEndNamesFewFunctions(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 16})
	h := &inspected{s: s, begun: newLatch(9), end: make(chan struct{})}
	for _, fn := range []func(*sched.Worker, *sched.Task){h.byDo, h.byRun, h.byTryDo, h.bySchedule, h.byRun, h.blocking, h.afterBlocking, h.byRun, h.byDo} {
		must(t, s.Schedule(&sched.Task{Fn: fn}))
	}
	h.begun.wait(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("why"))
	fewGoroutines(t)
	got := strings.ReplaceAll(s.Shutdown(ctx).Error(), "github.com/lanewright/lanewright/sched_test.(*inspected).", "")
	want := "sched: Shutdown: running callbacks: 9 (3 times byRun, 2 times byDo, afterBlocking, blocking, and others), queued tasks: about 0: why"
	if got = strings.ReplaceAll(got, "-fm", ""); got != want {
		t.Errorf("Shutdown = %q, want %q", got, want)
	}
	close(h.end)
	atRest(t, s)
}

// TestCloseReturnsUnrunTasks: each accepted task either runs, or Close or Join returns it,
// exactly once. Z-096. V-05a.
func TestCloseReturnsUnrunTasks(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 500
	}
	for round := range 40 {
		s, err := sched.New(sched.Config{MaxWorkers: 1 + round%3})
		must(t, err)
		var accepted, ran atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range n {
					err := s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
						ran.Add(1)
						accepted.Add(1)
						err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})
						if err != nil {
							accepted.Add(-1)
							if !errors.Is(err, sched.ErrClosed) {
								t.Error(err)
							}
						}
					}})
					if errors.Is(err, sched.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
					}
					accepted.Add(1)
				}
			})
		}
		for range round * 10 {
			runtime.Gosched()
		}
		now, err := s.Close()
		must(t, err)
		wg.Wait()
		later, err := s.Join(within(t))
		must(t, err)
		for _, task := range append(now, later...) {
			if task.Fn == nil {
				t.Fatal("a returned task has no Fn")
			}
		}
		if got, want := ran.Load()+int64(len(now)+len(later)), accepted.Load(); got != want {
			t.Fatalf("round %d: %d ran and %d + %d were returned, want %d together",
				round, ran.Load(), len(now), len(later), want)
		}
		again, err := s.Close()
		must(t, err)
		if len(again) != 0 {
			t.Errorf("the second Close returned %d tasks", len(again))
		}
	}
}

// TestCloseCancelsGroups: after Close, waits for a group and queued calls of Do return
// ErrClosed. V-12a.
func TestCloseCancelsGroups(t *testing.T) {
	for range 50 {
		s, err := sched.New(sched.Config{MaxWorkers: 1})
		must(t, err)
		started, release := newLatch(1), make(chan struct{})
		g := s.NewGroup(sched.GroupConfig{})
		g.Go(func() error { started.hit(); <-release; return nil })
		started.wait(t)
		for range 300 {
			g.Go(func() error { return nil })
		}
		waits := make(chan error, 2)
		go func() { waits <- g.Wait() }()
		doing := make(chan struct{})
		go func() {
			close(doing)
			waits <- s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {}})
		}()
		<-doing
		_, err = s.Close()
		must(t, err)
		if err := g.Context().Err(); err == nil {
			t.Error("the context of a cancelled group is not cancelled")
		}
		close(release)
		for range 2 {
			if err := <-waits; err != nil && !errors.Is(err, sched.ErrClosed) {
				t.Error(err)
			}
		}
		mustBe(t, g.Wait(), sched.ErrClosed)
		_, err = s.Join(within(t))
		must(t, err)
	}
}

// TestEndFromACallbackIsRefused: a call that would wait for its own callback returns
// ErrInCallback. V-05c.
func TestEndFromACallbackIsRefused(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	other := newScheduler(t, sched.Config{MaxWorkers: 1})
	check := func(where string) {
		_, closeErr := s.Close()
		_, joinErr := s.Join(context.Background())
		for name, err := range map[string]error{
			"Shutdown": s.Shutdown(context.Background()),
			"Close":    closeErr,
			"Join":     joinErr,
			"Run":      s.Run(context.Background()),
		} {
			if !errors.Is(err, sched.ErrInCallback) {
				t.Errorf("%s from %s = %v, want ErrInCallback", name, where, err)
			}
		}
	}
	l := newLatch(1)
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		check("a worker")
		w.Blocking(func() { check("Blocking") })
		check("a worker without a place")
		l.hit()
	}}))
	l.wait(t)
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		check("Do")
		w.Blocking(func() {})
		check("Do without a place")
	}}))
	ctx, cancel := context.WithCancel(context.Background())
	must(t, other.Go(func() {}))
	must(t, s.Go(func() { check("a worker that Run may be"); cancel() }))
	mustBe(t, s.Run(ctx), context.Canceled)
	// A callback may end another scheduler.
	third, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		if err := third.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}}))
}

// TestJoinBeforeClose: Join of an open scheduler returns ErrNotClosed.
func TestJoinBeforeClose(t *testing.T) {
	s := newScheduler(t, sched.Config{})
	_, err := s.Join(within(t))
	mustBe(t, err, sched.ErrNotClosed)
}

// TestJoinWaitsForCallbacks: Join waits for each kind of callback. One that has blocked holds no place
// and is in no worker count. Z-091, Z-092, Z-095. V-06e.
func TestJoinWaitsForCallbacks(t *testing.T) {
	running := func(_ *sched.Worker, fn func()) { fn() }
	blocked := func(w *sched.Worker, fn func()) { w.Blocking(fn) }
	tests := []struct {
		name     string
		schedule func(s *sched.Scheduler, task *sched.Task) error
		run      func(w *sched.Worker, fn func())
	}{
		{"task", func(s *sched.Scheduler, task *sched.Task) error { return s.Schedule(task) }, running},
		{"blocked task", func(s *sched.Scheduler, task *sched.Task) error { return s.Schedule(task) }, blocked},
		{"Do", func(s *sched.Scheduler, task *sched.Task) error { return s.Do(task) }, running},
		{"blocked Do", func(s *sched.Scheduler, task *sched.Task) error { return s.Do(task) }, blocked},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: 2})
			must(t, err)
			started, release, done := newLatch(1), make(chan struct{}), make(chan error, 1)
			var ended atomic.Bool
			go func() {
				done <- tc.schedule(s, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					tc.run(w, func() { started.hit(); <-release })
					ended.Store(true)
				}})
			}()
			started.wait(t)
			_, err = s.Close()
			must(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err = s.Join(ctx)
			mustBe(t, err, context.Canceled)
			close(release)
			_, err = s.Join(within(t))
			must(t, err)
			if !ended.Load() {
				t.Error("Join has returned before the callback")
			}
			must(t, <-done)
		})
	}
}

// TestRefusedTasksStayWithTheCaller: another scheduler accepts the tasks of a refused call, whether
// an external caller or a callback has made the call. Z-089.
func TestRefusedTasksStayWithTheCaller(t *testing.T) {
	other := newScheduler(t, sched.Config{MaxWorkers: 1})
	const calls, tasksOfACall = 3, 4
	l := newLatch(calls * tasksOfACall)
	task := func() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }} }
	refuse := func(by string, schedule func(...*sched.Task) error, scheduleBatch func(*sched.Batch) error, want error) {
		check := func(what string, got, want error) {
			if !errors.Is(got, want) {
				t.Errorf("%s: %s = %v, want %v", by, what, got, want)
			}
		}
		one, two, three, last := task(), task(), task(), task()
		check("Schedule of one", schedule(one), want)
		check("Schedule of one elsewhere", other.Schedule(one), nil)
		check("Schedule of two", schedule(two, three), want)
		check("Schedule of two elsewhere", other.Schedule(two, three), nil)
		var b sched.Batch
		check("Add", b.Add(last), nil)
		check("ScheduleBatch", scheduleBatch(&b), want)
		check("ScheduleBatch elsewhere", other.ScheduleBatch(&b), nil)
	}

	drained, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	must(t, drained.Shutdown(within(t)))
	refuse("after Shutdown", drained.Schedule, drained.ScheduleBatch, sched.ErrShutdown)

	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		closed := make(chan error)
		go func() {
			_, err := s.Close()
			closed <- err
		}()
		if err := <-closed; err != nil {
			t.Error(err)
		}
		refuse("in a callback after Close", w.Schedule, w.ScheduleBatch, sched.ErrClosed)
	}}))
	refuse("after Close", s.Schedule, s.ScheduleBatch, sched.ErrClosed)
	if !t.Failed() {
		l.wait(t)
	}
}

// TestConcurrentEnds: concurrent calls of Shutdown, Close and Join return while tasks run.
// V-05b.
func TestConcurrentEnds(t *testing.T) {
	for round := range 30 {
		s, err := sched.New(sched.Config{MaxWorkers: 2})
		must(t, err)
		for range 50 * (round % 3) {
			must(t, s.Go(runtime.Gosched))
		}
		var wg sync.WaitGroup
		for i := range 9 {
			wg.Go(func() {
				switch i % 3 {
				case 0:
					if err := s.Shutdown(within(t)); err != nil {
						t.Error(err)
					}
				case 1:
					if _, err := s.Close(); err != nil {
						t.Error(err)
					}
				case 2:
					if _, err := s.Join(within(t)); err != nil && !errors.Is(err, sched.ErrNotClosed) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		_, err = s.Join(within(t))
		must(t, err)
	}
}

// TestScheduleDuringShutdown: a task that an external caller schedules during a Shutdown is
// either refused, or has run when Shutdown returns. V-05a, V-05b.
func TestScheduleDuringShutdown(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	for round := range rounds {
		s, err := sched.New(sched.Config{MaxWorkers: 1 + round%3})
		must(t, err)
		var accepted, ran atomic.Int64
		var callers sync.WaitGroup
		begun := newLatch(3)
		for range 3 {
			callers.Go(func() {
				for i := 0; ; i++ {
					if i == round {
						begun.hit()
					}
					task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}
					schedule := s.Schedule
					if i%5 == 0 {
						schedule = s.Do
					}
					switch err := schedule(task); {
					case err == nil:
						accepted.Add(1)
						runtime.Gosched()
					case errors.Is(err, sched.ErrShutdown):
						return
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		begun.wait(t)
		var ends sync.WaitGroup
		for range 2 {
			ends.Go(func() {
				if err := s.Shutdown(within(t)); err != nil {
					t.Error(err)
				}
			})
		}
		ends.Wait()
		atTheEnd := ran.Load()
		callers.Wait()
		if ran.Load() != accepted.Load() || atTheEnd != ran.Load() {
			t.Fatalf("round %d: %d accepted, %d ran, %d of them before Shutdown returned",
				round, accepted.Load(), ran.Load(), atTheEnd)
		}
		atRest(t, s)
	}
}

// TestCallbacksScheduleWhileDraining: while the scheduler drains, callbacks may schedule without
// their Worker. V-05a.
func TestCallbacksScheduleWhileDraining(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	release, started := make(chan struct{}), newLatch(1)
	var viaGo, viaSchedule, viaGroup, viaDo error
	must(t, s.Go(func() {
		started.hit()
		<-release
		viaGo = s.Go(func() {})
		viaSchedule = s.Schedule(noTask())
		g := s.NewGroup(sched.GroupConfig{})
		g.Go(func() error { return nil })
		viaGroup = g.Wait()
		viaDo = s.Do(noTask())
	}))
	started.wait(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mustBe(t, s.Shutdown(ctx), context.Canceled)
	close(release)
	must(t, s.Shutdown(within(t)))
	if viaGo != nil || viaSchedule != nil || viaGroup != nil || viaDo != nil {
		t.Fatalf("in a callback while the scheduler drains: Go %v; Schedule %v; Group.Go %v; Do %v", viaGo, viaSchedule, viaGroup, viaDo)
	}
}

// TestShutdownContainsPanics: a Shutdown that runs tasks itself contains their panics.
func TestShutdownContainsPanics(t *testing.T) {
	var hooked atomic.Int64
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: never(), OnPanic: func(*sched.Task, any, []byte) { hooked.Add(1) }})
	g := s.NewGroup(sched.GroupConfig{})
	_ = g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }})
	var r any
	func() {
		defer func() { r = recover() }()
		_ = s.Shutdown(context.Background())
	}()
	if r != nil || hooked.Load() != 1 {
		t.Errorf("Shutdown panicked with %v; OnPanic was called %d times", r, hooked.Load())
	}
	ends(t, "Wait of the group", func() { _ = g.Wait() })
}

// TestJoinContinuesDrain: Join completes the drain of a Shutdown whose context has ended.
func TestJoinContinuesDrain(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	release, started := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { started.hit(); <-release }))
	started.wait(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mustBe(t, s.Shutdown(ctx), context.Canceled)
	close(release)
	ends(t, "Join of a scheduler that drains", func() { _, _ = s.Join(context.Background()) })
}

// TestCloseCancelsQueuedDo: a Do that waits for a place when the scheduler is closed returns
// ErrClosed, and its task never runs. A call that runs ends with its own result. V-12a.
func TestCloseCancelsQueuedDo(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	release, started := make(chan struct{}), newLatch(1)
	running := s.NewGroup(sched.GroupConfig{})
	running.Go(func() error { started.hit(); <-release; return errNoSpawn })
	started.wait(t)
	ran := false
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}
	result := make(chan error, 1)
	go func() { result <- s.Do(task) }()
	for !s.AnyQueued() {
		runtime.Gosched()
	}
	tasks, err := s.Close()
	must(t, err)
	mustBe(t, <-result, sched.ErrClosed)
	close(release)
	mustBe(t, running.Wait(), errNoSpawn)
	later, err := s.Join(within(t))
	must(t, err)
	if len(tasks)+len(later) != 0 || ran {
		t.Errorf("%d tasks were returned, ran: %v", len(tasks)+len(later), ran)
	}
	mustBe(t, s.Do(task), sched.ErrClosed) // the task is free again, and the closed scheduler refuses it
}

// TestEndWakesAllWorkers: Shutdown and Close wake every parked worker and every caller of Run.
// Shutdown and Join return when the last worker has left. In a bubble a worker that stays parked
// is a deadlock report. Z-016, Z-084, Z-088, Z-090 to Z-092.
func TestEndWakesAllWorkers(t *testing.T) {
	const workers, runners = 6, 3
	for _, closing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, err := sched.New(sched.Config{MaxWorkers: workers})
			must(t, err)
			l := newLatch(workers)
			for range workers {
				must(t, s.Go(func() { l.hit(); <-l.done }))
			}
			<-l.done
			ran := make(chan error, runners)
			for range runners {
				go func() { ran <- s.Run(context.Background()) }()
			}
			synctest.Wait()
			if st := s.Stats(); st.Parked != workers+runners {
				t.Fatalf("before the end: Stats = %+v", st)
			}
			if closing {
				tasks, err := s.Close()
				must(t, err)
				later, err := s.Join(context.Background())
				must(t, err)
				if len(tasks)+len(later) != 0 {
					t.Errorf("an idle scheduler returned %d tasks", len(tasks)+len(later))
				}
			} else {
				must(t, s.Shutdown(context.Background()))
			}
			if st := s.Stats(); st.Workers != 0 || st.Parked != 0 || st.Held != 0 {
				t.Errorf("after the end: Stats = %+v", st)
			}
			for range runners {
				must(t, <-ran)
			}
		})
	}
}
