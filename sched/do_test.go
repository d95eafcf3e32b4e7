package sched_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/lanewright/lanewright/sched"
)

// second returns the error of a TryDo.
func second(_ bool, err error) error { return err }

// TestTryDo: TryDo runs the task on the goroutine of the caller when that goroutine has a place
// or gets one, and otherwise leaves the task to the caller.
func TestTryDo(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	ran := 0
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran++ }}
	try := func(want bool, wantErr error) {
		t.Helper()
		before := ran
		did, err := s.TryDo(task)
		mustBe(t, err, wantErr)
		if did != want || ran-before != map[bool]int{true: 1}[want] {
			t.Fatalf("TryDo = %t, and the task ran %d times", did, ran-before)
		}
	}
	try(true, nil)
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		try(true, nil) // on top of a task
		other := make(chan struct{})
		go func() {
			defer close(other)
			try(false, nil) // the only place is held
		}()
		<-other
	}}))
	try(true, nil)
	must(t, s.Shutdown(within(t)))
	try(false, sched.ErrShutdown)
}

// TestTryDoRefuses: a refused task has not run. TryDo is called outside of a callback, in a
// callback, and in one that has blocked. All of this is done with and without an OnPanic hook.
// In a bubble, a Do that never ends fails this test at once.
func TestTryDoRefuses(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"plain":    {MaxWorkers: 1},
		"observed": {MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sched.New(c)
				must(t, err)
				tryRefused(t, s)
				must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					tryRefused(t, s)
					w.Blocking(func() {})
					tryRefused(t, s)
				}}))
				begun, gate, ended := newLatch(1), newLatch(1), newLatch(1)
				must(t, s.Go(func() {
					defer ended.hit()
					begun.hit()
					gate.wait(t)
					tryIs(t, s, new(sched.Task), sched.ErrClosed)
				}))
				begun.wait(t)
				_, err = s.Close()
				must(t, err)
				gate.hit()
				ended.wait(t)
				_, err = s.Join(within(t))
				must(t, err)
			})
		})
	}
}

// tryRefused passes to TryDo the tasks that an open scheduler refuses.
func tryRefused(t *testing.T, s *sched.Scheduler) {
	t.Helper()
	tryIs(t, s, nil, sched.ErrNilTask)
	var b sched.Batch
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { t.Error("a task of a batch ran") }}
	must(t, b.Add(task))
	tryIs(t, s, task, sched.ErrAlreadyScheduled)
}

// tryIs checks that TryDo refuses task with the error want.
func tryIs(t *testing.T, s *sched.Scheduler, task *sched.Task, want error) {
	t.Helper()
	if ran, err := s.TryDo(task); ran || !errors.Is(err, want) {
		t.Errorf("TryDo = %t, %v, want false, %v", ran, err, want)
	}
}

// TestDoInACallbackReturns: a Do in a callback returns, and so does a wait inside that Do.
func TestDoInACallbackReturns(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var ran atomic.Int64
		leaf := func() *sched.Task {
			return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }}
		}
		l := newLatch(10)
		for range 10 {
			must(t, s.Go(func() {
				err := s.Do(leaf(), leaf(), &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { return s.Do(leaf(), leaf()) })
					if err := g.Wait(); err != nil {
						t.Error(err)
					}
				}})
				if err != nil {
					t.Error(err)
				}
				l.hit()
			}))
		}
		l.wait(t)
		if ran.Load() != 40 {
			t.Fatalf("%d leaves ran, want 40", ran.Load())
		}
	}
}

// TestNestedDoSharesPlace: a Do in a callback runs on the place of that callback, and leaves the
// second place to other workers.
func TestNestedDoSharesPlace(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2})
	ends(t, "a task, with one stuck callback and MaxWorkers 2", func() {
		in, ch := make(chan struct{}), make(chan struct{})
		l := newLatch(1)
		_ = s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(in); <-ch }})
			l.hit()
		}})
		<-in
		_ = s.Go(func() { close(ch) })
		<-l.done
	})
}

// TestWaitReleasesPlaceOfNestedDo: a callback blocks, and a Do on its goroutine takes a place
// again. A wait through the worker of that callback releases this place.
func TestWaitReleasesPlaceOfNestedDo(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	ends(t, "Wait in a Do in a callback that has blocked", func() {
		_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() {})
			_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				var g sched.Group
				_ = g.Schedule(w, noTask())
				_ = w.Wait(&g)
			}})
		}})
	})
}

// TestBlockingReleasesPlaceOfNestedDo: a callback is in Blocking, and a Do on its goroutine
// takes a place again. A nested Blocking through the worker of that callback releases this
// place.
func TestBlockingReleasesPlaceOfNestedDo(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	ends(t, "Blocking in a Do in a Blocking", func() {
		_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() {
				_ = s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
					ch := make(chan struct{})
					_ = s.Go(func() { close(ch) })
					w.Blocking(func() { <-ch })
				}})
			})
		}})
	})
}

// TestNestedDoHasItsOwnGroup: a Do in a task of another Do waits for its own tasks and not
// for the task that called it. In a bubble, a wait that never ends fails this test at once.
func TestNestedDoHasItsOwnGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openScheduler(t, sched.Config{MaxWorkers: 1})
		for range 2 { // the second round uses the group of the first one again
			must(t, s.Do(noTask(), &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				if err := s.Do(noTask(), noTask()); err != nil {
					t.Error(err)
				}
			}}))
		}
		must(t, s.Shutdown(t.Context()))
	})
}

// TestBlockedCallerKeepsItsWorker: while a Do is blocked without its place, a Do on that
// place has another Worker. The state of the blocked one belongs to its callback.
func TestBlockedCallerKeepsItsWorker(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var blocked *sched.Worker
	in, resume, returned := newLatch(1), newLatch(1), newLatch(1)
	go func() {
		defer returned.hit()
		if err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			blocked = w
			w.Blocking(func() {
				in.hit()
				<-resume.done
			})
		}}); err != nil {
			t.Error(err)
		}
	}()
	in.wait(t)
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		if w == blocked {
			t.Error("two callbacks of two goroutines have the same Worker")
		}
	}}))
	resume.hit()
	returned.wait(t)
}

// TestDoOfOneTaskStartsNoWorker: a Do of one task starts no worker, because it leaves no task to
// run.
func TestDoOfOneTaskStartsNoWorker(t *testing.T) {
	for name, c := range map[string]sched.Config{
		"plain":   {MaxWorkers: 2},
		"OnPanic": {MaxWorkers: 2, OnPanic: func(*sched.Task, any, []byte) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, c)
			must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				must(t, s.Do(noTask()))
			}}))
			if n := s.Stats().Spawns; n != 0 {
				t.Errorf("%d workers were spawned, want none", n)
			}
		})
	}
}

// TestDoYieldsToQueuedTasks: consecutive calls of Do on the only place do not starve a task that
// was scheduled before them.
func TestDoYieldsToQueuedTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for range 100 {
		ran := newLatch(1)
		before := 0
		must(t, s.Do(noTask()))
		must(t, s.Go(ran.hit))
		for ; ran.left.Load() > 0; before++ {
			must(t, s.Do(noTask()))
		}
		if before > 31 {
			t.Fatalf("%d calls of Do ran before a task that was scheduled earlier", before)
		}
	}
}

// TestDoYieldsToTasksOfOtherPlaces: consecutive calls of Do do not keep their place from a task
// in the ring of another place, whose holder runs a long callback. The call of Do that yields
// sees that task, as the calls of TryDo show.
func TestDoYieldsToTasksOfOtherPlaces(t *testing.T) {
	starts := make(chan func(), 2)
	s := newScheduler(t, sched.Config{MaxWorkers: 2, Spawner: spawnFunc(func(run func()) error { starts <- run; return nil })})
	queued, release, ran := newLatch(1), newLatch(1), newLatch(1)
	defer release.hit()
	task := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.hit() }}
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		if err := w.Schedule(task); err != nil {
			t.Error(err)
		}
		queued.hit()
		<-release.done
	}}))
	go (<-starts)()
	queued.wait(t)
	calls := 1
	for ; calls <= 31; calls++ {
		did, err := s.TryDo(noTask())
		must(t, err)
		if !did {
			break
		}
	}
	if calls > 31 {
		t.Errorf("%d calls of TryDo took the place that a queued task needs", calls-1)
	}
	go (<-starts)()
	ran.wait(t)
}

// TestDoAfterClose: after Close, Do in a callback returns ErrClosed and runs no task.
func TestDoAfterClose(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	in, release := make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	ran := 0
	count := func(*sched.Worker, *sched.Task) { ran++ }
	must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		close(in)
		<-release
		result <- s.Do(&sched.Task{Fn: count}, &sched.Task{Fn: count})
	}}))
	<-in
	_, err := s.Close()
	must(t, err)
	close(release)
	if err := <-result; !errors.Is(err, sched.ErrClosed) || ran != 0 {
		t.Errorf("Do = %v and ran %d tasks", err, ran)
	}
}
