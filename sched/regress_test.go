package sched_test

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// openScheduler returns a scheduler that is not joined at the end: these tests may hang it.
func openScheduler(t *testing.T, c sched.Config) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(c)
	must(t, err)
	return s
}

// ends fails when fn does not return soon.
func ends(t *testing.T, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
	}
}

func noTask() *sched.Task { return &sched.Task{Fn: func(*sched.Worker, *sched.Task) {}} }

func never() *failingSpawner { return &failingSpawner{fail: func(int64) bool { return true }} }

// TestRunBackgroundReturns: a Run whose context has no end goes on after its callback has blocked.
func TestRunBackgroundReturns(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	returned := make(chan error, 1)
	on := make(chan struct{})
	go func() {
		returned <- s.Run(context.Background())
	}()
	for s.Stats().Parked != 1 {
		runtime.Gosched()
	}
	other := make(chan struct{})
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		_ = w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(other) }})
		w.Blocking(func() { <-other })
		close(on)
	}}))
	<-on
	select {
	case err := <-returned:
		t.Fatalf("Run(Background) = %v; nobody shut the scheduler down", err)
	case <-time.After(200 * time.Millisecond):
	}
}

// TestWaitKeepsPlaceOfNestedDo: a wait through the worker of a callback that has blocked gives away the place
// that its goroutine has got again, through Do.
func TestWaitKeepsPlaceOfNestedDo(t *testing.T) {
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

// TestBlockingKeepsPlaceOfNestedDo: the same with Blocking.
func TestBlockingKeepsPlaceOfNestedDo(t *testing.T) {
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

// TestOnPanicPanicsInRun: a hook that panics leaves no place held and no worker counted.
// V-06a.
func TestOnPanicPanicsInRun(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(_ *sched.Task, v any, _ []byte) { panic(v) }, Spawner: never()})
	if err := s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}); !errors.Is(err, sched.ErrQueued) {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = s.Run(context.Background())
	}()
	if st := s.Stats(); st.Held != 0 || st.Workers != 0 {
		t.Errorf("after Run: %d places held, %d workers counted", st.Held, st.Workers)
	}
	if _, err := s.Close(); err != nil {
		t.Errorf("Close from outside = %v", err)
	}
}

// TestOnPanicWrongTask: the hook is given the task that panicked, not one that ran on top of it.
func TestOnPanicWrongTask(t *testing.T) {
	got := make(chan *sched.Task, 1)
	s := newScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(task *sched.Task, _ any, _ []byte) { got <- task }})
	inner := noTask()
	outer := &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		var g sched.Group
		_ = g.Schedule(w, inner)
		_ = w.Wait(&g)
		panic("outer")
	}}
	must(t, s.Schedule(outer))
	switch task := <-got; task {
	case outer:
	case inner:
		t.Fatal("OnPanic was given the task that ran on top, which had ended")
	}
}

// TestRunNil: Run without a context is refused before anything is counted. V-01.
func TestRunNil(t *testing.T) {
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

// TestNestedDoCostsTwoPlaces: a Do in a callback runs on the place of the callback.
func TestNestedDoCostsTwoPlaces(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2})
	ends(t, "a task beside one stuck callback, MaxWorkers 2", func() {
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

// TestWaitContextOtherScheduler: a callback of one scheduler that waits for a group of another, as its worker,
// gives its place away.
func TestWaitContextOtherScheduler(t *testing.T) {
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
					g.Go(func() error { // on b: needs a task of a
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

// TestWaitOtherSchedulerNested: the same, while the goroutine holds a place of the other scheduler.
func TestWaitOtherSchedulerNested(t *testing.T) {
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

// TestWaitContextServe: a wait without any worker ends with its context. V-11.
func TestWaitContextServe(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 2, Spawner: never()})
	g := s.NewGroup(sched.GroupConfig{})
	release := make(chan struct{})
	in := make(chan struct{})
	go func() {
		_ = s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
			_ = g.Schedule(w, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { close(in); <-release }})
			_ = w.Wait(g)
		}})
	}()
	<-in
	_ = s.Go(func() {}) // ErrQueued: stays queued
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	ends(t, "WaitContext with a deadline of 50 ms", func() { _ = g.WaitContext(ctx) })
	close(release)
}

// TestServeOverflow: a wait without any worker finds the tasks of its group wherever they lie.
func TestServeOverflow(t *testing.T) {
	for name, n := range map[string]int{"overflow": 700, "ring": 100} {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: never()})
			g := s.NewGroup(sched.GroupConfig{})
			must(t, s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
				if name == "overflow" {
					for range n {
						_ = g.Schedule(w, noTask())
					}
					return
				}
				_ = g.Schedule(w, noTask())
				for range n {
					_ = w.Schedule(noTask())
				}
			}}))
			ends(t, "Wait of a queued group without workers", func() { _ = g.Wait() })
		})
	}
}

// TestOverflowStarves: the own overflow queue has its turn, also when neither the ring nor the
// injection queue is ever empty.
func TestOverflowStarves(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	var stop atomic.Bool
	var turns atomic.Int64
	own, outside := &sched.Task{}, &sched.Task{}
	own.Fn = func(w *sched.Worker, t *sched.Task) {
		turns.Add(1)
		if !stop.Load() {
			_ = w.Schedule(t)
		}
	}
	outside.Fn = func(_ *sched.Worker, t *sched.Task) {
		if !stop.Load() {
			_ = s.Schedule(t)
		}
	}
	var ran atomic.Int64
	const n = 600
	must(t, s.Schedule(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) {
		_ = s.Schedule(outside)
		_ = w.Schedule(own)
		for range n {
			_ = w.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { ran.Add(1) }})
		}
		_ = w.Schedule(&sched.Task{Fn: own.Fn})
	}}))
	for turns.Load() < 5_000_000 && ran.Load() < n {
		runtime.Gosched()
	}
	got := ran.Load()
	stop.Store(true)
	if got < n {
		t.Fatalf("after %d turns %d of %d tasks ran: the others starve in the overflow queue", turns.Load(), got, n)
	}
}

// TestJoinAfterShutdownTimeout: Join goes on with a drain that Shutdown has given up waiting for.
func TestJoinAfterShutdownTimeout(t *testing.T) {
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

// TestDrainRefusesCallbacks: callbacks may schedule without their worker while the scheduler drains.
// V-05a.
func TestDrainRefusesCallbacks(t *testing.T) {
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
		t.Fatalf("from a callback while draining: Go %v; Schedule %v; Group.Go %v; Do %v", viaGo, viaSchedule, viaGroup, viaDo)
	}
}

// TestDrainHerePanics: a Shutdown that runs tasks itself contains their panics.
func TestDrainHerePanics(t *testing.T) {
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

// TestWaitContextHelps: a wait that runs tasks looks at its context between two of them.
// V-11.
func TestWaitContextHelps(t *testing.T) {
	s := newScheduler(t, sched.Config{MaxWorkers: 1})
	onTop := 0 // of the waiter, on its worker and so on its goroutine
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

// TestWaitersLeak: waits that give up leave nothing behind. V-11.
func TestWaitersLeak(t *testing.T) {
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
		t.Errorf("each WaitContext that gave up keeps %d bytes", per)
	}
}

// TestBatchAppendNil: Append refuses nil. V-01.
func TestBatchAppendNil(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("Append(nil) panics: %v", r)
		}
	}()
	var b sched.Batch
	_ = b.Append(nil)
}

// TestBatchCopyOfAppended: a copy of a batch that was appended is refused. V-04b.
func TestBatchCopyOfAppended(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1})
	release, started := make(chan struct{}), newLatch(1)
	must(t, s.Go(func() { started.hit(); <-release }))
	started.wait(t)
	var a, b sched.Batch
	must(t, a.Add(noTask()))
	must(t, b.Add(noTask()))
	must(t, b.Add(noTask()))
	c := new(sched.Batch) // go vet refuses to copy one otherwise
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(&b).Elem())
	must(t, a.Append(&b))
	must(t, s.ScheduleBatch(&a))
	if err := s.ScheduleBatch(c); err == nil {
		t.Error("the copy of an appended batch was scheduled although its tasks are queued")
	}
	close(release)
}

// TestSpawnerPanics: a Spawner that panics has failed to spawn. V-13d.
func TestSpawnerPanics(t *testing.T) {
	sp := &panickySpawner{}
	s := openScheduler(t, sched.Config{MaxWorkers: 1, Spawner: sp})
	func() {
		defer func() { _ = recover() }()
		_ = s.Go(func() {})
	}()
	l := newLatch(1)
	t.Log(s.Go(l.hit))
	ends(t, "a task after a Spawner that panicked once", func() { <-l.done })
}

type panickySpawner struct{ once sync.Once }

func (p *panickySpawner) Spawn(run func()) error {
	p.once.Do(func() { panic("spawn") })
	go run()
	return nil
}

// TestOnPanicGoexit: a hook that calls Goexit costs the worker and nothing else.
// V-06b.
func TestOnPanicGoexit(t *testing.T) {
	for name, workers := range map[string]int{"worker": 1} {
		t.Run(name, func(t *testing.T) {
			s := openScheduler(t, sched.Config{MaxWorkers: workers, OnPanic: func(*sched.Task, any, []byte) { runtime.Goexit() }})
			must(t, s.Schedule(&sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}))
			st := s.Stats()
			t.Logf("workers %d parked %d held %d", st.Workers, st.Parked, st.Held)
			l := newLatch(1)
			must(t, s.Go(l.hit))
			ends(t, "a task after OnPanic called Goexit", func() { <-l.done })
		})
	}
}

// TestOnPanicGoexitGroup: the group of a task whose panic such a hook was told of ends.
// V-06b.
func TestOnPanicGoexitGroup(t *testing.T) {
	s := openScheduler(t, sched.Config{MaxWorkers: 1, OnPanic: func(*sched.Task, any, []byte) { runtime.Goexit() }})
	g := s.NewGroup(sched.GroupConfig{})
	must(t, g.Schedule(nil, &sched.Task{Fn: func(*sched.Worker, *sched.Task) { panic("x") }}))
	ends(t, "Wait", func() { _ = g.Wait() })
}

// A Do whose first task panics leaves the others running: "returns when all have finished".
// The same with Goexit in a nested task: Wait is left though the group is not done.
// The waiter's callback is ended by the Goexit of a task that happened to run on top of it.
// Goexit of a helped task ends a caller of Do that did not call it.
// Double schedule from one goroutine: run with -race.
