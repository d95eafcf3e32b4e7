package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/sched"
)

// TestWaitInTasks: nested waits end with any number of workers. V-05d.
func TestWaitInTasks(t *testing.T) {
	depth := 14
	if testing.Short() {
		depth = 9
	}
	for _, workers := range []int{1, 2, 5} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var leaves atomic.Int64
		must(t, s.Do((&node{depth: depth, leaves: &leaves}).arm()))
		if leaves.Load() != 1<<depth {
			t.Fatalf("%d leaves, want %d", leaves.Load(), 1<<depth)
		}
		must(t, s.Do((&node{depth: depth, leaves: &leaves}).arm(), (&node{depth: depth, leaves: &leaves}).arm()))
		if leaves.Load() != 3<<depth {
			t.Fatalf("%d leaves, want %d", leaves.Load(), 3<<depth)
		}
	}
}

// TestWaitRunsNoUnrelatedTask: a wait does not run a task of another group on top of the waiter,
// because that task may need a lock that the waiter holds.
func TestWaitRunsNoUnrelatedTask(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	var mu sync.Mutex
	l := newLatch(1)
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		mu.Lock()
		defer mu.Unlock()
		needsLock := &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
			mu.Lock()
			defer mu.Unlock()
			l.hit()
		}}
		var g sched.Group
		ran := false
		helper := &sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran = true }}
		for _, err := range []error{w.Schedule(needsLock), g.Schedule(w, helper), w.Wait(&g)} {
			if err != nil {
				t.Error(err)
			}
		}
		if !ran {
			t.Error("Wait returned before the task ran")
		}
	}}))
	l.wait(t)
}

// TestWaitRunsNoForkOfItsBody: a wait does not run a fork of the body that waits, also if a task on
// top of an earlier wait has promoted the fork. The body may hold a lock that its fork needs.
func TestWaitRunsNoForkOfItsBody(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: failing{}})
	locked := false
	check := func(errs ...error) {
		for _, err := range errs {
			if err != nil && !errors.Is(err, sched.ErrQueued) { // no worker can be started
				t.Error(err)
			}
		}
	}
	body := func(f *ints, n int) int {
		if n == 1 {
			if locked {
				t.Error("the fork ran on top of a wait of its body")
			}
			return 1
		}
		w := f.Worker()
		f.Push(1)
		var g sched.Group
		check(g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { w.Blocking(func() {}) }}), w.Wait(&g))
		if s.Stats().Promoted != 1 {
			t.Error("the task on top of the wait has not promoted the fork")
		}
		locked = true
		// The wait does not find this task at once, because it is in the injection queue.
		check(g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}}), w.Wait(&g))
		locked = false
		if f.TakeBack() {
			return 1
		}
		return f.Await()
	}
	var outer sched.Group
	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		check(outer.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { sched.ForkJoin(s, body, 0) }}), w.Wait(&outer))
	}}))
	atRest(t, s)
}

// TestWaitWithoutIdentity: a callback that waits without its Worker releases its place, also a
// place that a Do took. V-05d.
func TestWaitWithoutIdentity(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		l := newLatch(20)
		for range 20 {
			must(t, s.Go(func() {
				g := s.NewGroup(sched.GroupConfig{})
				g.Go(func() error { return nil })
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
				l.hit()
			}))
		}
		l.wait(t)
		for range 20 {
			must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				g := s.NewGroup(sched.GroupConfig{})
				g.Go(func() error { return nil })
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			}}))
		}
	}
}

// waitInItsOwnTask runs task as a task of a group. task calls attempt once, also on another goroutine,
// with a wait for this group. That wait must panic and not park.
func waitInItsOwnTask(t *testing.T, workers int, task func(w *sched.Worker, g *sched.Group, attempt func(wait func()))) {
	t.Helper()
	s := openScheduler(t, sched.Config{MaxWorkers: workers})
	g := s.NewGroup(sched.GroupConfig{})
	done := make(chan any, 1)
	must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		task(w, g, func(wait func()) { done <- panicOf(wait) })
	}}))
	until("the wait parks or ends", func() bool { return g.Waiting() > 0 || len(done) > 0 })
	if g.Waiting() > 0 {
		t.Fatal("the wait has parked")
	}
	if text := fmt.Sprint(<-done); !strings.Contains(text, "sched: Wait: called in a task of the group that it waits for") {
		t.Errorf("the wait panicked with %.100q", text)
	}
	must(t, g.Wait())
	atRest(t, s)
}

// TestWaitForTheOwnGroupPanics: a wait panics when the calling goroutine runs a task of the
// awaited group, directly or below other tasks, because that task cannot finish first. V-05d.
func TestWaitForTheOwnGroupPanics(t *testing.T) {
	waiter := func(g *sched.Group) *sched.Task { // a task that waits for g
		return &sched.Task{Fn: func(*sched.Worker, *sched.Task) { _ = g.Wait() }}
	}
	other := openScheduler(t, sched.Config{MaxWorkers: 1})
	for name, wait := range map[string]func(w *sched.Worker, g *sched.Group){
		"Group.Wait":  func(_ *sched.Worker, g *sched.Group) { _ = g.Wait() },
		"Worker.Wait": func(w *sched.Worker, g *sched.Group) { _ = w.Wait(g) },
		"WaitContext": func(w *sched.Worker, g *sched.Group) { _ = g.WaitContext(w.Context(context.Background())) },
		"in Blocking": func(w *sched.Worker, g *sched.Group) { w.Blocking(func() { _ = g.Wait() }) },
		"on top of two tasks": func(w *sched.Worker, g *sched.Group) {
			var inner, middle sched.Group
			_ = middle.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				_ = inner.Schedule(w, waiter(g))
				_ = w.Wait(&inner)
			}})
			_ = w.Wait(&middle)
		},
		"in a Do inside Blocking": func(w *sched.Worker, g *sched.Group) {
			w.Blocking(func() { _ = w.Scheduler().Do(waiter(g)) })
		},
		"in a Do of another scheduler": func(_ *sched.Worker, g *sched.Group) { _ = other.Do(waiter(g)) },
	} {
		t.Run(name, func(t *testing.T) {
			waitInItsOwnTask(t, 1, func(w *sched.Worker, g *sched.Group, attempt func(wait func())) {
				attempt(func() { wait(w, g) })
			})
		})
	}
	atRest(t, other)
}

// TestWaitForTheOwnGroupInAForkPanics: a wait panics in a fork that another worker runs if a task of
// the awaited group runs the computation of the fork, directly or below another computation. V-05d.
func TestWaitForTheOwnGroupInAForkPanics(t *testing.T) {
	// elsewhere runs a computation on the calling goroutine, and fn in a fork of it on another one.
	elsewhere := func(s *sched.Scheduler, fn func(w *sched.Worker)) {
		ended := make(chan struct{})
		sched.ForkJoin(s, func(f *ints, n int) int {
			if n == 1 {
				defer close(ended)
				fn(f.Worker())
				return 0
			}
			f.Push(1)
			f.PromoteNow()
			<-ended // a join would run the fork here
			return f.Await()
		}, 0)
	}
	for name, run := range map[string]func(w *sched.Worker, wait func(w *sched.Worker)){
		"fork": func(w *sched.Worker, wait func(w *sched.Worker)) { elsewhere(w.Scheduler(), wait) },
		"fork of a fork": func(w *sched.Worker, wait func(w *sched.Worker)) {
			elsewhere(w.Scheduler(), func(w *sched.Worker) { elsewhere(w.Scheduler(), wait) })
		},
		"fork of a task on top": func(w *sched.Worker, wait func(w *sched.Worker)) {
			// The other two workers are held, because a thief would not run the task on top of the wait.
			held, release := make(chan struct{}), make(chan struct{})
			for range 2 {
				_ = w.Scheduler().Go(func() {
					held <- struct{}{}
					<-release
				})
				<-held
			}
			var inner sched.Group
			_ = inner.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				close(release)
				elsewhere(w.Scheduler(), wait)
			}})
			_ = w.Wait(&inner)
		},
	} {
		for waitName, wait := range map[string]func(w *sched.Worker, g *sched.Group){
			"Group.Wait":  func(_ *sched.Worker, g *sched.Group) { _ = g.Wait() },
			"Worker.Wait": func(w *sched.Worker, g *sched.Group) { _ = w.Wait(g) },
		} {
			t.Run(name+"/"+waitName, func(t *testing.T) {
				waitInItsOwnTask(t, 3, func(w *sched.Worker, g *sched.Group, attempt func(wait func())) {
					run(w, func(w *sched.Worker) { attempt(func() { wait(w, g) }) })
				})
			})
		}
	}
}

// TestWaitAfterATaskOnTop: a wait that has run a task of the awaited group on top of the waiter
// still waits for the other tasks of the group, which run elsewhere. The task on top has waited
// in the same way, and has ended.
func TestWaitAfterATaskOnTop(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2})
	g := s.NewGroup(sched.GroupConfig{})
	begun, end, done := newLatch(1), make(chan struct{}), make(chan error, 1)
	must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		begun.hit()
		<-end
	}}))
	begun.wait(t)
	onTop := false
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var err error
		var inner sched.Group
		_ = g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			_ = inner.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { onTop = true }})
			_ = w.Wait(&inner)
		}})
		if value := panicOf(func() { err = w.Wait(g) }); value != nil {
			err = fmt.Errorf("Wait panicked: %v", value)
		}
		done <- err
	}}))
	until("the wait parks or fails", func() bool { return g.Waiting() > 0 || len(done) > 0 })
	close(end)
	must(t, <-done)
	if !onTop {
		t.Error("the task did not run on top of the wait")
	}
	atRest(t, s)
}

// TestWaitForTheOwnGroupEndsWithContext: a task that waits for its own group with a context waits
// without a place and until its context ends. V-05d.
func TestWaitForTheOwnGroupEndsWithContext(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	g := s.NewGroup(sched.GroupConfig{})
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	waits := newLatch(1)
	must(t, g.Schedule(nil, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		waits.hit()
		if err := g.WaitContext(w.Context(ctx)); !errors.Is(err, why) {
			t.Errorf("WaitContext = %v, want the cause", err)
		}
	}}))
	waits.wait(t)
	l := newLatch(10)
	for range 10 {
		must(t, s.Go(l.hit))
	}
	l.wait(t)
	cancel(why)
	must(t, g.Wait())
	atRest(t, s)
}

// TestWaitForAnotherSchedulerReleasesPlace: a callback that waits through its worker for a group
// of another scheduler releases its place.
func TestWaitForAnotherSchedulerReleasesPlace(t *testing.T) {
	for name, wait := range map[string]func(w *sched.Worker, g *sched.Group) error{
		"Worker.Wait": func(w *sched.Worker, g *sched.Group) error { return w.Wait(g) },
		"WaitContext": func(w *sched.Worker, g *sched.Group) error {
			return g.WaitContext(w.Context(context.Background()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := openScheduler(t, sched.Config{MaxWorkers: 1}), openScheduler(t, sched.Config{MaxWorkers: 1})
			ends(t, name, func() {
				_ = a.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
					g := b.NewGroup(sched.GroupConfig{})
					g.Go(func() error { // runs on b and needs a task of a
						ch := make(chan struct{})
						_ = a.Go(func() { close(ch) })
						<-ch
						return nil
					})
					_ = wait(w, g)
				}})
			})
		})
	}
}

// TestNestedWaitForAnotherScheduler: a callback that also holds a place of another scheduler
// waits through its own worker for a group of that scheduler, and the wait ends.
func TestNestedWaitForAnotherScheduler(t *testing.T) {
	a, b := openScheduler(t, sched.Config{MaxWorkers: 1}), openScheduler(t, sched.Config{MaxWorkers: 1})
	ends(t, "Wait", func() {
		_ = a.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			_ = b.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
				g := b.NewGroup(sched.GroupConfig{})
				g.Go(func() error { return nil })
				_ = w.Wait(g)
			}})
		}})
	})
}

// TestWaitForADoneGroupKeepsPlace: a wait for a group that is done keeps the place of the
// callback.
func TestWaitForADoneGroupKeepsPlace(t *testing.T) {
	a, b := newScheduler(t, sched.Config{MaxWorkers: 1}), newScheduler(t, sched.Config{MaxWorkers: 1})
	g := b.NewGroup(sched.GroupConfig{})
	g.Go(func() error { return nil })
	must(t, g.Wait())
	must(t, a.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		must(t, w.Wait(g))
		if w.ID() < 0 {
			t.Error("the place was released")
		}
	}}))
}

// TestGroupManyWaiters: the end of a group ends all of its waits, in callbacks and outside of
// them.
func TestGroupManyWaiters(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 3})
	for range 50 {
		g := s.NewGroup(sched.GroupConfig{})
		release := make(chan struct{})
		for range 3 {
			g.Go(func() error { <-release; return nil })
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := g.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
		l := newLatch(2)
		for range 2 {
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if err := w.Wait(g); err != nil {
					t.Error(err)
				}
				l.hit()
			}}))
		}
		close(release)
		wg.Wait()
		l.wait(t)
	}
}

// TestWaitContext: a wait ends with its context, and finds its worker in a context of
// Worker.Context. V-11.
func TestWaitContext(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := s.NewGroup(sched.GroupConfig{})
	release := make(chan struct{})
	g.Go(func() error { <-release; return nil })
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	mustBe(t, g.WaitContext(ctx), why)
	close(release)
	must(t, g.Wait())

	must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		ctx := w.Context(context.Background())
		var g sched.Group
		on := -1
		task := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { on = w.ID() }}
		if err := g.Schedule(w, task); err != nil {
			t.Error(err)
		}
		if err := g.WaitContext(ctx); err != nil {
			t.Error(err)
		}
		if on != w.ID() || on != 0 {
			t.Errorf("the task ran on place %d, the waiter holds %d", on, w.ID())
		}
	}}))
}

// TestWaitsEndWithTheirContext: a wait returns the cause of its context when the context has
// ended or ends. A wait that returned before is not affected, and the callback that it waits for
// is not affected in any case. V-11.
func TestWaitsEndWithTheirContext(t *testing.T) {
	why := errors.New("why")
	cancelled := func(parent context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(parent)
		return ctx, func() { cancel(why) }
	}
	for _, tc := range []struct {
		name string
		make func(parent context.Context) (ctx context.Context, end func())
		when string
		want error
	}{
		{"cancelled before", cancelled, "before", why},
		{"cancelled during", cancelled, "during", why},
		{"cancelled after", cancelled, "after", nil},
		{"deadline 0", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, 0)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline past", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, math.MinInt64)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline during", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, time.Hour)
			return ctx, cancel
		}, "never", context.DeadlineExceeded},
		{"deadline far", func(p context.Context) (context.Context, func()) {
			ctx, cancel := context.WithTimeout(p, math.MaxInt64)
			return ctx, cancel
		}, "after", nil},
	} {
		for _, call := range []string{"WaitContext", "WaitContext in a callback", "Shutdown", "Join", "Run"} {
			t.Run(tc.name+"/"+call, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := sched.New(sched.Config{MaxWorkers: 2})
					must(t, err)
					release, ended := make(chan struct{}), false
					g := s.NewGroup(sched.GroupConfig{})
					g.Go(func() error { <-release; ended = true; return nil })
					synctest.Wait()
					ctx, end := tc.make(t.Context())
					if tc.when == "before" {
						end()
					}
					if call == "Join" {
						_, err := s.Close()
						must(t, err)
					}
					result := make(chan error, 1)
					wait := func() (err error) {
						switch call {
						case "WaitContext":
							return g.WaitContext(ctx)
						case "WaitContext in a callback":
							doErr := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { err = g.WaitContext(w.Context(ctx)) }})
							return errors.Join(err, doErr)
						case "Shutdown":
							return s.Shutdown(ctx)
						case "Join":
							_, err = s.Join(ctx)
							return err
						}
						return s.Run(ctx)
					}
					go func() { result <- wait() }()
					synctest.Wait()
					if tc.when == "during" {
						end()
					}
					if tc.want != nil {
						mustBe(t, <-result, tc.want)
						if ended {
							t.Error("the callback has ended")
						}
					}
					close(release)
					must(t, s.Shutdown(context.Background()))
					if tc.want == nil {
						must(t, <-result)
					}
					end()
					if !ended {
						t.Error("the callback has not ended")
					}
					must(t, g.Wait())
				})
			})
		}
	}
}

// TestCancelRacesWithTheResult: when the context of a wait ends at the same time as its group,
// the wait returns one of both results, and that result is true. V-11.
func TestCancelRacesWithTheResult(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 300
	}
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	why := errors.New("why")
	for range n {
		g := s.NewGroup(sched.GroupConfig{})
		ctx, cancel := context.WithCancelCause(context.Background())
		var ran atomic.Int32
		ready := make(chan struct{})
		g.Go(func() error { <-ready; ran.Add(1); return nil })
		var wg sync.WaitGroup
		wg.Go(func() { <-ready; cancel(why) })
		wg.Go(func() {
			switch err := g.WaitContext(ctx); {
			case err == nil && ran.Load() != 1:
				t.Error("WaitContext = nil before the task has run")
			case err != nil && !errors.Is(err, why):
				t.Error(err)
			}
		})
		close(ready)
		wg.Wait()
		must(t, g.Wait())
		if ran.Load() != 1 {
			t.Fatalf("the task ran %d times", ran.Load())
		}
	}
}

// TestWaitChecksContextBetweenTasks: a wait that runs tasks checks its context before each task.
// V-11.
func TestWaitChecksContextBetweenTasks(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	onTop := 0 // tasks on the worker of the waiter, and so on its goroutine
	must(t, s.Do(&sched.Task{Fn: func(waiter *sched.Worker, _ *sched.Task) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var g sched.Group
		for range 200 {
			_ = g.Schedule(waiter, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if w == waiter {
					onTop++
				}
				cancel()
			}})
		}
		_ = g.WaitContext(waiter.Context(ctx))
	}}))
	if onTop > 1 {
		t.Fatalf("%d tasks ran on top of the waiter after the context had ended", onTop-1)
	}
}

// TestCancelledWaitsRetainNothing: a wait whose context has ended leaves no memory behind. V-11.
func TestCancelledWaitsRetainNothing(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	g := s.NewGroup(sched.GroupConfig{})
	release := make(chan struct{})
	g.Go(func() error { <-release; return nil })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	const n = 100_000
	for range n {
		_ = g.WaitContext(ctx)
	}
	runtime.GC()
	runtime.ReadMemStats(&m1)
	close(release)
	must(t, g.Wait())
	if per := (int64(m1.HeapAlloc) - int64(m0.HeapAlloc)) / n; per > 8 {
		t.Errorf("each cancelled WaitContext retains %d bytes", per)
	}
}

// TestBlocking: a callback in Blocking may wait for another task with one worker, through its
// Worker or the Scheduler. Outside of callbacks Blocking only calls its function.
func TestBlocking(t *testing.T) {
	for _, workers := range []int{1, 2} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		called := false
		if s.Blocking(func() { called = true }); !called {
			t.Fatal("Blocking did not call its function")
		}
		for round := range 100 {
			l, other := newLatch(1), make(chan struct{})
			must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }}); err != nil {
					t.Error(err)
				}
				block := w.Blocking
				if round%2 == 1 {
					block = s.Blocking
				}
				block(func() { <-other })
				if w.ID() != -1 {
					t.Errorf("ID = %d after Blocking", w.ID())
				}
				// Without a place, tasks go to the injection queue, and Blocking may be nested.
				if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { l.hit() }}); err != nil {
					t.Error(err)
				}
				w.Blocking(func() {})
			}}))
			l.wait(t)
		}
		// The same inside Do.
		other := make(chan struct{})
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			if err := w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }}); err != nil {
				t.Error(err)
			}
			w.Blocking(func() { <-other })
		}}))
	}
}

// TestWorkerOfAnotherGoroutine: builds with assertions detect each operation on a Worker by another
// goroutine than that of its callback. The operation has no effect. Z-102. V-05e.
func TestWorkerOfAnotherGoroutine(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("assertions are off")
	}
	const want = "sched: a Worker is used by another goroutine than that of its callback"
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	for name, use := range workerUses {
		must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			g := s.NewGroup(sched.GroupConfig{})
			value := make(chan any)
			go func() { value <- panicOf(func() { use(w, g) }) }()
			if got := <-value; got != want {
				t.Errorf("%s ended with %v, want %q", name, got, want)
			}
			if w.ID() != 0 || !g.Done() || s.AnyQueued() {
				t.Errorf("%s has released the place or scheduled a task", name)
			}
		}}))
	}
}

// slowSpawner starts one worker. The next Spawn fails at once. Each later one waits for free and
// then fails.
type slowSpawner struct {
	calls atomic.Int64
	free  chan struct{}
}

func (s *slowSpawner) Spawn(run func()) error {
	switch s.calls.Add(1) {
	case 1:
		go run()
		return nil
	case 2:
	default:
		<-s.free
	}
	return errors.New("no second worker")
}

// TestWaitDoesNotAwaitASpawn: a Wait returns when the last task of its group has ended, also while
// the worker of that task starts another worker.
func TestWaitDoesNotAwaitASpawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spawner := &slowSpawner{free: make(chan struct{})}
		s, err := sched.New(sched.Config{MaxWorkers: 2, Spawner: spawner})
		must(t, err)
		g := s.NewGroup(sched.GroupConfig{})
		release := make(chan struct{})
		g.Go(func() error { <-release; return nil })
		synctest.Wait()
		nop := func(*sched.Worker, *sched.Task) {}
		must(t, s.Schedule(&sched.Task{Fn: nop}, &sched.Task{Fn: nop}, &sched.Task{Fn: nop}))
		close(release)
		must(t, g.Wait())
		close(spawner.free)
		must(t, s.Shutdown(context.Background()))
	})
}
