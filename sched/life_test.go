package sched_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// Z-088 to Z-092: Shutdown runs what was accepted, and what that schedules.
// V-05a, V-05b.
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
					// A callback without a place schedules, too.
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
		must(t, s.Shutdown(within(t))) // idempotent
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

// TestShutdownWithContext: a stuck callback ends the wait, not the drain. V-06e.
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
	close(release)
	must(t, s.Shutdown(within(t)))
	l.wait(t)
}

// Z-096: each task ran or was handed back, exactly one of both. V-05a.
func TestCloseReturnsWhatNobodyRan(t *testing.T) {
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
				t.Fatal("a task without Fn came back")
			}
		}
		if got, want := ran.Load()+int64(len(now)+len(later)), accepted.Load(); got != want {
			t.Fatalf("round %d: %d ran and %d + %d came back, want %d in all",
				round, ran.Load(), len(now), len(later), want)
		}
		again, err := s.Close()
		must(t, err)
		if len(again) != 0 {
			t.Errorf("the second Close returned %d tasks", len(again))
		}
	}
}

// TestCloseCancelsGroups: a Wait ends with ErrClosed, from outside and inside.
// V-12a.
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

// TestFromInsideACallback: what would wait for its own callback is an error. V-05c.
func TestFromInsideACallback(t *testing.T) {
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
	// Another scheduler's end is no matter of this one.
	third, err := sched.New(sched.Config{MaxWorkers: 1})
	must(t, err)
	must(t, s.Do(&sched.Task{Fn: func(*sched.Worker, *sched.Task) {
		if err := third.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}}))
}

func TestJoinBeforeClose(t *testing.T) {
	s := newScheduler(t, sched.Config{})
	_, err := s.Join(within(t))
	mustBe(t, err, sched.ErrNotClosed)
}

// TestJoinWaitsForCallbacks: also for those that have blocked. V-06e.
func TestJoinWaitsForCallbacks(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	must(t, err)
	release := make(chan struct{})
	started := newLatch(3)
	var ended atomic.Int64
	must(t, s.Go(func() { started.hit(); <-release; ended.Add(1) }))
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		w.Blocking(func() { started.hit(); <-release })
		ended.Add(1)
	}}))
	done := make(chan error, 1)
	go func() {
		done <- s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			w.Blocking(func() { started.hit(); <-release })
			ended.Add(1)
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
	if ended.Load() != 3 {
		t.Errorf("Join returned with %d of 3 callbacks ended", ended.Load())
	}
	must(t, <-done)
}

// TestConcurrentEnds: many closers, shutdowns and joins at once, with work. V-05b.
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

// TestRun: the caller works until its context ends, together with others.
func TestRun(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 2})
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
			})
		}
		l := newLatch(200)
		for range 200 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
		cancel()
		wg.Wait()
		l = newLatch(10) // who left has taken no signal along
		for range 10 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}

// TestBubble: a scheduler inside a synctest bubble parks durably, an hour costs
// nothing, and nothing is left behind.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sched.New(sched.Config{MaxWorkers: 4})
		must(t, err)
		for range 5 {
			g := s.NewGroup(sched.GroupConfig{})
			for range 100 {
				g.Go(func() error { return nil })
			}
			must(t, g.Wait())
			time.Sleep(time.Hour) //nolint:forbidigo // fake time
			synctest.Wait()
		}
		must(t, s.Shutdown(context.Background()))
	})
}

// TestOneProcessor runs a mixture with GOMAXPROCS=1 and a tight collector. V-17a.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, workers := range []int{1, 3} {
		s := newScheduler(t, sched.Config{MaxWorkers: workers})
		var leafs atomic.Int64
		for range 20 {
			must(t, s.Do((&node{depth: 6, leafs: &leafs}).arm()))
		}
		l := newLatch(1000)
		for range 1000 {
			must(t, s.Go(l.hit))
		}
		l.wait(t)
	}
}
